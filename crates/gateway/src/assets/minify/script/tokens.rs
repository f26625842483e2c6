//! The tokens of a script.

/// Bytes of the quoted text at the start, with its quotes.
pub(in super::super) fn quoted_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, ch) in text.char_indices().skip(1) {
        match ch {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            ch if ch == quote => return at + ch.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// After these words an expression begins, so a slash begins a regular expression.
const BEFORE_EXPRESSION: [&str; 10] = ["return", "typeof", "case", "in", "of", "delete", "void", "throw", "await", "yield"];

/// What was between two tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    None,
    Blank,
    Line,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name, a keyword or a number.
    Word,
    /// One character of the syntax.
    Sign,
    /// A quoted text or a regular expression.
    Literal,
    /// Text of a template, with the backtick or the brace at each of its ends.
    Template,
}

pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) kind: Kind,
    /// What is before it.
    pub(super) gap: Gap,
}

impl Token<'_> {
    /// Whether it opens a bracket.
    pub(super) fn opens(&self) -> bool {
        match self.kind {
            Kind::Sign => matches!(self.text, "(" | "[" | "{"),
            Kind::Template => self.text.ends_with("${"),
            Kind::Word | Kind::Literal => false,
        }
    }

    /// Whether it closes a bracket.
    pub(super) fn closes(&self) -> bool {
        match self.kind {
            Kind::Sign => matches!(self.text, ")" | "]" | "}"),
            Kind::Template => self.text.starts_with('}'),
            Kind::Word | Kind::Literal => false,
        }
    }
}

pub(super) fn split(text: &str) -> Vec<Token<'_>> {
    let mut splitter = Splitter { rest: text, gap: Gap::None, tokens: Vec::new() };
    splitter.code(Nesting::File);
    splitter.tokens
}

pub(super) fn is_word(ch: char) -> bool {
    ch.is_alphanumeric() || matches!(ch, '_' | '$' | '#') || !ch.is_ascii()
}

/// Where code ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nesting {
    File,
    /// With the brace that closes a `${`.
    Template,
}

struct Splitter<'a> {
    rest: &'a str,
    gap: Gap,
    tokens: Vec<Token<'a>>,
}

impl Splitter<'_> {
    fn code(&mut self, nesting: Nesting) {
        let mut depth = 0_usize;
        while let Some(ch) = self.rest.chars().next() {
            match ch {
                '}' if depth == 0 && nesting == Nesting::Template => return,
                ch if ch.is_whitespace() => self.skip_blank(ch),
                '/' if self.rest.starts_with("//") || self.rest.starts_with("/*") => self.skip_comment(),
                '/' if self.begins_expression() => self.take(regex_length(self.rest), Kind::Literal),
                '\'' | '"' => self.take(quoted_length(self.rest, ch), Kind::Literal),
                '`' => self.template(),
                ch if is_word(ch) => self.take(self.rest.find(|ch| !is_word(ch)).unwrap_or(self.rest.len()), Kind::Word),
                ch => {
                    depth = match ch {
                        '{' => depth + 1,
                        '}' => depth.saturating_sub(1),
                        _ => depth,
                    };
                    self.take(ch.len_utf8(), Kind::Sign);
                }
            }
        }
    }

    /// Texts of a template stay, its expressions are code.
    fn template(&mut self) {
        let mut at = 1;
        while let Some(ch) = self.rest[at..].chars().next() {
            at += ch.len_utf8();
            if ch == '\\' {
                at += self.rest[at..].chars().next().map_or(0, char::len_utf8);
            } else if ch == '`' {
                break;
            } else if ch == '$' && self.rest[at..].starts_with('{') {
                self.take(at + 1, Kind::Template);
                self.code(Nesting::Template);
                self.gap = Gap::None;
                at = usize::from(!self.rest.is_empty());
            }
        }
        self.take(at, Kind::Template);
    }

    fn skip_blank(&mut self, ch: char) {
        self.rest = &self.rest[ch.len_utf8()..];
        self.widen(if ch == '\n' { Gap::Line } else { Gap::Blank });
    }

    fn skip_comment(&mut self) {
        let (comment, after) = match self.rest.strip_prefix("/*") {
            Some(comment) => comment.split_once("*/").unwrap_or((comment, "")),
            None => self.rest.split_at(self.rest.find('\n').unwrap_or(self.rest.len())),
        };
        self.rest = after;
        self.widen(if comment.contains('\n') { Gap::Line } else { Gap::Blank });
    }

    fn widen(&mut self, gap: Gap) {
        if self.gap != Gap::Line {
            self.gap = gap;
        }
    }

    fn take(&mut self, length: usize, kind: Kind) {
        let (text, rest) = self.rest.split_at(length);
        self.rest = rest;
        // After the brace of a template's expression no blank is needed.
        let is_first = self.tokens.last().is_some_and(|last| last.kind == Kind::Template && last.text.ends_with("${"));
        let gap = std::mem::replace(&mut self.gap, Gap::None);
        if !text.is_empty() {
            self.tokens.push(Token { text, kind, gap: if is_first { Gap::None } else { gap } });
        }
    }

    /// Whether an expression begins here, and no operator.
    fn begins_expression(&self) -> bool {
        let Some(last) = self.tokens.last() else { return true };
        match last.kind {
            Kind::Word => BEFORE_EXPRESSION.contains(&last.text),
            Kind::Literal => false,
            Kind::Template => last.text.ends_with("${"),
            Kind::Sign => !matches!(last.text, ")" | "]" | "}"),
        }
    }
}

/// Bytes of the regular expression at the start, with its flags.
fn regex_length(text: &str) -> usize {
    let (mut is_escaped, mut is_class) = (false, false);
    for (at, ch) in text.char_indices().skip(1) {
        match ch {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => is_class = true,
            ']' => is_class = false,
            '/' if !is_class => return at + 1 + text[at + 1..].find(|ch| !is_word(ch)).unwrap_or(text.len() - at - 1),
            _ => {}
        }
    }
    text.len()
}
