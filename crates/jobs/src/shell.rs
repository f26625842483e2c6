//! The shell: plans commands, and starts them as jobs.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_contract::{
    ChangeMode, CommandRequest, Effect, ExecHost, Job, JobOptions, ShellCommand, ToolError,
    ports::{ChangeRecorder, EgressGate, Journal},
};
use haft_host::{EgressProxy, GuardedClient, LocalFiles, NetworkRules};
use haft_pattern::HostPattern;

use crate::changes::ChangeStore;
use crate::checkpoint::{Checkpoint, CheckpointLimits, CheckpointStore};
use crate::job_list::Jobs;
use crate::job_start::{CommandProxy, JobStart};
use crate::plan;
use crate::recorder::CallRecorder;
use crate::sandboxer::{Sandboxer, ShellOptions};
use crate::session_networks::SessionNetworks;

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
        let proxy = self.proxy(command, options.egress.clone())?.map(|proxy| CommandProxy { proxy, port });
        let checkpoint = match options.journal {
            Some(_) => self.take_checkpoint(command).await,
            None => None,
        };
        let start = JobStart { id, command: command.clone(), options, proxy, checkpoint };
        let job = start.run(Arc::clone(&self.sandboxer), Arc::clone(&self.changes)).await?;
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
    fn proxy(&self, command: &ShellCommand, gate: Option<Arc<dyn EgressGate>>) -> Result<Option<EgressProxy>, ToolError> {
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
        let socket = folder.join(format!("{}.sock", run_name()));
        self.http.proxy(&socket, allowed, gate).map(Some).map_err(failed)
    }
}

fn proxy_port(number: u64) -> u16 {
    // Always below `PROXY_PORTS`.
    PROXY_PORT + u16::try_from(number % PROXY_PORTS).unwrap_or(0)
}

/// A name in the folder of runs that nothing else of this process has: several sessions run commands in it at the same time.
pub(crate) fn run_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
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
