//! The start of a command as a job: searched, confined and spawned; anew, if another command moved the workspace meanwhile.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use haft_contract::{ChangeMode, Effect, ExecHost, JobOptions, ShellCommand, ToolError};
use haft_host::{EgressProxy, SandboxPaths};
use haft_sandbox::{NetworkAccess, OverlayLayer, is_system_path};

use crate::changes::ChangeStore;
use crate::checkpoint::Checkpoint;
use crate::concurrent_runs::{MOST_WAIT, PAUSE, is_beside_mover};
use crate::folder_moves::FolderMoves;
use crate::job::{JobFacts, LocalJob, SpawnedCommand};
use crate::moved_workspace::{Attempts, MovedPath, keeps_moving, was_moved};
use crate::protection::{GitAccess, RunProtection};
use crate::quarantine::Origin;
use crate::run::spawn_error;
use crate::run_guard::{ProtectedPathHint, RunGuard};
use crate::sandboxer::{RunSetup, SandboxedCommand, Sandboxer};
use crate::setup_report::{SetupEnd, SetupReport};
use crate::spawn::on_spawn_thread;
use crate::temporary_files::TemporaryFiles;
use crate::triggers::TriggerSnapshot;

/// The proxy of a command, and its port within the sandbox.
pub(crate) struct CommandProxy {
    pub(crate) proxy: EgressProxy,
    pub(crate) port: u16,
}

/// What is needed to start a command.
pub(crate) struct JobStart {
    pub(crate) id: String,
    pub(crate) command: ShellCommand,
    pub(crate) options: JobOptions,
    pub(crate) proxy: Option<CommandProxy>,
    pub(crate) checkpoint: Option<Checkpoint>,
}

/// A command whose sandbox is set up now.
struct StartedRun {
    spawned: SpawnedCommand,
    facts: JobFacts,
    /// Without the proxy, which a later attempt may need.
    guard: RunGuard,
    report: Option<SetupReport>,
}

impl JobStart {
    /// Starts the command. When this returns, everything is mounted, or the job tells why it is not.
    pub(crate) async fn run(mut self, sandboxer: Arc<Sandboxer>, changes: Arc<ChangeStore>) -> Result<LocalJob, ToolError> {
        // What is known to change nothing gets nothing to change: then there is nothing to check or to apply afterwards either.
        if self.command.shell().host.is_sandboxed() && only_reads(&self.command) {
            self.command = self.command.with_read_only_view();
        }
        let mut attempts = Attempts::begin();
        let asked_at = Instant::now();
        loop {
            let (sandboxer, changes) = (Arc::clone(&sandboxer), Arc::clone(&changes));
            let root = sandboxer.files().root().to_owned();
            let begun = on_spawn_thread(move || {
                let begun = self.begin(&sandboxer, &changes);
                (self, begun)
            });
            let begun = begun.await.map_err(|error| ToolError::execution(format!("The command was not started: {error}.")))?;
            self = begun.0;
            match begun.1 {
                Ok(mut started) => match started.wait_for_setup().await {
                    SetupEnd::Over => return Ok(self.supervise(started)),
                    SetupEnd::Moved if attempts.may_try_again() => started.discard().await,
                    SetupEnd::Moved => {
                        started.discard().await;
                        return Err(keeps_moving(&root));
                    }
                },
                Err(error) if is_beside_mover(&error) && asked_at.elapsed() < MOST_WAIT => tokio::time::sleep(PAUSE).await,
                Err(error) if was_moved(&error) => {
                    if !attempts.may_try_again() {
                        return Err(keeps_moving(&root));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Searches the workspace, and starts the command. Blocks.
    fn begin(&self, sandboxer: &Sandboxer, changes: &ChangeStore) -> Result<StartedRun, ToolError> {
        let files = sandboxer.files();
        let is_sandboxed = self.command.shell().host.is_sandboxed();
        let paths = if is_sandboxed { sandboxer.paths() } else { SandboxPaths { writable: files.writable(), ..SandboxPaths::default() } };
        let searched = SandboxPaths { identities: paths.identities.clone(), ..SandboxPaths::default() };
        self.confine(paths, sandboxer, changes).map_err(|error| match searched.moved() {
            Some(path) if is_sandboxed && !was_moved(&error) && !is_beside_mover(&error) => error.with_source(MovedPath(path)),
            _ => error,
        })
    }

    fn confine(&self, mut paths: SandboxPaths, sandboxer: &Sandboxer, changes: &ChangeStore) -> Result<StartedRun, ToolError> {
        let (command, options, files) = (&self.command, &self.options, sandboxer.files());
        let moves = FolderMoves::settle(command, options, sandboxer, &mut paths)?;
        let staged = match command.change_mode() {
            ChangeMode::Direct => None,
            ChangeMode::Staged if command.has_read_only_view() => None,
            mode => Some(changes.stage(&options.session, command.text(), mode, &files.writable())?),
        };
        let overlay = staged.as_ref().map(|staged| staged.overlay().clone());
        let writable = paths.writable.clone();
        let writes_directly = staged.is_none() && command.writable_tree().is_some() && !command.has_read_only_view();
        let triggers = writes_directly.then(|| TriggerSnapshot::take(files.root()));
        let (protection, layers) = prepare_protection(command, options, sandboxer, &mut paths)?;
        let report = self.report_path(sandboxer).and_then(|path| SetupReport::create(path).ok());
        let setup = RunSetup {
            session: &options.session,
            paths,
            network: network_access(command, self.proxy.as_ref()),
            shared_network: (command.shell().host == ExecHost::Sandbox && !command.is_network_isolated())
                .then(|| sandboxer.session_network(&options.session))
                .flatten(),
            terminal: options.terminal.is_some(),
            overlay,
            layers,
            fixed: moves.fixed,
            removals: protection.as_ref().and_then(RunProtection::removals).map(Path::to_owned),
            report: report.as_ref().map(|report| report.path().to_owned()),
        };
        let confined = sandboxer.wrap(command, setup)?;
        let facts = job_facts(self.id.clone(), command, &confined, sandboxer.options().grace);
        let guard = RunGuard {
            sandbox: confined.guard,
            proxy: None,
            gaps: confined.gaps,
            hint: ProtectedPathHint::new(Arc::clone(files), confined.protected).with_pinned(moves.pinned),
            staged: Mutex::new(staged),
            triggers,
            protection,
            temporary: confined.temporary.map(|(folder, limit)| TemporaryFiles::new(folder, limit)),
            is_dry_run: command.change_mode() == ChangeMode::Review,
            writable,
            root: files.root().to_owned(),
            entry: moves.entry,
        };
        let spawned = SpawnedCommand::spawn(confined.command.to_std(), facts.terminal, options);
        let spawned = spawned.map_err(|error| spawn_error(command.shell(), error))?;
        Ok(StartedRun { spawned, facts, guard, report: report.filter(|_| confined.reports_setup) })
    }

    /// The FIFO of this attempt: a former launcher may still have its own open.
    fn report_path(&self, sandboxer: &Sandboxer) -> Option<PathBuf> {
        use std::sync::atomic::{AtomicU64, Ordering};
        static COUNT: AtomicU64 = AtomicU64::new(0);
        if self.command.shell().host != ExecHost::Sandbox {
            return None;
        }
        let folder = &sandboxer.options().folder;
        std::fs::create_dir_all(folder).ok()?;
        Some(folder.join(format!("{}-{}.setup", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))))
    }

    fn supervise(self, StartedRun { spawned, facts, guard, .. }: StartedRun) -> LocalJob {
        let guard = RunGuard { proxy: self.proxy.map(|proxy| proxy.proxy), ..guard };
        LocalJob::supervise(spawned, facts, self.options, guard, self.checkpoint)
    }
}

impl StartedRun {
    async fn wait_for_setup(&mut self) -> SetupEnd {
        match &self.report {
            Some(report) => report.wait(&self.spawned.leader).await,
            None => SetupEnd::Over,
        }
    }

    /// Cleans up after an attempt of which nothing has run.
    async fn discard(mut self) {
        self.spawned.leader.kill_and_reap(None).await;
        // Dropping it blocks. A failing task cleans up as well.
        drop(tokio::task::spawn_blocking(move || drop(self)).await);
    }
}

/// How the command reaches the network.
fn network_access(command: &ShellCommand, proxy: Option<&CommandProxy>) -> NetworkAccess {
    match proxy {
        Some(CommandProxy { proxy, port }) => NetworkAccess::Proxy { socket: proxy.socket().to_owned(), port: *port },
        None if command.shell().host.is_sandboxed() => NetworkAccess::Off,
        None => NetworkAccess::Host,
    }
}

/// What is known of the job when it starts.
fn job_facts(id: String, command: &ShellCommand, confined: &SandboxedCommand, grace: Duration) -> JobFacts {
    JobFacts {
        id,
        command: command.text().to_owned(),
        directory: command.directory().to_owned(),
        host: command.shell().host,
        sandbox: confined.sandbox.clone(),
        terminal: confined.terminal,
        grace,
        started: SystemTime::now(),
        cwd_sentinel: command.cwd_sentinel().map(str::to_owned),
    }
}

/// The guards of a run that can change something, and the overlays of its repositories.
fn prepare_protection(
    command: &ShellCommand,
    options: &JobOptions,
    sandboxer: &Sandboxer,
    paths: &mut SandboxPaths,
) -> Result<(Option<RunProtection>, Vec<OverlayLayer>), ToolError> {
    let host = command.shell().host;
    if !host.is_sandboxed() || command.has_read_only_view() {
        return Ok((None, Vec::new()));
    }
    let is_git_fixed = options.background || options.serves_calls || host != ExecHost::Sandbox;
    let git = if is_git_fixed { GitAccess::ReadOnly } else { GitAccess::Overlay };
    let is_staged = command.change_mode() != ChangeMode::Direct;
    let origin = Origin { session: options.session.clone(), call: None, command: command.text().to_owned() };
    let prepared = RunProtection::prepare(sandboxer.files(), paths, git, is_staged, sandboxer.options(), sandboxer.folders(), origin)?;
    Ok((Some(prepared.0), prepared.1))
}

/// Whether a command is known to change nothing: its programs are the system's own, and none is found by a name alone.
fn only_reads(command: &ShellCommand) -> bool {
    let is_of_system = |effect: &Effect| match effect {
        Effect::Exec(exec) => exec.host != ExecHost::Sandbox || (exec.program.is_absolute() && is_system_path(&exec.program)),
        _ => true,
    };
    let runs_programs = command.effects().iter().any(|effect| matches!(effect, Effect::Exec(_)));
    runs_programs && command.is_read_only() && command.effects().iter().all(is_of_system)
}
