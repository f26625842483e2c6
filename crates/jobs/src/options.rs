//! Settings for commands.

use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_contract::{ChangeMode, CommandLimits, ExecHost, RetentionLimit, SandboxBackend};
use haft_sandbox::{ContainerOptions, Launcher};

use crate::{CommandRetention, Jobs};

/// Time between SIGTERM and SIGKILL for commands.
const GRACE: Duration = Duration::from_secs(2);

/// Settings for commands.
#[derive(Debug, Clone)]
pub struct ShellOptions {
    /// Where commands run by default.
    pub host: ExecHost,
    /// The sandbox backend.
    pub sandbox: SandboxBackend,
    /// Whether a backend that cannot enforce everything is refused.
    pub required: bool,
    /// Whether a command that would run outside a sandbox is refused.
    pub sandbox_only: bool,
    /// The program that sets up a sandbox: its `main` begins with
    /// [`launcher::main_if_asked`](haft_sandbox::launcher::main_if_asked).
    pub launcher: Launcher,
    /// The program whose helpers are started; its `main` begins as that of the launcher.
    pub program: Launcher,
    /// Settings of the container backend.
    pub container: ContainerOptions,
    /// Resource limits of a command.
    pub limits: CommandLimits,
    /// A private folder for the sockets of running commands.
    pub folder: PathBuf,
    /// A private folder for the homes and temporary folders of sandboxed commands, which stay between runs.
    pub view_folder: PathBuf,
    /// The folder with the folders of programs: only these are shown to a command besides the roots.
    pub program_folder: PathBuf,
    /// A private folder for what commands wrote and may not stay where it was.
    pub quarantine: PathBuf,
    /// Paths that commands may read and not change, besides the protected ones: folders under `deny write(...)`.
    pub protected: Vec<PathBuf>,
    /// Paths that commands may not see, besides secrets: programs that no rule allows.
    pub hidden: Vec<PathBuf>,
    /// Globs of what commands may see of the workspace alone, in each list: absolute ones, compared exactly. They are applied to the
    /// files that are there when a command starts.
    pub readable: Vec<Vec<String>>,
    /// The folder that commands run in unless they name another; the workspace, if absent.
    pub start: Option<PathBuf>,
    /// Time between the request to end a command and SIGKILL.
    pub grace: Duration,
    /// The list of background jobs.
    pub jobs: Jobs,
    /// Whether a call waits for the exit of its command by default, because no later call can follow it.
    pub wait_for_exit: bool,
    /// Settings for file changes of commands.
    pub changes: ChangeOptions,
    /// How long checkpoints stay in which no command ran.
    pub checkpoint_retention: RetentionLimit,
    /// How long entries stay in quarantine.
    pub quarantine_retention: RetentionLimit,
}

impl ShellOptions {
    /// The defaults: commands run in the best backend that enforces everything, or not at all. The folder must be private, and
    /// outside the workspace.
    pub fn new(launcher: Launcher, folder: &Path) -> Self {
        let changes = ChangeOptions {
            mode: ChangeMode::Direct,
            folder: folder.join("changes"),
            guarded: Vec::new(),
            stages_unattended: false,
            of_any_session: false,
            retention: CommandRetention::STANDARD.changes,
        };
        Self {
            host: ExecHost::Sandbox,
            sandbox: SandboxBackend::Auto,
            required: true,
            sandbox_only: false,
            program: launcher.clone(),
            launcher,
            container: ContainerOptions::default(),
            limits: CommandLimits::STANDARD,
            folder: folder.join("run"),
            view_folder: folder.join("sandbox"),
            program_folder: folder.join("plugins").join("content"),
            quarantine: folder.join("quarantine"),
            protected: Vec::new(),
            hidden: Vec::new(),
            readable: Vec::new(),
            start: None,
            grace: GRACE,
            jobs: Jobs::default(),
            wait_for_exit: false,
            changes,
            checkpoint_retention: CommandRetention::STANDARD.checkpoints,
            quarantine_retention: CommandRetention::STANDARD.quarantine,
        }
    }
}

/// Paths that commands may not change without a look at each change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardedPattern {
    /// The paths, in the form of `WorkspaceOptions::deny_read`.
    pub pattern: String,
    /// Those that are free all the same: absolute globs, compared exactly.
    pub except: Vec<String>,
}

/// Settings for file changes of commands.
#[derive(Debug, Clone)]
pub struct ChangeOptions {
    /// How changes of sandboxed commands are applied by default.
    pub mode: ChangeMode,
    /// A private folder for staged changes, outside the workspace.
    pub folder: PathBuf,
    /// What rules deny changes of, or ask about. Where there is some, direct changes are staged; a run that cannot be staged may not
    /// change what matches.
    pub guarded: Vec<GuardedPattern>,
    /// Whether direct changes are staged, too, where no one can answer a question. For commands that a model chooses.
    pub stages_unattended: bool,
    /// Whether change sets of other sessions can be committed too. For calls that the user makes.
    pub of_any_session: bool,
    /// How long staged changes stay.
    pub retention: RetentionLimit,
}
