//! Words that are known only when a command runs. What forbids takes such a word for anything that it can become.

use haft_contract::Exec;

/// What a shell may replace when the line runs, or another program puts in.
const MARKS: [char; 8] = ['$', '`', '*', '?', '[', '{', '(', '~'];
/// Those behind which there may be several words that begin with anything.
const SPLITTING: [char; 4] = ['$', '`', '{', '('];
const QUOTES: [char; 3] = ['"', '\'', '\\'];

/// A word of a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommandWord<'a> {
    pub(super) text: &'a str,
    /// Whether it is known only when the command runs.
    pub(super) is_open: bool,
}

impl<'a> CommandWord<'a> {
    pub(super) fn literal(text: &'a str) -> Self {
        Self { text, is_open: false }
    }

    /// Whether it can become an option: it does not if its beginning is known, and none.
    pub(super) fn may_be_option(self) -> bool {
        let Some(mark) = self.text.find(MARKS).filter(|_| !self.text.contains(SPLITTING)) else { return self.is_open };
        let start = self.text[..mark].trim_start_matches(QUOTES);
        let is_home = start.is_empty() && self.text[mark..].starts_with('~');
        self.is_open && !is_home && (start.is_empty() || start.starts_with('-'))
    }
}

/// The arguments of a command. Where some are known only when it runs and none of them shows which, all may be.
pub(super) fn command_arguments(exec: &Exec, expands: bool) -> impl Iterator<Item = CommandWord<'_>> + Clone {
    let shows = exec.arguments.iter().chain([&exec.named]).any(|word| is_open(word));
    exec.arguments.iter().map(move |text| CommandWord { text, is_open: expands && (!shows || is_open(text)) })
}

/// Whether a word of a command that is known only when it runs looks as if it were one of those that are not known.
pub(super) fn is_open(text: &str) -> bool {
    text.contains(MARKS)
}
