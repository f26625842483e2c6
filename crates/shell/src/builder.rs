//! What has been found so far, within limits.

use crate::analysis::{Analysis, Command, Directory, Target};
use crate::reason::{Concern, Reason, cut};
use crate::word::{Expansion, Word};

/// The longest line, in bytes.
pub const MOST_BYTES: usize = 64 * 1024;
/// The most commands in a line, those inside substitutions and scripts as well.
pub const MOST_COMMANDS: usize = 50;
/// The deepest nesting of parts of a line, counted in the parser's tree.
pub const MOST_NESTING: usize = 96;
/// The most wrappers around one command, and scripts inside scripts.
pub const MOST_WRAPPERS: usize = 8;
/// The most reasons that are kept: a user reads a few.
const MOST_REASONS: usize = 32;

/// Files that are no files: what goes there is printed or gone.
const NO_FILES: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/fd/0", "/dev/fd/1", "/dev/fd/2"];

/// What surrounds a command.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandPosition {
    pub(crate) wrappers: Vec<String>,
    /// The words of each wrapper.
    pub(crate) outer: Vec<Vec<Word>>,
    pub(crate) background: bool,
    pub(crate) piped: bool,
}

/// Gathers what is found.
#[derive(Debug, Default)]
pub(crate) struct AnalysisBuilder {
    pub(crate) analysis: Analysis,
}

impl AnalysisBuilder {
    pub(crate) fn unknown(&mut self, concern: Concern, message: impl Into<String>) {
        self.reason(Reason::new(concern, message));
    }

    pub(crate) fn reason(&mut self, reason: Reason) {
        let unknown = &mut self.analysis.unknown;
        if unknown.len() < MOST_REASONS && !unknown.contains(&reason) {
            unknown.push(reason);
        }
    }

    pub(crate) fn refuse(&mut self, message: impl Into<String>) {
        self.analysis.refused.get_or_insert(Reason::new(Concern::Limit, message));
        self.analysis.unclear = true;
    }

    pub(crate) fn is_refused(&self) -> bool {
        self.analysis.refused.is_some()
    }

    pub(crate) fn command(&mut self, command: Command) {
        if self.analysis.commands.len() == MOST_COMMANDS {
            return self.refuse(format!(
                "the line runs more than {MOST_COMMANDS} commands, too many to evaluate; write a script with the file tools and run that"
            ));
        }
        self.analysis.commands.push(command);
    }

    /// A file that is read. One that is not exact is no reason to ask: what is read shows in the list.
    pub(crate) fn read(&mut self, word: &Word) {
        if is_network(word) {
            return self.network(word);
        }
        if let Some(target) = target(word) {
            push(&mut self.analysis.reads, target);
        }
    }

    /// A file that is written.
    pub(crate) fn write(&mut self, word: &Word) {
        if is_network(word) {
            return self.network(word);
        }
        let Some(target) = target(word) else { return };
        if !target.exact {
            let message =
                format!("it writes to '{}', which is known only when it runs; name the file, or use the file tools", cut(&target.path));
            self.unknown(Concern::Target, message);
        }
        push(&mut self.analysis.writes, target);
    }

    /// A file that is removed, which was noted as written.
    pub(crate) fn delete(&mut self, word: &Word) {
        if let Some(target) = target(word) {
            push(&mut self.analysis.deletes, target);
        }
    }

    fn network(&mut self, word: &Word) {
        let message = format!("'{}' is a connection, not a file; use the web tools", cut(word.text()));
        self.unknown(Concern::Network, message);
    }

    pub(crate) fn host(&mut self, host: String) {
        if !self.analysis.hosts.contains(&host) {
            self.analysis.hosts.push(host);
        }
    }

    /// Relative paths lead elsewhere once the directory changes on the way.
    pub(crate) fn settle(&mut self) {
        if self.analysis.directory != Directory::Unclear {
            return;
        }
        let relative = |target: &&mut Target| !target.path.starts_with('/');
        self.analysis.reads.iter_mut().filter(relative).for_each(|target| target.exact = false);
        self.analysis.deletes.iter_mut().filter(relative).for_each(|target| target.exact = false);
        let mut unclear: Option<String> = None;
        for target in self.analysis.writes.iter_mut().filter(relative) {
            target.exact = false;
            unclear.get_or_insert_with(|| target.path.clone());
        }
        if let Some(path) = unclear {
            let message = format!(
                "the directory changes on the way, so it is not clear where '{}' is; begin the line with 'cd PATH &&', or use whole paths",
                cut(&path)
            );
            self.unknown(Concern::Target, message);
        }
    }
}

fn push(targets: &mut Vec<Target>, target: Target) {
    if !targets.contains(&target) {
        targets.push(target);
    }
}

fn is_network(word: &Word) -> bool {
    let start = match word {
        Word::Literal(text) => text,
        Word::Expanded(expanded) => &expanded.prefix,
    };
    // Bash compares the text, so another spelling of the path is a file.
    start.starts_with("/dev/tcp/") || start.starts_with("/dev/udp/")
}

fn target(word: &Word) -> Option<Target> {
    match word {
        Word::Literal(path) if NO_FILES.contains(&path.as_str()) => None,
        Word::Literal(path) => Some(Target { path: path.clone(), exact: true }),
        // A pipe to a command that is listed.
        Word::Expanded(expanded) if expanded.why == Expansion::Process => None,
        Word::Expanded(expanded) => Some(Target { path: expanded.text.clone(), exact: false }),
    }
}
