//! The shell: plans commands, and starts them as jobs.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use haft_contract::{
    ChangeMode, CommandRequest, Effect, ExecHost, Job, JobOptions, ShellCommand, ToolError,
    ports::{ChangeRecorder, EgressGate, Journal},
};
use haft_host::{EgressProxy, GuardedClient, LocalFiles, NetworkRules, SandboxPaths};
use haft_pattern::HostPattern;
use haft_sandbox::{NetworkAccess, OverlayLayer, is_system_path};

use crate::changes::ChangeStore;
use crate::checkpoint::{Checkpoint, CheckpointLimits, CheckpointStore};
use crate::job::{JobFacts, LocalJob};
use crate::job_list::Jobs;
use crate::plan;
use crate::protection::{GitAccess, RunProtection};
use crate::quarantine::Origin;
use crate::recorder::CallRecorder;
use crate::run::spawn_error;
use crate::run_guard::{ProtectedPathHint, RunGuard};
use crate::sandboxer::{RunSetup, SandboxedCommand, Sandboxer, ShellOptions};
use crate::session_networks::SessionNetworks;
use crate::spawn::on_spawn_thread;
use crate::temporary_files::TemporaryFiles;
use crate::triggers::TriggerSnapshot;

/// The first port of the proxies in a network namespace, and how many there are: commands of a session may share one. Dev
/// servers rarely listen there, and the kernel takes no ports of its own from there.
const PROXY_PORT: u16 = 23128;
const PROXY_PORTS: u64 = 4096;

/// Runs shell commands.
#[derive(Debug)]
pub(crate) struct Shell {
    sandboxer: Arc<Sandboxer>,
    http: Arc<GuardedClient>,
    changes: Arc<ChangeStore>,
    checkpoints: Arc<CheckpointStore>,
    started: AtomicU64,
}

impl Shell {
    pub(crate) fn new(options: ShellOptions, files: Arc<LocalFiles>, http: Arc<GuardedClient>) -> Self {
        let changes = Arc::new(ChangeStore::new(options.changes.clone(), Arc::clone(&files)));
        let folder = options.changes.folder.with_file_name("checkpoints");
        let checkpoints = CheckpointStore::new(folder, CheckpointLimits::STANDARD, Arc::clone(&files));
        let checkpoints = Arc::new(checkpoints.with_retention(options.checkpoint_retention));
        let sandboxer = Arc::new(Sandboxer::new(options, files));
        http.set_sandbox_dialer(Arc::clone(sandboxer.networks()) as _);
        Self { sandboxer, http, changes, checkpoints, started: AtomicU64::new(0) }
    }
    pub(crate) fn sandboxer(&self) -> &Arc<Sandboxer> {
        &self.sandboxer
    }
    pub(crate) fn http(&self) -> &GuardedClient {
        &self.http
    }
    pub(crate) fn changes(&self) -> &ChangeStore {
        &self.changes
    }
    /// Makes change sets of runs that were cut off.
    pub(crate) async fn recover_changes(&self) {
        let changes = Arc::clone(&self.changes);
        // Of what fails now, the next staged command makes a set.
        drop(tokio::task::spawn_blocking(move || changes.recover()).await);
    }
    pub(crate) fn options(&self) -> &ShellOptions {
        self.sandboxer.options()
    }
    pub(crate) fn networks(&self) -> &Arc<SessionNetworks> {
        self.sandboxer.networks()
    }
    pub(crate) fn remove_session(&self, session: &str) {
        self.sandboxer.remove_session(session);
    }
    pub(crate) fn jobs(&self) -> &Jobs {
        &self.options().jobs
    }

    pub(crate) fn plan(&self, request: &CommandRequest) -> Result<ShellCommand, ToolError> {
        if let Some(program) = &request.program {
            return plan::plan_program(request, program, &self.sandboxer, &*self.http);
        }
        match &request.interpreter {
            Some(interpreter) => plan::plan_interpreter(request, interpreter, &self.sandboxer, &*self.http),
            None => plan::plan_shell(request, &self.sandboxer, &*self.http),
        }
    }

    pub(crate) async fn start(&self, command: &ShellCommand, options: JobOptions) -> Result<Arc<dyn Job>, ToolError> {
        if self.jobs().is_full() {
            let advice = "End one with the process tool before starting another";
            return Err(ToolError::execution(format!("Too many jobs run in the background. {advice}.")));
        }
        let (number, port) = self.next_port();
        let id = format!("job-{number}");
        let proxy = self.proxy(&id, command, options.egress.clone())?.map(|proxy| CommandProxy { proxy, port });
        let checkpoint = match options.journal {
            Some(_) => self.take_checkpoint(command).await,
            None => None,
        };
        let (sandboxer, changes, command) = (Arc::clone(&self.sandboxer), Arc::clone(&self.changes), command.clone());
        let started = on_spawn_thread(move || start(id, &command, options, &sandboxer, &changes, proxy, checkpoint));
        let job = started.await.map_err(|error| ToolError::execution(format!("The command was not started: {error}.")))??;
        Ok(Arc::new(job))
    }

    /// The number of the next run, and the port of its proxy.
    pub(crate) fn next_port(&self) -> (u64, u16) {
        let number = self.started.fetch_add(1, Ordering::Relaxed) + 1;
        (number, proxy_port(number))
    }

    /// A checkpoint of everything that a sandboxed command can write directly; `None` for one that writes nothing, or elsewhere.
    async fn take_checkpoint(&self, command: &ShellCommand) -> Option<Checkpoint> {
        let is_covered = command.change_mode() == ChangeMode::Direct && command.writable_tree().is_some() && !command.is_read_only();
        let (checkpoints, roots) = (Arc::clone(&self.checkpoints), self.sandboxer.files().writable());
        if !is_covered {
            return None;
        }
        tokio::task::spawn_blocking(move || checkpoints.take(&roots)).await.ok()
    }

    pub(crate) async fn checkpoint(&self, command: &ShellCommand, journal: Arc<dyn Journal>) -> Option<Box<dyn ChangeRecorder>> {
        let checkpoint = self.take_checkpoint(command).await?;
        Some(Box::new(CallRecorder::new(checkpoint, journal)))
    }

    /// The egress proxy of a sandboxed command: to the planned hosts, and to those that the gate permits. A container has no way
    /// to it, which is an error only if hosts were planned.
    fn proxy(&self, id: &str, command: &ShellCommand, gate: Option<Arc<dyn EgressGate>>) -> Result<Option<EgressProxy>, ToolError> {
        let hosts = command.effects().iter().filter_map(|effect| match effect {
            Effect::Connect(connect) => NetworkRules::parse_entry(&format!("{}:{}", connect.host, connect.port)).ok(),
            _ => None,
        });
        let allowed: Vec<HostPattern> = hosts.collect();
        let is_needed = match command.shell().host {
            _ if command.is_network_isolated() => false,
            ExecHost::Sandbox => gate.is_some() || !allowed.is_empty(),
            host => host.is_sandboxed() && !allowed.is_empty(),
        };
        if !is_needed {
            return Ok(None);
        }
        let failed = |error: io::Error| ToolError::execution(format!("The command was not started: its proxy cannot listen: {error}."));
        let folder = &self.options().folder;
        std::fs::create_dir_all(folder).map_err(failed)?;
        remove_stale_entries(folder);
        let socket = folder.join(format!("{}-{id}.sock", std::process::id()));
        self.http.proxy(&socket, allowed, gate).map(Some).map_err(failed)
    }
}

/// The proxy of a command, and its port within the sandbox.
struct CommandProxy {
    proxy: EgressProxy,
    port: u16,
}

fn proxy_port(number: u64) -> u16 {
    // Always below `PROXY_PORTS`.
    PROXY_PORT + u16::try_from(number % PROXY_PORTS).unwrap_or(0)
}

/// Starts a command as a job. Blocks.
fn start(
    id: String,
    command: &ShellCommand,
    options: JobOptions,
    sandboxer: &Sandboxer,
    changes: &ChangeStore,
    proxy: Option<CommandProxy>,
    checkpoint: Option<Checkpoint>,
) -> Result<LocalJob, ToolError> {
    let files = sandboxer.files();
    let is_sandboxed = command.shell().host.is_sandboxed();
    // What is known to change nothing gets nothing to change: then there is nothing to check or to apply afterwards either.
    let command = &if is_sandboxed && only_reads(command) { command.clone().with_read_only_view() } else { command.clone() };
    let staged = match command.change_mode() {
        ChangeMode::Direct => None,
        ChangeMode::Staged if command.has_read_only_view() => None,
        mode => Some(changes.stage(&options.session, command.text(), mode, &files.writable())?),
    };
    let overlay = staged.as_ref().map(|staged| staged.overlay().clone());
    let mut paths = if is_sandboxed { sandboxer.paths() } else { SandboxPaths { writable: files.writable(), ..SandboxPaths::default() } };
    let writable = paths.writable.clone();
    let writes_directly = staged.is_none() && command.writable_tree().is_some() && !command.has_read_only_view();
    let triggers = writes_directly.then(|| TriggerSnapshot::take(files.root()));
    let (protection, layers) = prepare_protection(command, &options, sandboxer, &mut paths)?;
    let setup = RunSetup {
        session: &options.session,
        paths,
        network: network_access(command, proxy.as_ref()),
        shared_network: (command.shell().host == ExecHost::Sandbox && !command.is_network_isolated())
            .then(|| sandboxer.session_network(&options.session))
            .flatten(),
        terminal: options.terminal.is_some(),
        overlay,
        layers,
        removals: protection.as_ref().and_then(RunProtection::removals).map(Path::to_owned),
    };
    let confined = sandboxer.wrap(command, setup)?;
    let facts = job_facts(id, command, &confined, sandboxer.options().grace);
    let guard = RunGuard {
        sandbox: confined.guard,
        proxy: proxy.map(|proxy| proxy.proxy),
        gaps: confined.gaps,
        hint: ProtectedPathHint::new(Arc::clone(files), confined.protected),
        staged: Mutex::new(staged),
        triggers,
        protection,
        temporary: confined.temporary.map(|(folder, limit)| TemporaryFiles::new(folder, limit)),
        is_dry_run: command.change_mode() == ChangeMode::Review,
        writable,
        root: files.root().to_owned(),
    };
    LocalJob::start(confined.command.to_std(), facts, options, guard, checkpoint).map_err(|error| spawn_error(command.shell(), error))
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

/// Removes the sockets and folders of processes that were killed.
pub(crate) fn remove_stale_entries(folder: &Path) {
    let is_stale = |name: &str| {
        name.split_once('-').is_some_and(|(pid, _)| pid.parse::<u32>().is_ok_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_str().is_some_and(is_stale)) {
        // Another process may have removed it.
        std::fs::remove_file(entry.path()).or_else(|_| std::fs::remove_dir_all(entry.path())).ok();
    }
}
