//! Lines of shell: asked for, planned, started.
//!
//! A line is not one effect but many: every program it runs, every file it writes. So it is planned by the host, which can
//! read it and look up its programs, and what runs later is exactly the line that was planned.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::{Aftermath, BoxFuture, Changes, Effect, Exec, ExecHost, ExecNature, SpillFile, SpillWriter, ToolError};

/// A line of shell that is asked for, or code for another program than a shell.
#[derive(Debug, Clone, Default)]
pub struct LineRequest {
    /// The line, or the code.
    pub line: String,
    /// The program that it is for; a shell if nothing is said.
    pub program: Option<Program>,
    /// Where it runs; the workspace if nothing is said.
    pub directory: Option<PathBuf>,
    /// Variables beyond the clean environment.
    pub environment: Vec<(String, String)>,
    /// Behind which walls; as configured if nothing is said.
    pub host: Option<ExecHost>,
    /// Hosts that it is to reach, such as `packages.example.org` or `example.org:8443`.
    pub reach: Vec<String>,
    /// Whether nothing is to be changed: what it would change is kept apart, and shown.
    pub dry_run: bool,
    /// How much of the machine it may use, where that is less than is configured.
    pub limits: LineLimits,
    /// Whether the line is to say in which directory it ends.
    pub tells_directory: bool,
}

/// How much of the machine a line may use; what is not said stays as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineLimits {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Seconds of processor time of each process.
    pub cpu_seconds: Option<u64>,
    /// Processes and threads at one time.
    pub processes: Option<u64>,
}

/// A program that runs code, and is started without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its names, the best first: the first one that is installed runs.
    pub names: &'static [&'static str],
    /// Its arguments.
    pub arguments: Vec<String>,
    /// How it gets its code.
    pub takes: Takes,
    /// What to do where none of the names is installed.
    pub advice: &'static str,
}

/// How a program gets its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// As its last argument.
    Argument,
    /// By its input, once it runs: what it is judged by is the code, not how it is made to read it.
    Input,
}

/// A line that was planned: what runs, and what that does as far as it can be known.
#[derive(Debug, Clone)]
pub struct Line {
    shell: Exec,
    text: String,
    environment: Vec<(String, String)>,
    effects: Vec<Effect>,
    reach: Option<PathBuf>,
    notes: Vec<String>,
    changes: Changes,
    scripts: Vec<(PathBuf, Vec<u8>)>,
    limits: LineLimits,
    mark: Option<String>,
}

impl Line {
    /// For implementors of [`ProcessRunner`](crate::ProcessRunner): the shell that will run, the line itself, and its effects.
    pub fn new(shell: Exec, text: impl Into<String>, effects: Vec<Effect>) -> Self {
        Self {
            shell,
            text: text.into(),
            environment: Vec::new(),
            effects,
            reach: None,
            notes: Vec::new(),
            changes: Changes::default(),
            scripts: Vec::new(),
            limits: LineLimits::default(),
            mark: None,
        }
    }
    /// Behind walls that let it change this tree and nothing else.
    pub fn within(mut self, tree: impl Into<PathBuf>) -> Self {
        self.reach = Some(tree.into());
        self
    }
    /// With values for the variables that the shell is given.
    pub fn with_environment(mut self, environment: Vec<(String, String)>) -> Self {
        self.shell.environment = environment.iter().map(|(name, _)| name.clone()).collect();
        self.environment = environment;
        self
    }
    /// With what the model should know of it.
    pub fn with_notes(mut self, notes: Vec<String>) -> Self {
        self.notes = notes;
        self
    }
    /// With what becomes of its changes.
    pub fn with_changes(mut self, changes: Changes) -> Self {
        self.changes = changes;
        self
    }
    /// With limits that will be held besides those that hold for every line.
    pub fn with_limits(mut self, limits: LineLimits) -> Self {
        self.limits = limits;
        self
    }
    /// The limits of its own that will be held: not those that were asked for and would have been wider, or that nothing here
    /// can hold.
    pub fn limits(&self) -> LineLimits {
        self.limits
    }
    /// With the mark behind which its shell says in which directory it ends.
    pub fn with_mark(mut self, mark: impl Into<String>) -> Self {
        self.mark = Some(mark.into());
        self
    }
    /// The mark behind which its shell says in which directory it ends, if it does.
    pub fn mark(&self) -> Option<&str> {
        self.mark.as_deref()
    }
    /// What becomes of its changes.
    pub fn changes(&self) -> Changes {
        self.changes
    }
    /// With the scripts of the workspace that it runs, each with the fingerprint of what it held when it was judged.
    pub fn with_scripts(mut self, scripts: Vec<(PathBuf, Vec<u8>)>) -> Self {
        self.scripts = scripts;
        self
    }
    /// The scripts that it runs, with their fingerprints: what was judged is what runs.
    pub fn scripts(&self) -> &[(PathBuf, Vec<u8>)] {
        &self.scripts
    }
    /// The shell and its arguments.
    pub fn shell(&self) -> &Exec {
        &self.shell
    }
    /// The line as it was asked for.
    pub fn text(&self) -> &str {
        &self.text
    }
    /// Where it runs.
    pub fn directory(&self) -> &Path {
        &self.shell.directory
    }
    /// Variables beyond the clean environment, with their values.
    pub fn environment(&self) -> &[(String, String)] {
        &self.environment
    }
    /// What it does.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }
    /// The tree that it may change; nothing holds it back if there is none.
    pub fn reach(&self) -> Option<&Path> {
        self.reach.as_deref()
    }
    /// Whether every program in it is known to change nothing.
    pub fn only_reads(&self) -> bool {
        let harmless = |effect: &Effect| match effect {
            Effect::Read(_) => true,
            Effect::Exec(exec) => matches!(exec.nature, ExecNature::Reads | ExecNature::Filters),
            _ => false,
        };
        self.effects.iter().all(harmless)
    }
    /// What the model should know of it.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// How a planned line is started.
#[derive(Default)]
pub struct JobOptions {
    /// The session that it belongs to: no other sees it.
    pub session: String,
    /// When it is ended; never if nothing is said.
    pub timeout: Option<Duration>,
    /// Columns and rows of the terminal that it is given, if it is given one.
    pub terminal: Option<(u16, u16)>,
    /// Whether its input stays open for [`Job::write`].
    pub input: bool,
    /// Where all of its output goes.
    pub spill: Option<Box<dyn SpillWriter>>,
}

impl std::fmt::Debug for JobOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobOptions").field("session", &self.session).field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is said of an end by itself")]
pub struct JobEnd {
    /// Its exit code; absent if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether its time was up.
    pub timed_out: bool,
    /// Whether someone ended it.
    pub killed: bool,
    /// Whether nobody saw its end: the process that ran it was gone before.
    #[serde(default)]
    pub lost: bool,
    /// When.
    pub at: SystemTime,
    /// Why its walls could not be put up, if they could not: then the line did not run.
    pub not_run: Option<String>,
    /// What it used with all that it waited for, as far as the machine tells.
    pub usage: Option<JobUsage>,
    /// Whether there was more output than is kept, so that its beginning alone is.
    #[serde(default)]
    pub cut: bool,
    /// All of its output, if there was any and it could be kept.
    #[serde(skip)]
    pub spill: Option<SpillFile>,
}

/// What a job used of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobUsage {
    /// The most memory that one of its processes had at a time, in bytes, where that can be told.
    pub max_memory: Option<u64>,
    /// Processor time in its own code.
    pub user: Duration,
    /// Processor time in the kernel on its behalf.
    pub system: Duration,
}

impl JobEnd {
    /// An end of which nothing is known but when it was.
    pub const fn unknown(at: SystemTime) -> Self {
        Self {
            code: None,
            signal: None,
            timed_out: false,
            killed: false,
            lost: false,
            at,
            not_run: None,
            usage: None,
            cut: false,
            spill: None,
        }
    }
}

impl std::fmt::Display for JobEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            _ if self.not_run.is_some() => f.write_str("it was not run"),
            _ if self.timed_out => f.write_str("its time was up"),
            _ if self.killed => f.write_str("it was killed"),
            _ if self.lost => f.write_str("nobody saw how"),
            (Some(code), _) => write!(f, "exit code {code}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (None, None) => f.write_str("without an exit code"),
        }
    }
}

/// What is known of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobStatus {
    /// Its name.
    pub id: String,
    /// The session that it belongs to.
    pub session: String,
    /// The line that it runs.
    pub line: String,
    /// Where it runs.
    pub directory: PathBuf,
    /// On which machine, behind which walls.
    pub host: ExecHost,
    /// Behind which walls, in words.
    pub walls: String,
    /// The process that was started.
    pub pid: Option<u32>,
    /// When.
    pub started: SystemTime,
    /// How it ended; absent while it runs.
    pub end: Option<JobEnd>,
    /// Bytes of output so far.
    pub bytes: u64,
    /// The first byte that is still kept behind the beginning: what lies between is in the spill alone.
    pub kept_from: u64,
}

/// A line that runs, or has run. Its output is one stream, in the order in which it was written.
pub trait Job: Send + Sync {
    /// What is known of it.
    fn status(&self) -> JobStatus;
    /// Resolves when there is more than `seen` bytes of output, or when it has ended.
    fn changed(&self, seen: u64) -> BoxFuture<'_, ()>;
    /// Resolves when it has ended and all of its output is here.
    fn ended(&self) -> BoxFuture<'_, JobEnd>;
    /// The first bytes of the output, as far as they are kept.
    fn head(&self) -> Vec<u8>;
    /// Output from a position, and where it really begins: what is no longer kept is passed over.
    fn output(&self, from: u64, most: usize) -> (u64, Vec<u8>);
    /// Gives it input, and closes the input if `end` is set.
    fn write<'a>(&'a self, input: &'a [u8], end: bool) -> BoxFuture<'a, Result<(), ToolError>>;
    /// Ends it with all that it started, and waits until it has.
    fn kill(&self) -> BoxFuture<'_, ()>;
    /// Says that it goes on after its call, so that all of its output is kept, however little.
    fn outlive(&self) {}
    /// Says that whoever follows it was told of its end.
    fn acknowledge(&self) {}
    /// What is known of it now that it has ended; nothing while it runs.
    fn aftermath(&self) -> Option<std::sync::Arc<Aftermath>> {
        None
    }
    /// The directory in which it says that it ended, if it was to say so and did. It is only its word.
    fn left_in(&self) -> Option<PathBuf> {
        None
    }
    /// Whether its input is a terminal, where a key is more than its letter.
    fn has_terminal(&self) -> bool {
        false
    }
}
