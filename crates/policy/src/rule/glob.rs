//! Patterns on one text: `*` for any letters, and, where it says so, `?` for one.

use std::borrow::Cow;

use super::text::{Letter, plain};

/// A pattern, ready to be matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Glob {
    /// Exactly this.
    Literal(String),
    /// With marks.
    Wild(Vec<Mark>),
}

/// A part of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// Any letters, also none.
    Run,
    /// One letter, whichever.
    One,
    /// This letter.
    Letter(char),
}

impl Glob {
    /// A pattern in which `*` has a meaning.
    pub(super) fn with_runs(letters: &[Letter]) -> Self {
        Self::read(letters, |letter| if letter.is('*') { Mark::Run } else { Mark::Letter(letter.c) })
    }
    /// A pattern in which `*` and `?` have a meaning.
    pub(super) fn with_runs_and_ones(letters: &[Letter]) -> Self {
        Self::read(letters, |letter| match letter {
            letter if letter.is('*') => Mark::Run,
            letter if letter.is('?') => Mark::One,
            letter => Mark::Letter(letter.c),
        })
    }
    fn read(letters: &[Letter], mark: impl Fn(Letter) -> Mark) -> Self {
        let marks: Vec<Mark> = letters.iter().map(|letter| mark(*letter)).collect();
        if marks.iter().all(|mark| matches!(mark, Mark::Letter(_))) { Self::Literal(plain(letters)) } else { Self::Wild(marks) }
    }

    /// The same without regard to case, for text that went through [`lower`].
    pub(super) fn lower(self) -> Self {
        match self {
            Self::Literal(text) => Self::Literal(lower(&text).into_owned()),
            Self::Wild(marks) => Self::Wild(marks.into_iter().flat_map(lower_mark).collect()),
        }
    }

    /// What it stands for, if that is one text only.
    pub(super) fn as_literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Wild(_) => None,
        }
    }

    /// Whether its first letter is written out, and is that of the text.
    pub(super) fn begins_like(&self, text: &str) -> bool {
        let first = match self {
            Self::Literal(own) => own.chars().next(),
            Self::Wild(marks) => marks.first().and_then(|mark| if let Mark::Letter(letter) = mark { Some(*letter) } else { None }),
        };
        first == text.chars().next()
    }

    /// Whether it matches the whole text. One point to return to: at most `pattern × text` steps, whatever the pattern.
    pub(super) fn fits(&self, text: &str) -> bool {
        match self {
            Self::Literal(wanted) => wanted == text,
            Self::Wild(marks) => fits(marks, text),
        }
    }
}

fn lower_mark(mark: Mark) -> Vec<Mark> {
    match mark {
        Mark::Letter(c) => lower_letter(c).map(Mark::Letter).collect(),
        other => vec![other],
    }
}

/// Text without regard to case.
pub(super) fn lower(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().flat_map(lower_letter).collect())
}

/// A letter without regard to case. Upper case first: `ſ` has no lower case of its own, but is an `s` where case is folded.
pub(super) fn lower_letter(letter: char) -> impl Iterator<Item = char> {
    letter.to_uppercase().flat_map(char::to_lowercase)
}

fn fits(marks: &[Mark], text: &str) -> bool {
    if let Some(Mark::Letter(last)) = marks.last()
        && !text.ends_with(*last)
    {
        return false;
    }
    let (mut at, mut position) = (0, 0);
    let mut resume: Option<(usize, usize)> = None;
    while let Some(letter) = text[position..].chars().next() {
        let here = marks.get(at);
        if here == Some(&Mark::Run) {
            at += 1;
            resume = Some((at, position));
        } else if here == Some(&Mark::One) || here == Some(&Mark::Letter(letter)) {
            at += 1;
            position += letter.len_utf8();
        } else if let Some((after, start)) = resume {
            position = start + text[start..].chars().next().map_or(1, char::len_utf8);
            resume = Some((after, position));
            at = after;
        } else {
            return false;
        }
    }
    marks[at..].iter().all(|mark| *mark == Mark::Run)
}

#[cfg(test)]
mod tests {
    use super::super::text::read;
    use super::*;

    #[test]
    fn marks_match_letters() {
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
            let letters = read(&format!("x({pattern})")).unwrap().content.unwrap();
            assert_eq!(Glob::with_runs_and_ones(&letters).fits(text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn a_question_mark_means_itself_where_only_runs_are_known() {
        let letters = read("x(a?*)").unwrap().content.unwrap();
        assert!(Glob::with_runs(&letters).fits("a?b") && !Glob::with_runs(&letters).fits("axb"));
    }

    #[test]
    fn case_can_be_left_out() {
        let letters = read("x(A*É)").unwrap().content.unwrap();
        assert!(Glob::with_runs(&letters).lower().fits("axé"));
    }
}
