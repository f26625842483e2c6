//! Jobs that another process runs or ran, seen from here.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use haft_contract::{BoxFuture, Job, JobEnd, JobRecord, JobRegistry, JobStatus, SpillFile, ToolError, base64};
use rustix::process::{Pid, Signal};

use super::kept::Kept;
use super::letters::{Question, Reply, Sight, ask};

/// How much is read of either end of an output that lies in a file.
const STRETCH: u64 = 64 * 1024;
/// How long what outlived its keeper may take to end after it was asked to.
const GRACE: Duration = Duration::from_millis(500);

/// A job from its record: as its keeper sees it, if that lives; as it was left behind, if not.
pub(super) async fn job(record: JobRecord, registry: &dyn JobRegistry) -> Arc<dyn Job> {
    if record.end.is_some() {
        return Arc::new(past(record).await);
    }
    let kept = Found::new(&record, Source::Keeper);
    if kept.look(false).await {
        return Arc::new(kept);
    }
    // It may have ended, and been remembered, since the list was read.
    if let Some(outlived) = outlived(&record) {
        return Arc::new(Found::new(&record, Source::Alone(outlived)));
    }
    let end = lost();
    // Whoever finds it next comes to the same.
    drop(registry.end(record.number, end.clone(), 0).await);
    Arc::new(Found { state: Mutex::new(State { end: Some(end), ..State::default() }), ..Found::new(&record, Source::Nobody) })
}

/// Where more is learned of it.
enum Source {
    /// The process that runs it.
    Keeper,
    /// Nobody: its keeper is gone, and it goes on alone.
    Alone(OwnedFd),
    /// Nobody: it has ended.
    Nobody,
}

/// A job that another process runs or ran.
struct Found {
    facts: JobStatus,
    number: u64,
    keeper: std::path::PathBuf,
    source: Source,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    kept: Kept,
    end: Option<JobEnd>,
    has_terminal: bool,
}

impl Found {
    fn new(record: &JobRecord, source: Source) -> Self {
        let facts = JobStatus {
            id: String::new(),
            session: record.session.clone(),
            line: record.line.clone(),
            directory: record.directory.clone(),
            host: record.host,
            walls: record.walls.clone(),
            pid: record.pid,
            started: record.started,
            end: None,
            bytes: 0,
            kept_from: 0,
        };
        Self { facts, number: record.number, keeper: record.keeper.clone(), source, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks its keeper, and says whether that answered.
    async fn look(&self, wait: bool) -> bool {
        let question = Question::Look { job: self.number, seen: self.state().kept.total(), wait };
        let Ok(Reply::Sight(sight)) = ask(&self.keeper, &question).await else { return false };
        self.see(sight);
        true
    }

    fn see(&self, sight: Sight) {
        let mut state = self.state();
        for (from, bytes) in sight.stretches() {
            state.kept.push_at(from, &bytes);
        }
        let spill = sight.spill.map(|(path, bytes)| SpillFile { path, bytes });
        state.end = sight.end.map(|end| JobEnd { spill, ..end });
        state.has_terminal = sight.has_terminal;
    }

    /// Resolves when there is news of it, and be it that there will be none.
    async fn news(&self) {
        let is_over = match &self.source {
            Source::Keeper => !self.look(true).await,
            Source::Alone(process) => {
                gone(process).await;
                true
            }
            Source::Nobody => true,
        };
        if is_over {
            self.state().end.get_or_insert_with(lost);
        }
    }

    fn is_over(&self) -> Option<JobEnd> {
        self.state().end.clone()
    }

    fn out_of_reach(&self) -> ToolError {
        ToolError::execution(format!("Job {} takes no input: the haft that ran it has ended. 'kill' ends it.", self.number))
    }
}

impl Job for Found {
    fn status(&self) -> JobStatus {
        let state = self.state();
        let kept_from = if state.kept.is_whole() { 0 } else { state.kept.kept_from() };
        JobStatus { end: state.end.clone(), bytes: state.kept.total(), kept_from, ..self.facts.clone() }
    }

    fn changed(&self, seen: u64) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            while self.is_over().is_none() && self.state().kept.total() <= seen {
                self.news().await;
            }
        })
    }

    fn ended(&self) -> BoxFuture<'_, JobEnd> {
        Box::pin(async move {
            loop {
                if let Some(end) = self.is_over() {
                    return end;
                }
                self.news().await;
            }
        })
    }

    fn head(&self) -> Vec<u8> {
        self.state().kept.head()
    }

    fn output(&self, from: u64, most: usize) -> (u64, Vec<u8>) {
        self.state().kept.from(from, most)
    }

    fn write<'a>(&'a self, input: &'a [u8], end: bool) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            if !matches!(self.source, Source::Keeper) {
                return Err(self.out_of_reach());
            }
            let question = Question::Write { job: self.number, input: base64::encode(input), end };
            match ask(&self.keeper, &question).await {
                Ok(Reply::Failed(why)) => Err(ToolError::execution(why)),
                Ok(_) => Ok(()),
                Err(_) => Err(self.out_of_reach()),
            }
        })
    }

    fn kill(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match &self.source {
                Source::Keeper => {
                    // A keeper that does not answer is gone, and the job with it: the look says so.
                    drop(ask(&self.keeper, &Question::Kill { job: self.number }).await);
                    self.ended().await;
                }
                Source::Alone(process) => {
                    end_alone(self.facts.pid, process).await;
                    self.state().end.get_or_insert_with(|| JobEnd { killed: true, lost: false, ..lost() });
                }
                Source::Nobody => {}
            }
        })
    }

    fn has_terminal(&self) -> bool {
        self.state().has_terminal
    }
}

/// A job whose end is remembered, with as much of its output as is shown.
async fn past(record: JobRecord) -> Found {
    let found = Found::new(&record, Source::Nobody);
    let spill = record.end.as_ref().and_then(|end| end.spill.clone());
    let read = tokio::task::spawn_blocking(move || spill.and_then(|spill| both_ends(&spill).ok())).await;
    let mut state = State { end: record.end, ..State::default() };
    for (from, bytes) in read.ok().flatten().unwrap_or_default() {
        state.kept.push_at(from, &bytes);
    }
    Found { state: Mutex::new(state), ..found }
}

fn both_ends(spill: &SpillFile) -> std::io::Result<Vec<(u64, Vec<u8>)>> {
    let mut file = File::open(&spill.path)?;
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    file.by_ref().take(STRETCH).read_to_end(&mut head)?;
    let from = file.metadata()?.len().saturating_sub(STRETCH).max(head.len() as u64);
    file.seek(SeekFrom::Start(from))?;
    file.take(STRETCH).read_to_end(&mut tail)?;
    Ok(vec![(0, head), (from, tail)])
}

/// An end that nobody saw.
fn lost() -> JobEnd {
    JobEnd { lost: true, ..JobEnd::unknown(SystemTime::now()) }
}

/// When a process began, as the system counts; nothing of one that has ended, whether or not anyone waited for it.
pub(super) fn born(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold anything, brackets and spaces too.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    if matches!(state, "Z" | "X") { None } else { fields.nth(18)?.parse().ok() }
}

/// The process of a job that goes on although its keeper is gone: the very one, and no later one of its number.
fn outlived(record: &JobRecord) -> Option<OwnedFd> {
    let pid = Pid::from_raw(record.pid?.try_into().ok()?)?;
    let process = super::group::opened(pid)?;
    (record.born.is_some() && born(record.pid?) == record.born).then_some(process)
}

async fn gone(process: &OwnedFd) {
    let Ok(watched) = process.try_clone().and_then(super::group::watched) else { return };
    // It resolves in no other way.
    drop(watched.readable().await);
}

/// Asks the whole group to end, and after a grace makes it.
async fn end_alone(pid: Option<u32>, process: &OwnedFd) {
    let Some(leader) = pid.and_then(|pid| Pid::from_raw(pid.try_into().ok()?)) else { return };
    for signal in [Signal::TERM, Signal::KILL] {
        super::group::kill(leader, signal);
        drop(tokio::time::timeout(GRACE, gone(process)).await);
    }
}
