//! The sandbox of a command, by the user's settings and the session's file rules.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_contract::{ChangeMode, CommandLimits, ErrorKind, ExecHost, SandboxBackend, ShellCommand, ToolError};
use haft_host::{LocalFiles, SandboxPaths};
use haft_sandbox::{
    ConfinedCommand, ContainerOptions, Launcher, NetworkAccess, Overlay, OverlayLayer, ProcessSpec, SandboxError, SandboxGuard,
    SandboxPolicy, Selection, SelectionRequest, check_gaps, usual_secrets,
};
use haft_text::display;

use crate::{Jobs, environment, lookup, orphans};

/// The shell that every container image has.
const CONTAINER_SHELL: &str = "/bin/sh";
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
    /// The program that sets up a sandbox: its `main` begins with
    /// [`launcher::main_if_asked`](haft_sandbox::launcher::main_if_asked).
    pub launcher: Launcher,
    /// Settings of the container backend.
    pub container: ContainerOptions,
    /// Resource limits of a command.
    pub limits: CommandLimits,
    /// A private folder for the sockets of running commands.
    pub folder: PathBuf,
    /// Time between the request to end a command and SIGKILL.
    pub grace: Duration,
    /// The list of background jobs.
    pub jobs: Jobs,
    /// Whether a call waits for the exit of its command by default, because no later call can follow it.
    pub wait_for_exit: bool,
    /// Settings for file changes of commands.
    pub changes: ChangeOptions,
}

impl ShellOptions {
    /// The defaults: commands run in the best backend that enforces everything, or not at all. The folder must be private, and
    /// outside the workspace.
    pub fn new(launcher: Launcher, folder: &Path) -> Self {
        let changes = ChangeOptions { mode: ChangeMode::Direct, folder: folder.join("changes"), of_any_session: false };
        Self {
            host: ExecHost::Sandbox,
            sandbox: SandboxBackend::Auto,
            required: true,
            launcher,
            container: ContainerOptions::default(),
            limits: CommandLimits::STANDARD,
            folder: folder.join("run"),
            grace: GRACE,
            jobs: Jobs::default(),
            wait_for_exit: false,
            changes,
        }
    }
}

/// Settings for file changes of commands.
#[derive(Debug, Clone)]
pub struct ChangeOptions {
    /// How changes of sandboxed commands are applied by default.
    pub mode: ChangeMode,
    /// A private folder for staged changes, outside the workspace.
    pub folder: PathBuf,
    /// Whether change sets of other sessions can be committed too. For calls that the user makes.
    pub of_any_session: bool,
}

/// Wraps commands in the configured sandbox.
pub(crate) struct Sandboxer {
    options: ShellOptions,
    files: Arc<LocalFiles>,
    /// The backends that work here; probing one takes a while.
    selected: Mutex<Vec<(SandboxBackend, Arc<Selection>)>>,
}

haft_contract::opaque_debug!(Sandboxer: options = options);

/// A command with its sandbox, ready to be started.
pub(crate) struct SandboxedCommand {
    pub(crate) command: ProcessSpec,
    /// Must be dropped when the command has ended.
    pub(crate) guard: SandboxGuard,
    /// The sandbox backend.
    pub(crate) sandbox: String,
    /// What this backend does not enforce, and why no better one was used.
    pub(crate) gaps: Vec<String>,
    /// Whether standard input becomes its controlling terminal.
    pub(crate) terminal: bool,
    /// Paths in the workspace that it may not change.
    pub(crate) protected: Vec<PathBuf>,
}

impl Sandboxer {
    pub(crate) fn new(options: ShellOptions, files: Arc<LocalFiles>) -> Self {
        Self { options, files, selected: Mutex::default() }
    }
    pub(crate) fn options(&self) -> &ShellOptions {
        &self.options
    }
    pub(crate) fn files(&self) -> &Arc<LocalFiles> {
        &self.files
    }
    /// Where a command runs; with the sandbox turned off, on the machine itself.
    pub(crate) fn exec_host(&self, requested: Option<ExecHost>) -> ExecHost {
        match requested.unwrap_or(self.options.host) {
            ExecHost::Sandbox if self.options.sandbox == SandboxBackend::None => ExecHost::Host,
            host => host,
        }
    }

    /// Wraps a command in its sandbox. Blocks: it reads the workspace, and creates control groups.
    pub(crate) fn wrap(
        &self,
        planned: &ShellCommand,
        network: NetworkAccess,
        terminal: bool,
        overlay: Option<Overlay>,
    ) -> Result<SandboxedCommand, ToolError> {
        let shell = planned.shell();
        check_directory(&shell.directory)?;
        lookup::check_scripts(planned.scripts())?;
        let mut command = ProcessSpec::new(&shell.program, &shell.directory).arguments(&shell.arguments);
        let choice = match shell.host {
            ExecHost::Sandbox => self.options.sandbox,
            ExecHost::Container => SandboxBackend::Container,
            _ => SandboxBackend::None,
        };
        let (policy, uncovered) = self.policy(network, planned.limits());
        let mut policy = SandboxPolicy { overlay, ..policy };
        let is_unconfined = choice == SandboxBackend::None;
        let required = self.options.required && !is_unconfined;
        let selected = self.select(choice, required, &policy).map_err(unavailable)?;
        let Selection { sandbox, skipped, .. } = &*selected;
        let gaps = check_gaps(&**sandbox, &policy, required).map_err(unavailable)?;
        policy.terminal = terminal && sandbox.supports_terminals();
        command.environment = environment::clean(planned.environment(), terminal);
        command.environment = environment::without_writable_path(command.environment, &policy.writable);
        if is_unconfined {
            command.environment.push(orphans::new_env_tag());
        }
        if sandbox.has_own_root() {
            // A bare name is a program of the container.
            if command.program.is_absolute() {
                command.program = CONTAINER_SHELL.into();
            }
            command.environment = environment::in_container(command.environment);
        }
        let ConfinedCommand { command, guard } = sandbox.wrap(command, &policy).map_err(unavailable)?;
        let sandbox = sandbox.name().to_owned();
        if is_unconfined {
            let at_terminal = if terminal { self.options.launcher.with_terminal(&command) } else { None };
            let terminal = policy.terminal || at_terminal.is_some();
            let command = at_terminal.unwrap_or(command);
            return Ok(SandboxedCommand { command, guard, sandbox, gaps: Vec::new(), terminal, protected: Vec::new() });
        }
        let gaps = gaps.into_iter().chain(skipped.iter().map(ToString::to_string)).chain(uncovered).collect();
        Ok(SandboxedCommand { command, guard, sandbox, gaps, terminal: policy.terminal, protected: policy.protected })
    }

    /// The requested limits that are enforced: those that are tighter than the configured ones. Outside a sandbox none are.
    pub(crate) fn enforced_limits(&self, requested: CommandLimits, host: ExecHost) -> CommandLimits {
        if !host.is_sandboxed() {
            return CommandLimits::default();
        }
        requested.within(self.options.limits)
    }

    /// The sandbox policy of a command, and what of the workspace it does not cover.
    fn policy(&self, network: NetworkAccess, requested: CommandLimits) -> (SandboxPolicy, Vec<String>) {
        let SandboxPaths { writable, read_only, protected, mut masked, uncovered } = self.files.sandbox_paths(OverlayLayer::is_placeholder);
        if let Some(home) = std::env::home_dir() {
            masked.extend(usual_secrets(&home));
        }
        let limits = self.options.limits.tightest(requested);
        (SandboxPolicy { writable, read_only, protected, masked, network, limits, terminal: false, overlay: None }, uncovered)
    }

    fn select(&self, choice: SandboxBackend, required: bool, policy: &SandboxPolicy) -> Result<Arc<Selection>, SandboxError> {
        let mut all = self.selected.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, selected)) = all.iter().find(|(known, _)| *known == choice) {
            return Ok(Arc::clone(selected));
        }
        let ShellOptions { launcher, container, .. } = self.options.clone();
        let selected = Arc::new(haft_sandbox::select(&SelectionRequest { choice, required, launcher, container }, policy)?);
        all.push((choice, Arc::clone(&selected)));
        Ok(selected)
    }
}

/// Refuses a working directory that was replaced by a link since the command was planned.
fn check_directory(directory: &Path) -> Result<(), ToolError> {
    let path = |path: &Path| display::escape_line(&path.to_string_lossy()).into_owned();
    match directory.canonicalize() {
        Ok(now) if now == directory => Ok(()),
        Ok(now) => {
            let (was, now) = (path(directory), path(&now));
            let what = format!("The working directory '{was}' is now '{now}', and was not when it was checked. The command was not run.");
            Err(ToolError::new(ErrorKind::PathNotAllowed, what))
        }
        Err(error) => {
            let what = format!("The working directory '{}' is gone: {error}. The command was not run.", path(directory));
            Err(ToolError::new(ErrorKind::FileNotFound, what).with_source(error))
        }
    }
}

pub(crate) fn unavailable(error: SandboxError) -> ToolError {
    ToolError::new(ErrorKind::SandboxUnavailable, format!("The command was not run: {error}.")).with_source(error)
}
