//! Lines of shell on this machine: planned, put behind walls, started, listed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use haft_contract::{Aftermath, ChangeSets, Changes, Effect, ErrorKind, Job, JobOptions, Line, LineRequest, ToolError};
use haft_sandbox::{Guard, Network};

use super::changes::{Pending, Sets};
use super::held::Held;
use super::job::{self, Facts, Keepsake};
use super::jobs::Jobs;
use super::spawner::on_lasting_thread;
use super::triggers::{self, Look};
use super::walls::{ShellOptions, Walls};
use super::{program, shell, spawn_error};
use crate::http::NetworkRule;
use crate::proxy::{Proxy, Reach};
use crate::{GuardedClient, LocalFiles};

/// Where a line finds the proxy, within its own network.
const PROXY_PORT: u16 = 3128;

/// Runs lines of shell.
#[derive(Debug)]
pub(super) struct Lines {
    walls: Arc<Walls>,
    http: Arc<GuardedClient>,
    sets: Arc<Sets>,
    started: AtomicU64,
}

impl Lines {
    pub(super) fn new(options: ShellOptions, files: Arc<LocalFiles>, http: Arc<GuardedClient>) -> Self {
        let sets = Arc::new(Sets::new(options.changes.clone(), Arc::clone(&files)));
        Self { walls: Arc::new(Walls::new(options, files)), http, sets, started: AtomicU64::new(0) }
    }
    pub(super) fn change_sets(&self) -> &dyn ChangeSets {
        &*self.sets
    }
    pub(super) fn jobs(&self) -> &Jobs {
        &self.walls.options().jobs
    }
    pub(super) fn waits(&self) -> bool {
        self.walls.options().waits
    }

    pub(super) fn plan(&self, request: &LineRequest) -> Result<Line, ToolError> {
        match &request.program {
            Some(program) => program::plan(request, program, &self.walls, &*self.http),
            None => shell::plan(request, &self.walls, &*self.http),
        }
    }

    pub(super) async fn start(&self, line: &Line, options: JobOptions) -> Result<Arc<dyn Job>, ToolError> {
        if self.jobs().is_full() {
            let advice = "End one with the process tool before starting another";
            return Err(ToolError::new(ErrorKind::ExecutionError, format!("Too many jobs run in the background. {advice}.")));
        }
        let id = format!("job-{}", self.started.fetch_add(1, Ordering::Relaxed) + 1);
        let proxy = self.proxy(&id, line)?;
        let network = match (&proxy, line.shell().host.is_walled()) {
            (Some(proxy), _) => Network::Proxy { socket: proxy.socket().to_owned(), port: PROXY_PORT },
            (None, true) => Network::Off,
            (None, false) => Network::Host,
        };
        let (walls, sets, line) = (Arc::clone(&self.walls), Arc::clone(&self.sets), line.clone());
        let started = on_lasting_thread(move || {
            let pending = match line.changes() {
                Changes::Direct => None,
                _ => Some(sets.begin(&options.session, line.text(), &walls.writable())?),
            };
            let overlay = pending.as_ref().map(|pending| pending.overlay().clone());
            let look = (pending.is_none() && line.reach().is_some()).then(|| Look::at(walls.files().root()));
            let walled = walls.around(&line, network, options.terminal.is_some(), overlay)?;
            let facts = Facts {
                id,
                line: line.text().to_owned(),
                directory: line.directory().to_owned(),
                host: line.shell().host,
                walls: walled.name,
                terminal: walled.terminal,
                grace: walls.options().grace,
                started: SystemTime::now(),
                mark: line.mark().map(str::to_owned),
            };
            let run = Run {
                guard: walled.guard,
                proxy,
                lacks: walled.lacks,
                held: Held::new(Arc::clone(walls.files()), walled.protected),
                pending: Mutex::new(pending),
                look,
                root: walls.files().root().to_owned(),
            };
            job::start(walled.command.to_std(), facts, options, Arc::new(run)).map_err(|error| spawn_error(line.shell(), error))
        });
        let job = started.await.map_err(|error| ToolError::execution(format!("The command was not started: {error}.")))??;
        Ok(Arc::new(job))
    }

    /// The way out, for the hosts that were permitted.
    fn proxy(&self, id: &str, line: &Line) -> Result<Option<Proxy>, ToolError> {
        let allowed: Vec<NetworkRule> = line.effects().iter().filter_map(reached).filter_map(|entry| entry.parse().ok()).collect();
        if allowed.is_empty() || !line.shell().host.is_walled() {
            return Ok(None);
        }
        let failed = |error: io::Error| ToolError::execution(format!("The command was not started: its proxy cannot listen: {error}."));
        let folder = &self.walls.options().folder;
        std::fs::create_dir_all(folder).map_err(failed)?;
        sweep(folder);
        let socket: PathBuf = folder.join(format!("{}-{id}.sock", std::process::id()));
        Proxy::start(&socket, Reach { allowed, guard: self.http.guard(), resolver: self.http.resolver() }).map(Some).map_err(failed)
    }
}

/// Removes the sockets of those who were killed.
fn sweep(folder: &Path) {
    let stale = |name: &str| {
        name.split_once('-')
            .is_some_and(|(host, _)| host.parse::<u32>().is_ok_and(|host| !Path::new("/proc").join(host.to_string()).exists()))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_str().is_some_and(stale)) {
        // Another process may have been faster.
        std::fs::remove_file(entry.path()).ok();
    }
}

/// What a run leaves on the machine, and takes away with it.
struct Run {
    guard: Guard,
    proxy: Option<Proxy>,
    lacks: Vec<String>,
    /// What it may not change.
    held: Held,
    /// Where its changes are kept apart.
    pending: Mutex<Option<Pending>>,
    /// What others run by themselves, before it ran.
    look: Option<Look>,
    /// The workspace. Not the walls: they hold the list of jobs, and a job must not keep alive what ends it.
    root: PathBuf,
}

impl Keepsake for Run {
    fn aftermath(&self, has_run: bool) -> Aftermath {
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner).take();
        let changes = pending.filter(|_| has_run).map(Pending::read);
        let triggers = match (&changes, &self.look) {
            (Some(Ok(set)), _) => triggers::among(set),
            (None, Some(before)) => Look::at(&self.root).changed_since(before),
            _ => Vec::new(),
        };
        Aftermath { changes, triggers }
    }
    fn end(&self, process: u32, grace: Duration) -> io::Result<bool> {
        self.guard.end(process, grace)
    }
    fn peak_memory(&self) -> Option<u64> {
        self.guard.peak_memory()
    }
    fn last_words(&self, said: &[u8]) -> Vec<String> {
        let limits = self.guard.exceeded().into_iter().map(|limit| format!("haft: the command met its limit of {limit}"));
        let decisions = self.proxy.iter().flat_map(Proxy::decisions).filter(|decision| !decision.ends_with(": connected"));
        let lacks = (!self.lacks.is_empty()).then(|| format!("haft: the walls were weaker than they should be: {}", self.lacks.join("; ")));
        let held = self.held.why(said).map(|why| format!("haft: {why}"));
        limits.chain(decisions.map(|decision| format!("haft: {decision}"))).chain(lacks).chain(held).collect()
    }
}

fn reached(effect: &Effect) -> Option<String> {
    match effect {
        Effect::Connect(connect) => Some(format!("{}:{}", connect.host, connect.port)),
        _ => None,
    }
}
