//! Globs on one name.

use crate::fold::{TAIL, compose, fold_case, fold_char, fold_name, is_ignored};

/// A character of a pattern, and whether it stands for itself whatever it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatternChar {
    /// The character.
    pub ch: char,
    /// Whether it was escaped or quoted.
    pub literal: bool,
}

impl PatternChar {
    /// Whether it is this character with its special meaning.
    pub fn is(self, ch: char) -> bool {
        self.ch == ch && !self.literal
    }
}

/// A glob on one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameGlob {
    /// Without wildcards.
    Literal(String),
    /// With wildcards.
    Wild(Vec<Token>),
}

/// A part of a [`NameGlob`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// `*`: any characters, also none.
    AnyRun,
    /// `?`: one character.
    AnyChar,
    /// This character.
    Char(char),
    /// `[a-z]`: one character of a set.
    Class(CharClass),
}

/// A set of characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CharClass {
    pub(crate) negated: bool,
    pub(crate) ranges: Vec<(char, char)>,
}

impl Token {
    fn matches(&self, ch: char) -> bool {
        match self {
            Self::AnyRun => false,
            Self::AnyChar => true,
            Self::Char(own) => *own == ch,
            Self::Class(class) => class.ranges.iter().any(|(first, last)| (*first..=*last).contains(&ch)) != class.negated,
        }
    }
}

impl NameGlob {
    /// A glob in which only `*` is special.
    pub fn with_stars(chars: &[PatternChar]) -> Self {
        Self::from_tokens(chars.iter().map(|ch| if ch.is('*') { Token::AnyRun } else { Token::Char(ch.ch) }).collect())
    }
    /// A glob in which `*` and `?` are special.
    pub fn with_wildcards(chars: &[PatternChar]) -> Self {
        let token = |ch: &PatternChar| match ch {
            ch if ch.is('*') => Token::AnyRun,
            ch if ch.is('?') => Token::AnyChar,
            ch => Token::Char(ch.ch),
        };
        Self::from_tokens(chars.iter().map(token).collect())
    }
    /// A glob in text without escapes, in which only `*` is special.
    pub fn parse_stars(text: &str) -> Self {
        Self::with_stars(&unescaped(text))
    }

    pub(crate) fn from_tokens(tokens: Vec<Token>) -> Self {
        let literal = |token: &Token| if let Token::Char(ch) = token { Some(*ch) } else { None };
        match tokens.iter().map(literal).collect() {
            Some(text) => Self::Literal(text),
            None => Self::Wild(tokens),
        }
    }

    /// The same without regard to case, for text that went through [`fold_case`].
    #[must_use]
    pub fn fold_case(self) -> Self {
        match self {
            Self::Literal(text) => Self::Literal(fold_case(&text).into_owned()),
            Self::Wild(tokens) => Self::Wild(tokens.into_iter().flat_map(fold_token).collect()),
        }
    }

    /// The same for names that went through [`fold_name`].
    #[must_use]
    pub fn fold_name(self) -> Self {
        match self {
            Self::Literal(text) => Self::Literal(fold_name(&text)),
            Self::Wild(tokens) => Self::Wild(fold_tokens(tokens)),
        }
    }

    /// The name it stands for, if that is one only.
    pub fn as_literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Wild(_) => None,
        }
    }

    /// The characters before the first wildcard.
    pub fn literal_start(&self) -> String {
        match self {
            Self::Literal(text) => text.clone(),
            Self::Wild(tokens) => literal_run(tokens.iter()),
        }
    }
    /// The characters behind the last wildcard.
    pub fn literal_end(&self) -> String {
        match self {
            Self::Literal(text) => text.clone(),
            Self::Wild(tokens) => literal_run(tokens.iter().rev()).chars().rev().collect(),
        }
    }

    /// Whether its first character is written out, and is that of the text.
    pub fn starts_like(&self, text: &str) -> bool {
        let first = match self {
            Self::Literal(own) => own.chars().next(),
            Self::Wild(tokens) => tokens.first().and_then(|token| if let Token::Char(ch) = token { Some(*ch) } else { None }),
        };
        first == text.chars().next()
    }

    /// Whether it matches the whole text.
    pub fn matches(&self, text: &str) -> bool {
        match self {
            Self::Literal(own) => own == text,
            // The last character tells most texts apart.
            Self::Wild(tokens) => match tokens.last() {
                Some(Token::Char(last)) if !text.ends_with(*last) => false,
                _ => wildcard(tokens, text.chars(), |token| *token == Token::AnyRun, |token, ch| token.matches(*ch)),
            },
        }
    }
}

/// The characters of text without escapes.
pub(crate) fn unescaped(text: &str) -> Vec<PatternChar> {
    text.chars().map(|ch| PatternChar { ch, literal: false }).collect()
}

fn literal_run<'a>(tokens: impl Iterator<Item = &'a Token>) -> String {
    tokens.map_while(|token| if let Token::Char(ch) = token { Some(*ch) } else { None }).collect()
}

fn fold_token(token: Token) -> Vec<Token> {
    match token {
        Token::Char(ch) => fold_char(ch).map(Token::Char).collect(),
        other => vec![other],
    }
}

/// Folds the runs between the wildcards.
fn fold_tokens(tokens: Vec<Token>) -> Vec<Token> {
    let (mut folded, mut run): (Vec<Token>, String) = (Vec::new(), String::new());
    let flush = |folded: &mut Vec<Token>, run: &mut String| folded.extend(compose(&std::mem::take(run)).chars().map(Token::Char));
    for token in tokens {
        match token {
            Token::Char(ch) if is_ignored(ch) => {}
            Token::Char(ch) => run.extend(fold_char(ch)),
            other => {
                flush(&mut folded, &mut run);
                folded.push(other);
            }
        }
    }
    flush(&mut folded, &mut run);
    while matches!(folded.last(), Some(Token::Char(ch)) if TAIL.contains(ch)) {
        folded.pop();
    }
    folded
}

/// Matches items with a pattern that has stars. It keeps one position to return to, so it takes at most `pattern × items`
/// steps.
pub(crate) fn wildcard<P, I>(pattern: &[P], items: I, is_star: impl Fn(&P) -> bool, fits: impl Fn(&P, &I::Item) -> bool) -> bool
where
    I: Iterator + Clone,
{
    let (mut at, mut rest) = (0, items);
    let mut resume: Option<(usize, I)> = None;
    loop {
        let mut behind = rest.clone();
        let Some(item) = behind.next() else { return pattern[at..].iter().all(is_star) };
        match pattern.get(at) {
            Some(part) if is_star(part) => {
                at += 1;
                resume = Some((at, rest.clone()));
            }
            Some(part) if fits(part, &item) => {
                at += 1;
                rest = behind;
            }
            _ => {
                let Some((after_star, start)) = &mut resume else { return false };
                start.next();
                at = *after_star;
                rest = start.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_characters() {
        for (pattern, text, expected) in [
            ("a*", "a", true),
            ("a*", "abc", true),
            ("a*c", "abdc", true),
            ("a*c", "abd", false),
            ("*.rs", ".rs", true),
            ("?", "é", true),
            ("?", "", false),
            ("?b", "éb", true),
            ("*é?", "xéy", true),
            ("**a", "aaa", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("\\?", "x", false),
        ] {
            let mut chars = Vec::new();
            for ch in pattern.chars() {
                let literal = matches!(chars.last(), Some(PatternChar { ch: '\\', .. })) && chars.pop().is_some();
                chars.push(PatternChar { ch, literal });
            }
            assert_eq!(NameGlob::with_wildcards(&chars).matches(text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn question_mark_means_itself_where_only_stars_are_special() {
        let glob = NameGlob::parse_stars("a?*");
        assert!(glob.matches("a?b") && !glob.matches("axb"));
    }

    #[test]
    fn star_patterns_match_whole_names() {
        for (pattern, name, matches) in [
            ("read_file", "read_file", true),
            ("read", "read_file", false),
            ("web_*", "web_fetch", true),
            ("*", "anything", true),
            ("*_file", "read_file", true),
            ("*_file", "read_files", false),
            ("r*d*e", "read_file", true),
            ("", "x", false),
        ] {
            assert_eq!(NameGlob::parse_stars(pattern).matches(name), matches, "{pattern} on {name}");
        }
    }

    #[test]
    fn folded_globs_match_folded_text() {
        assert!(NameGlob::parse_stars("A*É").fold_case().matches(&fold_case("axÉ")));
        for (pattern, name) in
            [("*É", "xe\u{301}"), ("*e\u{301}", "xÉ"), ("a*.", "Ab"), ("\u{200c}ß*", "STRASSE"), ("STRA*", "stra\u{df}e")]
        {
            let matches = NameGlob::parse_stars(pattern).fold_name().matches(&fold_name(name));
            assert_eq!(matches, !pattern.starts_with('\u{200c}'), "{pattern} on {name}");
        }
    }

    #[test]
    fn literal_ends_are_what_is_outside_the_wildcards() {
        let glob = NameGlob::parse_stars("id_*a*.key");
        assert_eq!((glob.literal_start().as_str(), glob.literal_end().as_str()), ("id_", ".key"));
    }
}
