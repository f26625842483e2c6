//! `[ … ]` and `[[ … ]]`.

use tree_sitter::Node;

use super::{ShellReader, children};
use crate::builder::CommandPosition;
use crate::unwrap::{self, Parts};
use crate::word::Word;

/// Comparisons of numbers: bash evaluates both sides.
const NUMERIC: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

impl ShellReader<'_> {
    pub(super) fn test(&mut self, node: Node<'_>, around: &CommandPosition) {
        let text = self.text(node);
        if text.starts_with("[[") {
            self.found.analysis.needs_bash = true;
            return self.deeper(|reader| reader.condition(node));
        }
        if text.starts_with("((") {
            self.found.analysis.needs_bash = true;
            return self.arithmetic(node);
        }
        self.bracket(node, text, around);
    }

    /// `[` is a program with words: the parser's operators inside are redirections to bash.
    fn bracket(&mut self, node: Node<'_>, text: &str, around: &CommandPosition) {
        let mut parts = Vec::new();
        self.words_of(node, &mut parts);
        let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
        let spaced = inner.starts_with([' ', '\t']) && inner.ends_with([' ', '\t']);
        // Each word by itself: blanks between all of them, and no operator of the shell.
        let apart = parts.windows(2).all(|pair| pair[0].end_byte() < pair[1].start_byte());
        let operators = parts.iter().any(|part| !part.is_named() && self.text(*part).contains(['<', '>', '&', '|', ';', '(', ')']));
        if !spaced || !apart || operators || inner.contains(['\n', '\\']) {
            self.unclear(node, "only words with blanks between them are, as in [ -f name ]");
        }
        let mut words = vec![Word::literal("[")];
        for part in parts {
            words.push(if part.is_named() { self.word(part) } else { Word::literal(self.text(part)) });
        }
        words.push(Word::literal("]"));
        self.check_covered(node, inner, &words);
        unwrap::add(Parts { words, ..Parts::default() }, self.found, around);
    }

    /// The words must make up the whole text.
    fn check_covered(&mut self, node: Node<'_>, inner: &str, words: &[Word]) {
        let blanks = inner.split([' ', '\t']).filter(|piece| !piece.is_empty()).count();
        let quoted = inner.contains(['\'', '"', '$', '`']);
        if !quoted && blanks + 2 != words.len() {
            self.unclear(node, "it could be read in two ways");
        }
    }

    fn condition(&mut self, node: Node<'_>) {
        self.check_gaps(node);
        let parts = children(node);
        let operator = parts.iter().find(|part| part.kind() == "test_operator").map(|part| self.text(*part));
        for part in parts.into_iter().filter(Node::is_named) {
            match part.kind() {
                "test_operator" if matches!(self.text(part), "-v" | "-R") => self.unfollowed(node, "it evaluates the name it is given"),
                "test_operator" => {}
                "binary_expression" | "unary_expression" | "parenthesized_expression" => self.deeper(|reader| reader.condition(part)),
                "regex" | "extglob_pattern" => self.pattern(part),
                _ => {
                    let word = self.word(part);
                    let number = word.as_literal().is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
                    if operator.is_some_and(|operator| NUMERIC.contains(&operator)) && !number {
                        self.unfollowed(node, "comparing numbers evaluates both sides, and that can run commands; use [ … ]");
                    }
                }
            }
        }
    }

    fn pattern(&mut self, node: Node<'_>) {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"^$.*+?[]_-/:,=@%".contains(&byte);
        let text = self.text(node);
        if !text.bytes().all(plain) || text.contains("$(") {
            self.unfollowed(node, "only plain patterns are; put it into a variable or use grep");
        }
        self.inside(node);
    }

    /// The words of a `[`, however the parser has grouped them.
    fn words_of<'n>(&mut self, node: Node<'n>, into: &mut Vec<Node<'n>>) {
        for child in children(node) {
            match child.kind() {
                "binary_expression" | "unary_expression" | "parenthesized_expression" | "ternary_expression" | "postfix_expression" => {
                    self.deeper(|reader| reader.words_of(child, into));
                }
                "[" | "]" => {}
                _ => into.push(child),
            }
        }
    }
}
