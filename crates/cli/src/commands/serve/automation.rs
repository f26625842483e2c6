//! Runs scheduled jobs in the server: as turns of its sessions, with their results announced there, by notice, or posted.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use haft_agent::{EndReason, TurnEnd};
use haft_contract::BoxFuture;
use haft_contract::ports::{Host, JobNotice, JobRun, JobTarget, Notice, ScheduledJob};
use haft_cron::{JobExecutor, RunOutcome, Scheduler, SchedulerParts};
use haft_gateway::ServedSessions;
use haft_host::{FileSignal, SystemAlarm};
use haft_store::{NewSession, SessionStore, StoreError, StoredTaint};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::delivery::{ConversationAnnouncer, Webhooks};
use crate::failure::Failure;
use crate::output::note;
use crate::wire::{self, SchedulerLock, ServedParts, TurnProgress, Wire, turn_progress};

/// The scheduler of a server. While another server runs the jobs of the folder it waits, and takes over when that one ends.
pub(super) struct ServedJobs {
    pub(super) scheduler: Scheduler,
    /// Held until the last run is stored.
    _lock: Arc<OnceLock<SchedulerLock>>,
}

impl ServedJobs {
    /// Starts it; it ends with the token.
    pub(super) fn start(wire: &Wire, served: &ServedParts, sessions: &ServedSessions, stop: &CancellationToken) -> Result<Self, Failure> {
        let (data_folder, workspace) = (wire.settings.data_folder.clone(), &wire.settings.workspace);
        let host = wire.delivery_host()?;
        let store: Arc<dyn SessionStore> = served.store.sessions();
        let (pages, desktop) = (sessions.clone(), Arc::clone(&host));
        let runner = SessionRunner {
            sessions: sessions.clone(),
            store,
            workspace: workspace.clone(),
            agent: wire.settings.agent.clone(),
            stop: stop.clone(),
        };
        let changed = Arc::new(Notify::new());
        let scheduler = Scheduler::new(SchedulerParts {
            store: served.store.automation(),
            clock: Arc::new(SystemAlarm),
            workspace: workspace.clone(),
            executor: Arc::new(runner),
            announce: Arc::new(ConversationAnnouncer {
                sessions: sessions.clone(),
                host: Arc::clone(&host),
                channels: Arc::clone(wire.channels()),
            }),
            webhook: Arc::new(Webhooks { host }),
            changed: Arc::clone(&changed),
            notices: Arc::new(move |notice: &JobNotice| show_notice(notice, &pages, &desktop)),
        });
        follow_changes(&wire::signal_file(&data_folder), changed, sessions.clone(), stop.clone());
        let lock: Arc<OnceLock<SchedulerLock>> = Arc::default();
        tokio::spawn({
            let (scheduler, workspace, held, pages, stop) =
                (scheduler.clone(), workspace.clone(), Arc::clone(&lock), sessions.clone(), stop.clone());
            async move {
                let Some(lock) = take_lock(&data_folder, &workspace, &stop).await else { return };
                held.set(lock).ok();
                pages.changed("automation");
                scheduler.run(&stop).await;
            }
        });
        Ok(Self { scheduler, _lock: lock })
    }
}

/// The right to run the jobs of the folder: at once, or when the server that has it has ended.
async fn take_lock(data_folder: &Path, workspace: &Path, stop: &CancellationToken) -> Option<SchedulerLock> {
    if let Some(lock) = SchedulerLock::take(data_folder, workspace) {
        return Some(lock);
    }
    note("another server runs the scheduled jobs of this folder; this one takes over when that one ends");
    let lock = tokio::select! {
        () = stop.cancelled() => return None,
        lock = SchedulerLock::wait(data_folder, workspace) => lock?,
    };
    note("this server runs the scheduled jobs of this folder now");
    Some(lock)
}

/// Wakes the scheduler and the pages when any process has changed jobs.
fn follow_changes(signal: &Path, changed: Arc<Notify>, pages: ServedSessions, stop: CancellationToken) {
    let Ok(signal) = FileSignal::watch(signal) else {
        return note("changes of scheduled jobs by other programs are seen at the next run: the data folder cannot be watched");
    };
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                received = signal.received() => if received.is_err() { return },
            }
            changed.notify_one();
            pages.changed("automation");
        }
    });
}

fn show_notice(notice: &JobNotice, pages: &ServedSessions, host: &Arc<dyn Host>) {
    pages.changed("automation");
    let (host, message) = (Arc::clone(host), notice.text.clone());
    tokio::spawn(async move {
        let notice = Notice { message, urgency: "normal".into(), recipient: "user".into() };
        // It is in the list of notices in any case.
        host.notifier().notify(notice).await.ok();
    });
}

/// Runs jobs as turns of sessions.
struct SessionRunner {
    sessions: ServedSessions,
    store: Arc<dyn SessionStore>,
    workspace: PathBuf,
    agent: String,
    stop: CancellationToken,
}

impl JobExecutor for SessionRunner {
    /// An isolated run has a conversation with its own id, so that it is found again after a kill.
    fn session(&self, job: &ScheduledJob, run: &JobRun) -> Option<String> {
        match job.target {
            JobTarget::Main => job.session.clone(),
            JobTarget::Isolated => Some(run.id.clone()),
        }
    }

    fn execute<'a>(&'a self, job: &'a ScheduledJob, run: &'a JobRun) -> BoxFuture<'a, RunOutcome> {
        Box::pin(async move {
            self.sessions.changed("automation");
            let outcome = self.turn(job, run).await.unwrap_or_else(|error| RunOutcome::Failed { error, is_transient: true });
            // Turns are cancelled when the server stops: the next one continues them.
            let outcome =
                if self.stop.is_cancelled() && !matches!(outcome, RunOutcome::Ok { .. }) { RunOutcome::Interrupted } else { outcome };
            self.sessions.changed("automation");
            outcome
        })
    }
}

impl SessionRunner {
    async fn turn(&self, job: &ScheduledJob, run: &JobRun) -> Result<RunOutcome, String> {
        let Some(session) = self.session(job, run) else { return Err("the job has no conversation".into()) };
        if let Some(failed) = self.prepare(job, run, &session).await? {
            return Ok(failed);
        }
        let progress = turn_progress(&*self.store, &session, 0, |text, _| text.contains(&run.id)).await;
        let text = match progress.map_err(|error| error.to_string())? {
            TurnProgress::Answered(answer) => return Ok(self.ok(&session, answer).await),
            TurnProgress::Begun => format!(
                "[Scheduled job '{}', run {}] The server was restarted in the middle of this run. Continue it: do not repeat what is done.",
                job.name, run.id
            ),
            TurnProgress::Nothing => format!("[Scheduled job '{}', run {}]\n\n{}", job.name, run.id, job.task),
        };
        let is_own = job.target == JobTarget::Isolated;
        let mut guard = RunningTurn { sessions: &self.sessions, session: Some(session.as_str()).filter(|_| is_own) };
        let end = self.sessions.ask(&session, text, job.model.clone().filter(|_| is_own)).await;
        guard.session = None;
        let end = end?;
        Ok(match end.reason {
            EndReason::Done => self.ok(&session, end.text).await,
            reason => failed_turn(&end, reason),
        })
    }

    /// Makes the conversation of an isolated run; says why a run in another one cannot be.
    async fn prepare(&self, job: &ScheduledJob, run: &JobRun, session: &str) -> Result<Option<RunOutcome>, String> {
        match self.store.open(session).await {
            Ok(_) => return Ok(None),
            Err(StoreError::Missing { .. }) if job.target == JobTarget::Main => {
                let error = "its conversation was deleted; schedule it again in another".to_owned();
                return Ok(Some(RunOutcome::Failed { error, is_transient: false }));
            }
            Err(StoreError::Missing { .. }) => {}
            Err(error) => return Err(error.to_string()),
        }
        let mut new = NewSession::new(job.agent.as_deref().unwrap_or(&self.agent), &self.workspace);
        (new.id, new.title, new.model) = (run.id.clone(), Some(job.name.clone()), job.model.clone());
        self.store.create(new).await.map_err(|error| error.to_string())?;
        if job.is_tainted {
            let taint = StoredTaint { private: false, untrusted: true };
            self.store.add_taint(session, taint).await.map_err(|error| error.to_string())?;
        }
        self.sessions.added(session).await;
        Ok(None)
    }

    async fn ok(&self, session: &str, answer: String) -> RunOutcome {
        let taint = self.store.taint(session).await.unwrap_or_default();
        RunOutcome::Ok { answer, is_tainted: taint.untrusted }
    }
}

/// The turn of a run whose time is up is cancelled.
struct RunningTurn<'a> {
    sessions: &'a ServedSessions,
    session: Option<&'a str>,
}

impl Drop for RunningTurn<'_> {
    fn drop(&mut self) {
        if let Some(session) = self.session {
            self.sessions.cancel(session);
        }
    }
}

fn failed_turn(end: &TurnEnd, reason: EndReason) -> RunOutcome {
    let error = end.error.clone().unwrap_or_else(|| format!("its turn ended with '{}'", reason.as_str()));
    RunOutcome::Failed { error, is_transient: reason == EndReason::Failed }
}
