//! What is known of a line.

use crate::reason::Reason;
use crate::syntax::SyntaxFault;
use crate::word::Word;

/// What to do with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Every command that the shell will start is listed, and every file that it opens for writing.
    Followed,
    /// Something is not known: the command needs approval, or a sandbox that contains its worst case.
    Unknown,
    /// A limit is exceeded: nobody can evaluate such a line, so it must not run, and nobody is asked.
    Refused,
}

/// Where the commands of a line run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Directory {
    /// Where the line was started.
    #[default]
    Same,
    /// The line begins with `cd PATH &&`: everything behind it runs there, and relative paths start there.
    Changed(String),
    /// It changes on the way: relative paths are not exact.
    Unclear,
}

/// A shell command, parsed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Analysis {
    /// Every command, those inside substitutions as well, which come before the one that they are part of.
    pub commands: Vec<Command>,
    /// Files that the shell or a known program writes, creates, changes or removes, with all that is beneath them.
    pub writes: Vec<Target>,
    /// Files that the shell or a known program reads, with all that is beneath them.
    pub reads: Vec<Target>,
    /// Hosts that known programs are told to talk to.
    pub hosts: Vec<String>,
    /// What is not known. Empty: the line is [followed](Verdict::Followed).
    pub unknown: Vec<Reason>,
    /// The limit that is exceeded.
    pub refused: Option<Reason>,
    /// Those of `writes` that are removed.
    pub deletes: Vec<Target>,
    /// Where the parser found no shell. It has gaps of its own: only a shell can confirm it.
    pub syntax: Option<SyntaxFault>,
    /// Whether a shell could read it in another way, so that commands may run that are not listed.
    pub unclear: bool,
    /// Commands that variables of the line name for later programs, such as `EDITOR` and `GIT_SSH_COMMAND`.
    pub by_variable: Vec<Vec<Word>>,
    /// Where the commands run.
    pub directory: Directory,
    /// Whether it means this in bash only: another shell would do something else.
    pub needs_bash: bool,
}

impl Analysis {
    /// What to do with the line.
    pub fn verdict(&self) -> Verdict {
        match (&self.refused, self.unknown.is_empty()) {
            (Some(_), _) => Verdict::Refused,
            (None, false) => Verdict::Unknown,
            (None, true) => Verdict::Followed,
        }
    }

    /// Whether `reads`, `writes` and `hosts` are all that the line can touch: each program is known, and so are its options.
    pub fn is_bounded(&self) -> bool {
        let known = |command: &Command| matches!(command.nature, Nature::ReadsOnly | Nature::Writes | Nature::Network);
        self.verdict() == Verdict::Followed
            && self.commands.iter().all(known)
            && self.writes.iter().chain(&self.reads).all(|target| target.exact)
    }
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Command {
    /// The program as it is named, or the first word where that expands.
    pub program: Word,
    /// Its arguments.
    pub arguments: Vec<Word>,
    /// Variables that are set for it, by the shell or by `env`.
    pub assignments: Vec<Assignment>,
    /// Its own redirections, without those of a group around it.
    pub redirections: Vec<Redirection>,
    /// The programs that start it, outermost first: `env`, `timeout`, `bash -c`.
    pub wrappers: Vec<String>,
    /// Whether the shell does not wait for it.
    pub background: bool,
    /// Whether it reads what the command before it prints.
    pub piped: bool,
    /// What kind of program it is.
    pub nature: Nature,
    /// Why it is not of a better nature.
    pub notes: Vec<Reason>,
    /// What else it may run.
    pub reach: Reach,
}

/// What a command may run besides itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Reach {
    /// The words of each wrapper, outermost first, with the command that it starts.
    pub wrappers: Vec<Vec<Word>>,
    /// Commands that it may start, as far as its words tell.
    pub commands: Vec<Vec<Word>>,
    /// Whether it runs text that is known only when it runs.
    pub is_any: bool,
    /// Whether one of its options runs what it is given.
    pub(crate) by_option: bool,
}

impl Command {
    /// The name of the program without its folder, if it is known.
    pub fn name(&self) -> Option<&str> {
        let program = self.program.as_literal()?;
        Some(program.rsplit('/').next().unwrap_or(program))
    }

    /// Whether a document or a text is written into its input.
    pub(crate) fn has_here_text(&self) -> bool {
        self.redirections.iter().any(|redirection| matches!(redirection.kind, RedirectionKind::HereDocument | RedirectionKind::HereString))
    }
}

/// What kind of program a command is, with these options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Nature {
    /// Nothing is known of it, or not of these options.
    Ordinary,
    /// It reads its input and the files that `reads` lists, and prints.
    ReadsOnly,
    /// It changes what `writes` lists and nothing else.
    Writes,
    /// It talks to what `hosts` lists, and writes what `writes` lists.
    Network,
    /// It runs code that it is given: `python`, `awk`.
    Interpreter,
    /// It runs shell lines that are not among the commands.
    Shell,
    /// It runs other programs: those that a project's files name, or those that its options name.
    ExecutesOthers,
    /// It changes the shell itself for what comes later: `cd`, `export`, `set`.
    ChangesShell,
}

/// A variable that is set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Assignment {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Word,
}

/// A file that is read or written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Target {
    /// The path, relative to the line's [`Directory`]; as it is written where it is not exact.
    pub path: String,
    /// Whether it is this path. Otherwise it is one that is known only when the line runs.
    pub exact: bool,
}

/// How a redirection goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RedirectionKind {
    /// `<`.
    Read,
    /// `>`, `>|`, `&>`.
    Write,
    /// `>>`, `&>>`.
    Append,
    /// `2>&1`, `>&-`: no file.
    Duplicate,
    /// `<<`.
    HereDocument,
    /// `<<<`.
    HereString,
}

/// A redirection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Redirection {
    /// How it goes.
    pub kind: RedirectionKind,
    /// Where to or from; nothing for a document.
    pub target: Option<Word>,
}
