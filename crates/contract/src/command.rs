//! Commands: requested, planned, started.
//!
//! A command is not one effect but many: every program it runs, every file it writes. So the host plans it: it parses the
//! command, looks up its programs, and later runs exactly the command that was planned.

use std::path::{Path, PathBuf};

use crate::{ChangeMode, CommandLimits, Effect, Exec, ExecHost, ExecNature};

/// A request to run a shell command, or code in another interpreter.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a wish of its own")]
pub struct CommandRequest {
    /// The shell command, or the code.
    pub command: String,
    /// Interpreter for the code; the default is the shell.
    pub interpreter: Option<InterpreterSpec>,
    /// A program that runs without a shell, in place of the command.
    pub program: Option<ProgramSpec>,
    /// Working directory; the default is the workspace.
    pub directory: Option<PathBuf>,
    /// Variables beyond the clean environment.
    pub environment: Vec<(String, String)>,
    /// Where it runs; the default is the configured host.
    pub host: Option<ExecHost>,
    /// Hosts that it may connect to, such as `packages.example.org` or `example.org:8443`.
    pub allow_hosts: Vec<String>,
    /// Whether it has no network at all, and nobody is asked about a connection.
    pub isolate_network: bool,
    /// Whether its changes are only staged, and shown.
    pub dry_run: bool,
    /// Whether it is meant to continue after its call.
    pub background: bool,
    /// Limits tighter than the configured ones.
    pub limits: CommandLimits,
    /// Whether its final working directory is recorded.
    pub track_cwd: bool,
    /// Whether the sandbox lets it change nothing of the workspace. Outside a sandbox it has no effect.
    pub read_only: bool,
    /// Whether no one can answer a question while it runs. Set by the planning context.
    pub unattended: bool,
}

/// A program in a folder of its own, such as that of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramSpec {
    /// The program and its arguments: a bare name is looked up among the installed programs, anything else is a path.
    pub words: Vec<String>,
    /// The folder, which its sandbox shows read-only. The host accepts only those that it keeps for programs.
    pub folder: PathBuf,
}

/// An interpreter that is started without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterpreterSpec {
    /// Program names in order of preference; the first installed one runs.
    pub names: &'static [&'static str],
    /// Its arguments.
    pub arguments: Vec<String>,
    /// How it receives the code.
    pub code_input: CodeInput,
    /// Advice for the message when none of the names is installed.
    pub advice: &'static str,
}

/// How an interpreter receives its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeInput {
    /// As its last argument.
    Argument,
    /// On its standard input once it runs. The policy sees the code, not the arguments that make the interpreter read it.
    Stdin,
}

/// A planned command: the process that runs, and its effects as far as they are known.
#[derive(Debug, Clone)]
pub struct ShellCommand {
    shell: Exec,
    text: String,
    environment: Vec<(String, String)>,
    effects: Vec<Effect>,
    writable_tree: Option<PathBuf>,
    notes: Vec<String>,
    hints: Vec<String>,
    read_only_view: bool,
    change_mode: ChangeMode,
    scripts: Vec<(PathBuf, String)>,
    limits: CommandLimits,
    cwd_sentinel: Option<String>,
    network_isolated: bool,
    program_folder: Option<PathBuf>,
}

impl ShellCommand {
    /// For implementors of [`ProcessRunner`](crate::ports::ProcessRunner): the shell that runs, the command as requested, its effects.
    pub fn new(shell: Exec, text: impl Into<String>, effects: Vec<Effect>) -> Self {
        Self {
            shell,
            text: text.into(),
            environment: Vec::new(),
            effects,
            writable_tree: None,
            notes: Vec::new(),
            hints: Vec::new(),
            read_only_view: false,
            change_mode: ChangeMode::default(),
            scripts: Vec::new(),
            limits: CommandLimits::default(),
            cwd_sentinel: None,
            network_isolated: false,
            program_folder: None,
        }
    }
    /// In a sandbox that lets it change this tree and nothing else.
    pub fn with_writable_tree(mut self, tree: impl Into<PathBuf>) -> Self {
        self.writable_tree = Some(tree.into());
        self
    }
    /// With values for environment variables.
    pub fn with_environment(mut self, environment: Vec<(String, String)>) -> Self {
        self.shell.environment = environment.iter().map(|(name, _)| name.clone()).collect();
        self.environment = environment;
        self
    }
    /// With notes for the model.
    pub fn with_notes(mut self, notes: Vec<String>) -> Self {
        self.notes = notes;
        self
    }
    /// With hints for the model, for the case that it fails.
    pub fn with_hints(mut self, hints: Vec<String>) -> Self {
        self.hints = hints;
        self
    }
    /// In a sandbox that lets it change nothing of the workspace.
    pub fn with_read_only_view(mut self) -> Self {
        self.read_only_view = true;
        self
    }
    /// With the way its file changes are applied.
    pub fn with_change_mode(mut self, mode: ChangeMode) -> Self {
        self.change_mode = mode;
        self
    }
    /// With limits that are enforced besides the configured ones.
    pub fn with_limits(mut self, limits: CommandLimits) -> Self {
        self.limits = limits;
        self
    }
    /// With the sentinel after which its shell prints its final working directory.
    pub fn with_cwd_sentinel(mut self, sentinel: impl Into<String>) -> Self {
        self.cwd_sentinel = Some(sentinel.into());
        self
    }
    /// With the scripts of the workspace that it runs, each with the fingerprint of its content when it was planned.
    pub fn with_scripts(mut self, scripts: Vec<(PathBuf, String)>) -> Self {
        self.scripts = scripts;
        self
    }
    /// Without network, also if a connection could be approved.
    pub fn with_isolated_network(mut self) -> Self {
        self.network_isolated = true;
        self
    }
    /// With the folder of its program, which its sandbox shows read-only.
    pub fn with_program_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.program_folder = Some(folder.into());
        self
    }
    /// The folder of its program besides the roots, if it has one.
    pub fn program_folder(&self) -> Option<&Path> {
        self.program_folder.as_deref()
    }
    /// Whether it has no network, also if a connection could be approved.
    pub fn is_network_isolated(&self) -> bool {
        self.network_isolated
    }
    /// The limits of its own that are enforced. A requested limit that is wider than the configured one, or that cannot be
    /// enforced here, is not among them.
    pub fn limits(&self) -> CommandLimits {
        self.limits
    }
    /// The sentinel after which its shell prints its final working directory, if it does.
    pub fn cwd_sentinel(&self) -> Option<&str> {
        self.cwd_sentinel.as_deref()
    }
    /// How its file changes are applied.
    pub fn change_mode(&self) -> ChangeMode {
        self.change_mode
    }
    /// The scripts that it runs, with their fingerprints: a script that has changed since planning does not run.
    pub fn scripts(&self) -> &[(PathBuf, String)] {
        &self.scripts
    }
    /// The shell or interpreter and its arguments.
    pub fn shell(&self) -> &Exec {
        &self.shell
    }
    /// The command as requested.
    pub fn text(&self) -> &str {
        &self.text
    }
    /// Its working directory.
    pub fn directory(&self) -> &Path {
        &self.shell.directory
    }
    /// Variables beyond the clean environment, with their values.
    pub fn environment(&self) -> &[(String, String)] {
        &self.environment
    }
    /// Its effects.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }
    /// The only tree that its sandbox lets it change; `None` outside a sandbox.
    pub fn writable_tree(&self) -> Option<&Path> {
        self.writable_tree.as_deref()
    }
    /// Whether its sandbox lets it change nothing of the workspace.
    pub fn has_read_only_view(&self) -> bool {
        self.read_only_view
    }
    /// Whether every program in it is known to change nothing.
    pub fn is_read_only(&self) -> bool {
        let harmless = |effect: &Effect| match effect {
            Effect::Read(_) => true,
            Effect::Exec(exec) => matches!(exec.nature, ExecNature::Reads | ExecNature::Filters),
            _ => false,
        };
        self.effects.iter().all(harmless)
    }
    /// Notes for the model.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
    /// Hints for the model, for the case that it fails.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}
