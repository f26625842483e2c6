//! Simple commands: variables before them, their words, their redirections.

use haft_programs::environment;

use tree_sitter::Node;

use super::{ShellReader, children};
use crate::analysis::{Assignment, Redirection};
use crate::builder::CommandPosition;
use crate::quote::RESERVED;
use crate::reach;
use crate::reason::{Concern, cut};
use crate::unwrap::{self, Parts};
use crate::word::Word;

impl ShellReader<'_> {
    /// A command, with words that stand behind its redirections.
    pub(super) fn command(&mut self, node: Node<'_>, behind: &[Node<'_>], around: &CommandPosition) {
        self.check_gaps(node);
        let (mut assignments, mut words, mut redirections) = (Vec::new(), Vec::new(), Vec::new());
        for part in children(node) {
            match part.kind() {
                "variable_assignment" => assignments.push(self.assignment(part)),
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                    let extra = self.redirection(part, around, &mut redirections);
                    words.extend(extra.into_iter().map(|word| self.word(word)));
                }
                "command_name" => words.push(self.program(part)),
                _ => words.push(self.word(part)),
            }
        }
        words.extend(behind.iter().map(|word| self.word(*word)));
        self.record(assignments, words, redirections, around);
    }

    /// Adds a command, once what wraps it is off.
    pub(super) fn record(
        &mut self,
        assignments: Vec<Assignment>,
        words: Vec<Word>,
        redirections: Vec<Redirection>,
        around: &CommandPosition,
    ) {
        for assignment in &assignments {
            reach::by_variable(&assignment.name, &assignment.value, self.found);
            if let Some(why) = environment::danger(&assignment.name) {
                let message = format!("it sets {}, {why}; leave it as it is", cut(&assignment.name));
                self.found.unknown(Concern::Environment, message);
            }
        }
        if !words.is_empty() {
            unwrap::add(Parts { words, assignments, redirections }, self.found, around);
        }
    }

    fn program(&mut self, node: Node<'_>) -> Word {
        let word = self.word(node);
        let raw = self.text(node);
        // Quoted they are ordinary words, and then the text differs.
        if RESERVED.contains(&raw) || is_assignment(raw) {
            self.unclear(node, "bash may take it for syntax; quote it if it is a program");
        }
        word
    }

    pub(super) fn assignment(&mut self, node: Node<'_>) -> Assignment {
        self.check_gaps(node);
        let mut value = Word::literal("");
        let mut name = "";
        for part in children(node) {
            match part.kind() {
                "variable_name" => name = self.text(part),
                "subscript" => {
                    name = self.text(part).split('[').next().unwrap_or_default();
                    self.unfollowed(node, "the place in an array is evaluated; use plain variables");
                    self.inside(part);
                }
                "array" => value = self.array(part),
                "=" => {}
                _ if part.is_named() => value = self.word(part),
                _ => self.found.analysis.needs_bash = true,
            }
        }
        if !environment::is_name(name) {
            self.unfollowed(node, "that is no name of a variable");
        }
        Assignment { name: name.to_owned(), value }
    }

    fn array(&mut self, node: Node<'_>) -> Word {
        self.found.analysis.needs_bash = true;
        self.check_gaps(node);
        self.check_end(node);
        for part in children(node).into_iter().filter(Node::is_named) {
            // `([$(id)]=x)`: places are evaluated here as well.
            if self.text(part).starts_with('[') {
                self.unfollowed(part, "the place in an array is evaluated; give the values alone");
            }
            if part.kind() == "comment" || part.kind() == "variable_assignment" {
                self.unfollowed(part, "give the values of the array alone");
            } else {
                self.word(part);
            }
        }
        Word::input(self.text(node))
    }
}

fn is_assignment(raw: &str) -> bool {
    let name = raw.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    name > 0 && raw[name..].starts_with(['=', '[', '+']) && raw.contains('=')
}
