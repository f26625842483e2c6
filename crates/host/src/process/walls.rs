//! The walls around a line of shell, as the person's settings and the session's files want them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_contract::{Changes, ErrorKind, ExecHost, Line, LineLimits, ToolError, visible};
use haft_sandbox::{
    Choice, Command, ContainerOptions, Guard, Launcher, Limits, Network, Overlay, Policy, Request, Sandbox, SandboxError, Wrapped, judge,
    usual_secrets,
};

use super::{Jobs, environment, kin, scripts};
use crate::LocalFiles;

/// The shell of a container: whatever its root is, it has this one.
const IN_CONTAINER: &str = "/bin/sh";
/// How long lines may take to end after they were asked to.
const GRACE: Duration = Duration::from_secs(2);

/// What the person decides about running commands.
#[derive(Debug, Clone)]
pub struct ShellOptions {
    /// Where lines run if nothing is said.
    pub host: ExecHost,
    /// Which sandbox.
    pub sandbox: Choice,
    /// Whether a sandbox that cannot hold everything is refused.
    pub required: bool,
    /// The program that a sandbox starts from: one whose `main` begins with
    /// [`launcher::main_if_asked`](haft_sandbox::launcher::main_if_asked).
    pub launcher: Launcher,
    /// Which containers, where one is asked for.
    pub container: ContainerOptions,
    /// What a line may use.
    pub limits: Limits,
    /// A private folder for the sockets of running lines.
    pub folder: PathBuf,
    /// How long a line and all it started may take to end after it was asked to; then it is killed.
    pub grace: Duration,
    /// The lines that go on after their calls.
    pub jobs: Jobs,
    /// Whether lines are waited for to their end, unless their calls say otherwise: nobody comes to follow them.
    pub waits: bool,
    /// What becomes of what a line changes.
    pub changes: ChangeOptions,
}

impl ShellOptions {
    /// What holds where nothing is said: lines run in the best sandbox that holds everything, or not at all. What they leave
    /// lies in this folder, which must be private and not in the workspace.
    pub fn new(launcher: Launcher, folder: &Path) -> Self {
        let changes = ChangeOptions { mode: Changes::Direct, folder: folder.join("changes"), of_any_session: false };
        Self {
            host: ExecHost::Sandbox,
            sandbox: Choice::Auto,
            required: true,
            launcher,
            container: ContainerOptions::default(),
            limits: Limits::default(),
            folder: folder.join("run"),
            grace: GRACE,
            jobs: Jobs::default(),
            waits: false,
            changes,
        }
    }
}

/// What the person decides about what lines change.
#[derive(Debug, Clone)]
pub struct ChangeOptions {
    /// What becomes of it, behind walls, if a call says nothing.
    pub mode: Changes,
    /// A private folder for what is kept apart; not in the workspace.
    pub folder: PathBuf,
    /// Whether sets of other sessions can be committed too: where it is the person who calls.
    pub of_any_session: bool,
}

/// Wraps lines in what was configured.
pub(super) struct Walls {
    options: ShellOptions,
    files: Arc<LocalFiles>,
    /// The sandboxes that were found to work, by choice: looking takes a while.
    found: Mutex<Vec<Found>>,
}

/// A sandbox that works here.
#[derive(Clone)]
struct Found {
    choice: Choice,
    sandbox: Arc<dyn Sandbox>,
    /// Why better ones were not taken.
    passed: Vec<String>,
}

impl std::fmt::Debug for Walls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walls").field("options", &self.options).finish_non_exhaustive()
    }
}

/// A line within its walls, ready to be started.
pub(super) struct Walled {
    pub(super) command: Command,
    /// To be dropped when it has ended.
    pub(super) guard: Guard,
    /// What it runs in, in words.
    pub(super) name: String,
    /// What these walls do not hold, and why no better ones stand; empty where they hold all.
    pub(super) lacks: Vec<String>,
    /// Whether it takes its standard input as its terminal.
    pub(super) terminal: bool,
    /// What it may not change although it lies in the workspace.
    pub(super) protected: Vec<PathBuf>,
}

impl Walls {
    pub(super) fn new(options: ShellOptions, files: Arc<LocalFiles>) -> Self {
        Self { options, files, found: Mutex::default() }
    }
    pub(super) fn options(&self) -> &ShellOptions {
        &self.options
    }
    pub(super) fn files(&self) -> &Arc<LocalFiles> {
        &self.files
    }
    /// The folders that a line may change.
    pub(super) fn writable(&self) -> Vec<PathBuf> {
        self.files.writable()
    }
    /// Where a line will really run: without walls, the machine itself.
    pub(super) fn host(&self, wanted: Option<ExecHost>) -> ExecHost {
        match wanted.unwrap_or(self.options.host) {
            ExecHost::Sandbox if self.options.sandbox == Choice::None => ExecHost::Host,
            host => host,
        }
    }

    /// Puts the walls around a line. Blocks: it looks at files, and makes control groups.
    pub(super) fn around(&self, line: &Line, network: Network, terminal: bool, overlay: Option<Overlay>) -> Result<Walled, ToolError> {
        let shell = line.shell();
        unmoved(&shell.directory)?;
        scripts::unchanged(line.scripts())?;
        let mut command = Command::new(&shell.program, &shell.directory).arguments(&shell.arguments);
        let choice = match shell.host {
            ExecHost::Sandbox => self.options.sandbox,
            ExecHost::Container => Choice::Container,
            _ => Choice::None,
        };
        let (policy, uncovered) = self.policy(network, line.limits());
        let mut policy = Policy { overlay, ..policy };
        // Whoever chose none was permitted to run on the machine itself.
        let required = self.options.required && choice != Choice::None;
        let Found { sandbox, passed, .. } = self.sandbox(choice, required, &policy).map_err(unavailable)?;
        let gaps = judge(&*sandbox, &policy, required).map_err(unavailable)?;
        policy.terminal = terminal && sandbox.gives_terminals();
        command.environment = environment::outside(environment::with(line.environment(), terminal), &policy.writable);
        if choice == Choice::None {
            command.environment.push(kin::mark());
        }
        if sandbox.has_own_root() {
            // A bare name is a program that it has itself.
            if command.program.is_absolute() {
                command.program = IN_CONTAINER.into();
            }
            command.environment = environment::in_container(command.environment);
        }
        let Wrapped { command, guard } = sandbox.wrap(command, &policy).map_err(unavailable)?;
        let free = choice == Choice::None;
        let taken = if terminal && free { self.options.launcher.with_terminal(&command) } else { None };
        let lacks = if free { Vec::new() } else { gaps.into_iter().chain(passed).chain(uncovered).collect() };
        let terminal = policy.terminal || taken.is_some();
        let protected = if free { Vec::new() } else { policy.protected };
        Ok(Walled { command: taken.unwrap_or(command), guard, name: sandbox.name().to_owned(), lacks, terminal, protected })
    }

    /// What is held of the limits that a line asks for: those that are tighter than what is configured.
    pub(super) fn granted(&self, asked: LineLimits, host: ExecHost) -> LineLimits {
        if !host.is_walled() {
            // Nothing holds them there.
            return LineLimits::default();
        }
        let tighter = |asked: Option<u64>, set: Option<u64>| asked.filter(|asked| set.is_none_or(|set| *asked <= set));
        let set = self.options.limits;
        LineLimits {
            memory: tighter(asked.memory, set.memory),
            cpu_seconds: tighter(asked.cpu_seconds, set.cpu_seconds),
            processes: tighter(asked.processes, set.processes),
        }
    }

    /// What a line may do, and what of the workspace that does not cover.
    fn policy(&self, network: Network, own: LineLimits) -> (Policy, Vec<String>) {
        let crate::files::Walls { writable, read_only, protected, mut masked, uncovered } = self.files.walls();
        if let Some(home) = std::env::home_dir() {
            masked.extend(usual_secrets(&home));
        }
        let limits = tightened(self.options.limits, own);
        let policy = Policy { writable, read_only, protected, masked, network, limits, terminal: false, overlay: None };
        (policy, uncovered)
    }

    fn sandbox(&self, choice: Choice, required: bool, policy: &Policy) -> Result<Found, SandboxError> {
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = all.iter().find(|found| found.choice == choice) {
            return Ok(found.clone());
        }
        let ShellOptions { launcher, container, .. } = self.options.clone();
        let picked = haft_sandbox::pick(&Request { choice, required, launcher, container }, policy)?;
        let passed = picked.passed.iter().map(ToString::to_string).collect();
        let found = Found { choice, sandbox: picked.sandbox, passed };
        all.push(found.clone());
        Ok(found)
    }
}

/// The smaller of both, whoever planned the line.
fn tightened(set: Limits, own: LineLimits) -> Limits {
    let smaller = |set: Option<u64>, own: Option<u64>| set.into_iter().chain(own).min();
    Limits {
        memory: smaller(set.memory, own.memory),
        cpu_seconds: smaller(set.cpu_seconds, own.cpu_seconds),
        processes: smaller(set.processes, own.processes),
        ..set
    }
}

/// The folder that was judged must still be the one of this name: a link may have taken its place meanwhile.
fn unmoved(directory: &Path) -> Result<(), ToolError> {
    match directory.canonicalize() {
        Ok(now) if now == directory => Ok(()),
        Ok(now) => {
            let (was, now) = (directory.to_string_lossy(), now.to_string_lossy());
            let (was, now) = (visible::line(&was), visible::line(&now));
            let what = format!("The working directory '{was}' is now '{now}', and was not when it was judged. The command was not run.");
            Err(ToolError::new(ErrorKind::PathNotAllowed, what))
        }
        Err(error) => {
            let was = visible::line(&directory.to_string_lossy()).into_owned();
            let what = format!("The working directory '{was}' is gone: {error}. The command was not run.");
            Err(ToolError::new(ErrorKind::FileNotFound, what).with_source(error))
        }
    }
}

pub(super) fn unavailable(error: SandboxError) -> ToolError {
    ToolError::new(ErrorKind::SandboxUnavailable, format!("The command was not run: {error}.")).with_source(error)
}
