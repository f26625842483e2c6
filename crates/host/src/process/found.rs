//! Jobs that another process runs or ran, seen from here.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use haft_contract::{BoxFuture, Job, JobEnd, JobRecord, JobRegistry, JobScope, JobStatus, SpillFile, ToolError, base64};

use super::kept::Kept;
use super::letters::{Question, Reply, Sight, ask};
use super::outlived;

/// How much is read of either end of an output that lies in a file.
const STRETCH: u64 = 64 * 1024;

/// A job from its record: as its keeper sees it, if that lives; as it was left behind, if not.
pub(super) async fn job(record: JobRecord, registry: &Arc<dyn JobRegistry>) -> Arc<dyn Job> {
    if let Some(end) = record.end.clone() {
        return Arc::new(past(record, end).await);
    }
    let kept = Found::new(record, Source::Keeper(Arc::clone(registry)));
    if kept.look(false).await {
        return Arc::new(kept);
    }
    let record = kept.record;
    if let Some(process) = outlived::process(&record) {
        return Arc::new(Found::new(record, Source::Alone(process)));
    }
    // Whoever finds it next comes to the same. If it was remembered since the list was read how it ended, that stays.
    drop(registry.end(record.number, lost(), 0).await);
    let end = remembered(&record, &**registry).await.unwrap_or_else(lost);
    Arc::new(past(record, end).await)
}

/// How a job ended, as it is remembered now.
async fn remembered(record: &JobRecord, registry: &dyn JobRegistry) -> Option<JobEnd> {
    let records = registry.list(JobScope::Session(record.session.clone())).await.ok()?;
    records.into_iter().find(|other| other.number == record.number)?.end
}

/// A job whose end is remembered.
async fn past(record: JobRecord, end: JobEnd) -> Found {
    let found = Found::new(record, Source::Nobody);
    found.recall(end).await;
    found
}

/// Where more is learned of it.
enum Source {
    /// The process that runs it; and if that is gone, what it remembered.
    Keeper(Arc<dyn JobRegistry>),
    /// Nobody: its keeper is gone, and it goes on alone.
    Alone(OwnedFd),
    /// Nobody: it has ended.
    Nobody,
}

/// A job that another process runs or ran.
struct Found {
    record: JobRecord,
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
    fn new(record: JobRecord, source: Source) -> Self {
        Self { record, source, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks its keeper, and says whether that answered.
    async fn look(&self, wait: bool) -> bool {
        let question = Question::Look { job: self.record.number, seen: self.state().kept.total(), wait };
        let Ok(Reply::Sight(sight)) = ask(&self.record.keeper, &question).await else { return false };
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

    /// Takes over how it ended, with as much of its output as is shown.
    async fn recall(&self, end: JobEnd) {
        let spill = end.spill.clone();
        let read = tokio::task::spawn_blocking(move || spill.and_then(|spill| both_ends(&spill).ok())).await;
        let mut state = self.state();
        for (from, bytes) in read.ok().flatten().unwrap_or_default() {
            state.kept.push_at(from, &bytes);
        }
        state.end.get_or_insert(end);
    }

    /// Resolves when there is news of it, and be it that there will be none.
    async fn news(&self) {
        match &self.source {
            Source::Keeper(registry) => {
                if !self.look(true).await {
                    // It may have ended, and its keeper with it, before that could say so.
                    let end = remembered(&self.record, &**registry).await;
                    self.recall(end.unwrap_or_else(lost)).await;
                }
            }
            Source::Alone(process) => {
                outlived::gone(process).await;
                self.recall(lost()).await;
            }
            Source::Nobody => self.recall(lost()).await,
        }
    }

    fn is_over(&self) -> Option<JobEnd> {
        self.state().end.clone()
    }

    fn out_of_reach(&self) -> ToolError {
        ToolError::execution(format!("Job {} takes no input: the haft that ran it has ended. 'kill' ends it.", self.record.number))
    }
}

impl Job for Found {
    fn status(&self) -> JobStatus {
        let (record, state) = (&self.record, self.state());
        JobStatus {
            id: String::new(),
            session: record.session.clone(),
            line: record.line.clone(),
            directory: record.directory.clone(),
            host: record.host,
            walls: record.walls.clone(),
            pid: record.pid,
            started: record.started,
            end: state.end.clone(),
            bytes: state.kept.total(),
            kept_from: if state.kept.is_whole() { 0 } else { state.kept.kept_from() },
        }
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
            if !matches!(self.source, Source::Keeper(_)) {
                return Err(self.out_of_reach());
            }
            let question = Question::Write { job: self.record.number, input: base64::encode(input), end };
            match ask(&self.record.keeper, &question).await {
                Ok(Reply::Failed(why)) => Err(ToolError::execution(why)),
                Ok(_) => Ok(()),
                Err(_) => Err(self.out_of_reach()),
            }
        })
    }

    fn kill(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match &self.source {
                Source::Keeper(_) => {
                    // A keeper that does not answer is gone, and the job with it: the look says so.
                    drop(ask(&self.record.keeper, &Question::Kill { job: self.record.number }).await);
                    self.ended().await;
                }
                Source::Alone(process) => {
                    outlived::end(self.record.pid, process).await;
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
