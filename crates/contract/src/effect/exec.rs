//! Programs that a call runs.

use std::path::PathBuf;

use crate::settings::named_enum;

named_enum! {
    /// Where a program runs.
    #[derive(Default)]
    #[non_exhaustive]
    ExecHost {
        /// On this machine, as the user.
        #[default]
        Host = "host",
        /// On this machine, in a sandbox.
        Sandbox = "sandbox",
        /// In a container.
        Container = "container" | "gateway",
        /// On a paired machine.
        Node = "node",
    }
}

impl ExecHost {
    /// Whether a program there writes in the workspace alone and has no network.
    pub const fn is_sandboxed(self) -> bool {
        matches!(self, Self::Sandbox | Self::Container)
    }
}

/// A program to run. A line that runs several is several effects: a rule must hold for every one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exec {
    /// The program, resolved to the file that will run.
    pub program: PathBuf,
    /// The program as it was called: a bare name was looked up among the installed programs, anything else is a path.
    pub named: String,
    /// Its arguments, without the program.
    pub arguments: Vec<String>,
    /// Where it runs.
    pub directory: PathBuf,
    /// Names of the environment variables it is given beyond the clean default.
    pub environment: Vec<String>,
    /// Where it runs: on this machine, in a sandbox, or elsewhere.
    pub host: ExecHost,
    /// What is known of the program with these arguments.
    pub nature: ExecNature,
    /// Whether its sandbox lets it change nothing of the workspace.
    pub read_only_view: bool,
    /// What else it stands for when a rule forbids programs.
    pub reach: ExecReach,
}

/// What a program stands for besides its own words. Only rules that deny or ask look at it: it can never permit anything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ExecReach {
    /// The words of each wrapper that starts it, outermost first: `timeout 5 git push`.
    pub wrappers: Vec<Vec<String>>,
    /// Commands that it may start, as far as its words tell: those behind `sudo`, the value of `--to-command`.
    pub commands: Vec<Vec<String>>,
    /// Whether it runs shell text that is known only when it runs, which may be any program.
    pub is_any: bool,
}

/// What is known of a program with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ExecNature {
    /// Nothing: it may do whatever programs can do.
    #[default]
    Any,
    /// Its arguments are not known before it runs: the shell expands them.
    Expanded,
    /// It only reads what it is told to, and writes to its output.
    Reads,
    /// It only reads its input, and writes to its output.
    Filters,
}

impl Exec {
    /// A program that is called by its path, on this machine, in the clean environment.
    pub fn new(program: impl Into<PathBuf>, arguments: Vec<String>, directory: impl Into<PathBuf>) -> Self {
        let program = program.into();
        let named = program.to_string_lossy().into_owned();
        Self {
            program,
            named,
            arguments,
            directory: directory.into(),
            environment: Vec::new(),
            host: ExecHost::default(),
            nature: ExecNature::default(),
            read_only_view: false,
            reach: ExecReach::default(),
        }
    }
}
