//! `export`, `declare`, `readonly`, `local`, `typeset` and `unset`, which the parser reads in its own way.

use tree_sitter::Node;

use super::{ShellReader, children};
use crate::builder::CommandPosition;
use crate::reach;
use crate::reason::{Concern, cut};
use crate::word::Word;

impl ShellReader<'_> {
    pub(super) fn declaration(&mut self, node: Node<'_>, around: &CommandPosition) {
        self.check_gaps(node);
        let mut words = Vec::new();
        for (index, part) in children(node).into_iter().enumerate() {
            match part.kind() {
                "variable_assignment" => {
                    let assignment = self.assignment(part);
                    self.declared(&assignment.name);
                    reach::by_variable(&assignment.name, &assignment.value, self.found);
                    words.push(joined(&assignment.name, assignment.value, self.text(part)));
                }
                _ if index == 0 => words.push(Word::literal(self.text(part))),
                _ => words.push(self.declared_word(part)),
            }
        }
        self.record(Vec::new(), words, Vec::new(), around);
    }

    /// An option or a name. What expands could be any name.
    fn declared_word(&mut self, node: Node<'_>) -> Word {
        let word = self.word(node);
        match word.as_literal() {
            // Namerefs, functions and integers, which are evaluated.
            Some(text) if text.starts_with(['-', '+']) => {
                if text[1..].contains(|ch: char| !"xrgaAlup".contains(ch)) {
                    self.unfollowed(node, "this option gives a name another meaning");
                }
            }
            Some(text) => self.declared(text),
            None => self.unfollowed(node, "which variable is meant is known only when it runs"),
        }
        word
    }

    fn declared(&mut self, name: &str) {
        let name = name.split('=').next().unwrap_or_default();
        if let Some(why) = haft_programs::environment::danger(name) {
            self.found.unknown(Concern::Environment, format!("it declares {}, {why}; leave it as it is", cut(name)));
        }
        if name.contains('[') {
            let message = format!("'{}': the place in an array is evaluated; use plain variables", cut(name));
            self.found.unknown(Concern::Expansion, message);
        }
    }
}

fn joined(name: &str, value: Word, raw: &str) -> Word {
    match value {
        Word::Literal(value) if !raw.contains("+=") => Word::Literal(format!("{name}={value}")),
        Word::Literal(value) => Word::Literal(format!("{name}+={value}")),
        Word::Expanded(mut expanded) => {
            expanded.prefix = format!("{name}=");
            raw.clone_into(&mut expanded.text);
            Word::Expanded(expanded)
        }
    }
}
