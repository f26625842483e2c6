//! Shells: what they read, and whether that is part of the line.

use super::Guess;
use crate::analysis::{Command, RedirectionKind};
use crate::word::{Expansion, Word};

impl Guess {
    /// A script that is given is read, a file is a script like any other; what comes from a pipe can be anything.
    pub(super) fn shell(&mut self, name: &str, command: &Command) {
        let mut words = command.arguments.iter();
        let mut takes_script = false;
        while let Some(word) = words.next() {
            match word.as_literal() {
                None if word.may_be_option() => self.is_any = true,
                Some("--version" | "--help") => return,
                Some("-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file") => drop(words.next()),
                Some("-" | "--") => {}
                Some(option) if option.starts_with("--") => {}
                Some(option) if option.starts_with(['-', '+']) => {
                    takes_script |= option.contains('c');
                    self.is_any |= option.contains('s') && !option.contains('c');
                }
                _ if takes_script => return self.read_script(name, word),
                _ => return self.is_any |= is_stream(word),
            }
        }
        self.is_any |= !reads_file(command);
    }

    /// The scripts of other shells are not read as theirs.
    fn read_script(&mut self, name: &str, script: &Word) {
        self.text(script);
        self.is_any |= !matches!(name, "sh" | "bash" | "dash" | "ash");
    }
}

/// Whether its input is a file.
fn reads_file(command: &Command) -> bool {
    let is_file = |target: &Option<Word>| target.as_ref().is_some_and(|target| !is_stream(target));
    command.redirections.iter().any(|redirection| redirection.kind == RedirectionKind::Read && is_file(&redirection.target))
}

/// Whether a script comes from a pipe.
pub(super) fn is_stream(word: &Word) -> bool {
    match word {
        Word::Literal(path) => path == "-" || path.starts_with("/dev/") || path.starts_with("/proc/"),
        Word::Expanded(expanded) => expanded.why == Expansion::Process || expanded.text.contains("<("),
    }
}

/// `mapfile -C` runs a text for every line.
pub(super) fn may_call_back(word: &Word) -> bool {
    word.may_be_option() && word.as_literal().is_none_or(|option| option.contains('C'))
}
