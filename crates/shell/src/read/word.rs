//! Words, read by bash's rules: what is quoted, what expands, and what the program will get.

use tree_sitter::Node;

use super::{ShellReader, children, escape};
use crate::reason::{Concern, cut};
use crate::word::{Expanded, Expansion, Word};

/// A word on the way.
struct Draft {
    at: usize,
    end: usize,
    /// Unquoted so far.
    text: String,
    /// How much of it is known, and what expands first.
    first: Option<(usize, Expansion)>,
    splits: bool,
}

impl Draft {
    fn expands(&mut self, why: Expansion, splits: bool) {
        self.first.get_or_insert((self.text.len(), why));
        self.splits |= splits;
    }
}

impl<'a> ShellReader<'a> {
    /// What a word becomes. What cannot be said is an unknown of the line as well.
    pub(super) fn word(&mut self, node: Node<'_>) -> Word {
        self.check_end(node);
        self.part(node)
    }

    /// The same without a look at what follows.
    pub(super) fn part(&mut self, node: Node<'_>) -> Word {
        let raw = self.text(node);
        let start = node.start_byte() + (raw.len() - raw.trim_start_matches([' ', '\t']).len());
        if raw.bytes().all(is_plain) {
            return Word::Literal(raw.to_owned());
        }
        let mut draft = Draft { at: start, end: node.end_byte(), text: String::new(), first: None, splits: false };
        if raw.starts_with('#') {
            self.unclear(node, "a '#' begins a comment there; quote it");
        }
        let nested = nested(node);
        while draft.at < draft.end {
            self.unquoted(&mut draft, &nested);
        }
        let raw = self.line.get(start..node.end_byte()).unwrap_or_default();
        match draft.first {
            None => Word::Literal(draft.text),
            Some((known, why)) => {
                let prefix = draft.text.get(..known).unwrap_or_default().to_owned();
                Word::Expanded(Expanded { text: raw.to_owned(), prefix, splits: draft.splits, why })
            }
        }
    }

    fn unquoted(&mut self, draft: &mut Draft, nested: &[Node<'_>]) {
        let rest = self.rest(draft);
        let Some(ch) = rest.chars().next() else { return draft.at = draft.end };
        match ch {
            '\\' => self.escaped(draft, rest),
            '\'' => self.single(draft, rest),
            '"' => self.double(draft, nested),
            '$' => self.dollar(draft, nested, false),
            '`' => self.nested(draft, nested, Expansion::Substitution, true),
            '<' | '>' if rest[1..].starts_with('(') => self.nested(draft, nested, Expansion::Process, false),
            '|' | '&' | ';' | '(' | ')' | '<' | '>' | ' ' | '\t' | '\n' => self.unreadable(draft, rest),
            _ => {
                if let Some(why) = expands(ch, rest, &draft.text) {
                    draft.expands(why, false);
                }
                draft.text.push(ch);
                draft.at += ch.len_utf8();
            }
        }
    }

    fn escaped(&mut self, draft: &mut Draft, rest: &str) {
        match rest[1..].chars().next() {
            Some('\n') | None => self.unreadable(draft, rest),
            Some(ch) => {
                draft.text.push(ch);
                draft.at += 1 + ch.len_utf8();
            }
        }
    }

    fn single(&mut self, draft: &mut Draft, rest: &str) {
        let Some(inside) = rest[1..].split_once('\'').map(|(inside, _)| inside) else { return self.unreadable(draft, rest) };
        draft.text.push_str(inside);
        draft.at += inside.len() + 2;
    }

    fn double(&mut self, draft: &mut Draft, nested: &[Node<'_>]) {
        draft.at += 1;
        loop {
            let rest = self.rest(draft);
            let Some(ch) = rest.chars().next() else { return self.unreadable(draft, rest) };
            match ch {
                '"' => return draft.at += 1,
                '\\' => backslash(draft, rest),
                '$' => self.dollar(draft, nested, true),
                '`' => self.nested(draft, nested, Expansion::Substitution, false),
                _ => {
                    draft.text.push(ch);
                    draft.at += ch.len_utf8();
                }
            }
        }
    }

    fn dollar(&mut self, draft: &mut Draft, nested: &[Node<'_>], quoted: bool) {
        let rest = self.rest(draft);
        let name = rest[1..].bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        match rest[1..].chars().next() {
            Some('(') if rest.starts_with("$((") => self.nested(draft, nested, Expansion::Arithmetic, false),
            Some('(') => self.nested(draft, nested, Expansion::Substitution, !quoted),
            Some('{') => self.nested(draft, nested, Expansion::Variable, !quoted),
            Some('\'') if !quoted => self.ansi(draft, rest),
            Some('"' | '[') if !quoted || rest.starts_with("$[") => self.unreadable(draft, rest),
            Some('@' | '*' | '#' | '?' | '-' | '$' | '!' | '0'..='9') => self.variable(draft, 1, quoted && !rest.starts_with("$@")),
            Some('a'..='z' | 'A'..='Z' | '_') => self.variable(draft, name, quoted),
            _ => {
                draft.text.push('$');
                draft.at += 1;
            }
        }
    }

    fn variable(&mut self, draft: &mut Draft, length: usize, whole: bool) {
        draft.expands(Expansion::Variable, !whole);
        draft.at += 1 + length;
        if draft.at > draft.end {
            self.unreadable(draft, "$");
        }
    }

    fn ansi(&mut self, draft: &mut Draft, rest: &str) {
        self.found.analysis.needs_bash = true;
        let bytes = rest.as_bytes();
        let mut close = 2;
        while close < bytes.len() && bytes[close] != b'\'' {
            close += if bytes[close] == b'\\' { 2 } else { 1 };
        }
        let Some((text, spelled)) = rest.get(2..close).filter(|_| close < bytes.len()).and_then(escape::decode) else {
            return self.unreadable(draft, rest);
        };
        if spelled > 1 {
            let message = format!("'{}' spells characters as numbers; write them as they are", cut(&rest[..=close]));
            self.found.unknown(Concern::Obfuscated, message);
        }
        draft.text.push_str(&text);
        draft.at += close + 1;
    }

    /// A part with commands of its own, which the tree has found.
    fn nested(&mut self, draft: &mut Draft, nested: &[Node<'_>], why: Expansion, splits: bool) {
        let rest = self.rest(draft);
        let start = draft.at;
        let here = nested.iter().find(|node| node.start_byte() + blanks(self.text(**node)) == start);
        let Some(node) = here.filter(|node| node.end_byte() <= draft.end) else { return self.unreadable(draft, rest) };
        draft.expands(why, splits);
        draft.at = node.end_byte();
        self.expansion(*node);
    }

    fn unreadable(&mut self, draft: &mut Draft, rest: &str) {
        let message = format!("the word at '{}' could be read in two ways; quote it with '…'", cut(rest));
        self.found.unknown(Concern::Syntax, message);
        self.found.analysis.unclear = true;
        draft.expands(Expansion::Variable, true);
        draft.at = draft.end;
    }

    fn rest(&self, draft: &Draft) -> &'a str {
        self.line.get(draft.at..draft.end).unwrap_or_default()
    }
}

/// What is the same with and without quotes, everywhere.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/' | b',' | b'+' | b'@' | b'%' | b'^' | b']' | b'}')
}

/// Inside double quotes a backslash is itself, but before these.
fn backslash(draft: &mut Draft, rest: &str) {
    match rest[1..].chars().next() {
        Some('\n') => {}
        Some(ch @ ('$' | '`' | '"' | '\\')) => draft.text.push(ch),
        _ => {
            draft.text.push('\\');
            return draft.at += 1;
        }
    }
    draft.at += 2;
}

/// Whether an unquoted letter expands.
fn expands(ch: char, rest: &str, before: &str) -> Option<Expansion> {
    match ch {
        '*' | '?' | '[' => Some(Expansion::Glob),
        '{' if !rest.starts_with("{}") && rest.len() > 1 => Some(Expansion::Brace),
        '~' if before.is_empty() || before.ends_with(['=', ':']) => Some(Expansion::Tilde),
        _ => None,
    }
}

fn blanks(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t', '\n']).len()
}

/// The outermost parts of a word that have an inside.
fn nested(node: Node<'_>) -> Vec<Node<'_>> {
    if matches!(node.kind(), "command_substitution" | "process_substitution" | "expansion" | "arithmetic_expansion") {
        return vec![node];
    }
    // Words hold words at most a few levels deep: concatenations and strings.
    if matches!(node.kind(), "concatenation" | "string" | "translated_string" | "command_name" | "variable_assignment") {
        return children(node).into_iter().flat_map(nested).collect();
    }
    Vec::new()
}
