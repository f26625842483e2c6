//! The scheduler: one timer for the earliest time, a claim for each run, and a task for each run that works.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use haft_contract::ports::{AlarmClock, Announce, DeliveryMode, DeliveryState, JobNotice, JobRun, RunState, ScheduledJob};
use haft_store::{AutomationChange, AutomationStore, RunOwner, StoreError};
use haft_text::display::shorten;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::new_runs::BusyJobs;
use crate::ports::{JobExecutor, RunOutcome, WebhookSender};
use crate::run_effects::{RetryAdvice, after_run};

/// Runs that work at once; others wait for them.
const MOST_RUNNING: usize = 128;
/// Jobs that are claimed in one step.
const BATCH: usize = 512;
const MOST_BATCHES: usize = 64;
/// How often a run that kills cut off is continued.
pub const MOST_ATTEMPTS: u32 = 3;
/// The shortest wait between two steps, and the one after an error of the store.
const SHORTEST_WAIT: Duration = Duration::from_millis(50);
const AFTER_ERROR: Duration = Duration::from_secs(5);
/// How much of an answer is stored with a run.
const ANSWER_CHARACTERS: usize = 4000;

/// What the scheduler works with.
pub struct SchedulerParts {
    /// Jobs and runs.
    pub store: Arc<dyn AutomationStore>,
    /// The time.
    pub clock: Arc<dyn AlarmClock>,
    /// The folder whose jobs run.
    pub workspace: PathBuf,
    /// Runs jobs.
    pub executor: Arc<dyn JobExecutor>,
    /// Announces results.
    pub announce: Arc<dyn Announce>,
    /// Posts results.
    pub webhook: Arc<dyn WebhookSender>,
    /// Notified when jobs or runs have changed.
    pub changed: Arc<Notify>,
    /// Gets each notice once it is stored.
    pub notices: Arc<dyn Fn(&JobNotice) + Send + Sync>,
}

/// Runs the jobs of a folder. Clones are the same scheduler.
#[derive(Clone)]
pub struct Scheduler {
    inner: Arc<SchedulerState>,
}

struct SchedulerState {
    parts: SchedulerParts,
    permits: Semaphore,
    /// Runs that a task of this process works on.
    active: Mutex<HashSet<String>>,
    ended: Notify,
    wakeups: AtomicU64,
    last_step: Mutex<Option<SystemTime>>,
}

haft_contract::opaque_debug!(Scheduler);
haft_contract::opaque_debug!(SchedulerParts);

impl Scheduler {
    /// A scheduler that does nothing until it [runs](Self::run).
    pub fn new(parts: SchedulerParts) -> Self {
        let inner = SchedulerState {
            parts,
            permits: Semaphore::new(MOST_RUNNING),
            active: Mutex::default(),
            ended: Notify::new(),
            wakeups: AtomicU64::new(0),
            last_step: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Runs jobs until it is stopped. Runs that work then are continued by the next server, unless they [end](Self::drained) before.
    pub async fn run(&self, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            let next = match self.step().await {
                Ok(next) => next.map(|next| next.max(self.now() + SHORTEST_WAIT)),
                Err(_) => Some(self.now() + AFTER_ERROR),
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = self.inner.parts.changed.notified() => {}
                () = self.inner.parts.clock.alarm(next) => {}
            }
            self.inner.wakeups.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How often it woke up.
    pub fn wakeups(&self) -> u64 {
        self.inner.wakeups.load(Ordering::Relaxed)
    }

    /// How many runs work.
    pub fn running(&self) -> usize {
        self.active().len()
    }

    /// Resolves when no run works.
    pub async fn drained(&self) {
        loop {
            let ended = self.inner.ended.notified();
            if self.active().is_empty() {
                return;
            }
            ended.await;
        }
    }

    /// Begins everything that is due; returns when the next is.
    pub async fn step(&self) -> Result<Option<SystemTime>, StoreError> {
        let now = self.now();
        self.follow_clock(now).await?;
        // Before the list is read: a run that ends meanwhile is still in it, and must not begin again.
        let working = self.active().clone();
        let open = self.store().open_runs(self.workspace()).await?;
        let left: Vec<_> = open.iter().filter(|(run, _)| !working.contains(&run.id)).cloned().collect();
        self.recover(&left).await?;
        let mut busy = BusyJobs::new(&open);
        // A job that changed while it was claimed is still due.
        for _ in 0..MOST_BATCHES {
            let due = self.store().due_jobs(self.workspace(), now, BATCH).await?;
            if due.is_empty() {
                break;
            }
            let claims = due.into_iter().map(|job| self.claim(job, &busy, now)).collect::<Vec<_>>();
            for claimed in join_all(claims).await {
                for (job, run) in claimed? {
                    busy.count(&run);
                    self.spawn_run(job, run);
                }
            }
        }
        self.start_waiting(&open, &mut busy, now).await?;
        self.retry_deliveries(&left, now);
        self.store().next_due(self.workspace()).await
    }

    fn retry_deliveries(&self, open: &[(JobRun, RunOwner)], now: SystemTime) {
        let is_due = |run: &JobRun| run.delivery == DeliveryState::Pending && run.delivery_due.is_some_and(|due| due <= now);
        for (run, _) in open.iter().filter(|(run, owner)| *owner == RunOwner::Mine && run.state.is_final() && is_due(run)) {
            self.spawn_delivery(run.clone());
        }
    }

    pub(crate) fn spawn_run(&self, job: ScheduledJob, run: JobRun) {
        if !self.active().insert(run.id.clone()) {
            return;
        }
        let scheduler = self.clone();
        tokio::spawn(async move {
            let guard = ActiveRun { scheduler: &scheduler, id: run.id.clone() };
            // What the store did not take is continued by the next step: the run is still open in it.
            scheduler.work(job, run).await.ok();
            drop(guard);
        });
    }

    pub(crate) fn spawn_delivery(&self, run: JobRun) {
        if !self.active().insert(run.id.clone()) {
            return;
        }
        let scheduler = self.clone();
        tokio::spawn(async move {
            let guard = ActiveRun { scheduler: &scheduler, id: run.id.clone() };
            scheduler.deliver(run).await.ok();
            drop(guard);
        });
    }

    async fn work(&self, job: ScheduledJob, mut run: JobRun) -> Result<(), StoreError> {
        let permit = self.inner.permits.acquire().await;
        let executed = tokio::time::timeout(job.timeout, self.inner.parts.executor.execute(&job, &run)).await;
        drop(permit);
        let outcome = executed.unwrap_or_else(|_| RunOutcome::Failed {
            error: format!("it took longer than {}", crate::duration_words(job.timeout)),
            is_transient: false,
        });
        let retry = match outcome {
            RunOutcome::Interrupted => return Ok(()),
            RunOutcome::Ok { answer, is_tainted } => {
                (run.state, run.is_tainted) = (RunState::Ok, is_tainted);
                run.answer = Some(shorten(&answer, ANSWER_CHARACTERS).into_owned());
                if run.route.mode != DeliveryMode::None {
                    run.delivery = DeliveryState::Pending;
                }
                RetryAdvice::IsUseless
            }
            RunOutcome::Failed { error, is_transient } => {
                (run.state, run.error) = (RunState::Failed, Some(shorten(&error, ANSWER_CHARACTERS).into_owned()));
                if is_transient { RetryAdvice::MayHelp } else { RetryAdvice::IsUseless }
            }
        };
        self.finish(&mut run, retry).await?;
        if run.delivery == DeliveryState::Pending { self.deliver(run).await } else { Ok(()) }
    }

    /// Stores the end of a run together with what it changes of its job.
    pub(crate) async fn finish(&self, run: &mut JobRun, retry: RetryAdvice) -> Result<(), StoreError> {
        loop {
            let now = self.now();
            run.ended = Some(now);
            let job = self.store().job(&run.job).await?;
            let (after, notices) = job.as_ref().map_or((None, Vec::new()), |job| after_run(job, run, retry, now));
            let removed = job.filter(|_| after.is_none()).map(|job| job.id);
            let change = AutomationChange { job: after, removed, runs: vec![run.clone()], notices: notices.clone() };
            // Somebody may have changed the job meanwhile.
            if self.store().commit(self.workspace(), change).await? {
                self.tell(&notices);
                return Ok(());
            }
        }
    }

    pub(crate) fn tell(&self, notices: &[JobNotice]) {
        for notice in notices {
            (self.inner.parts.notices)(notice);
        }
    }

    pub(crate) fn now(&self) -> SystemTime {
        self.inner.parts.clock.now()
    }
    pub(crate) fn store(&self) -> &dyn AutomationStore {
        &*self.inner.parts.store
    }
    pub(crate) fn workspace(&self) -> &Path {
        &self.inner.parts.workspace
    }
    pub(crate) fn announcer(&self) -> &dyn Announce {
        &*self.inner.parts.announce
    }
    pub(crate) fn executor(&self) -> &dyn JobExecutor {
        &*self.inner.parts.executor
    }
    /// Notes the time of a step; returns that of the one before.
    pub(crate) fn replace_last_step(&self, now: SystemTime) -> Option<SystemTime> {
        self.inner.last_step.lock().unwrap_or_else(PoisonError::into_inner).replace(now)
    }
    pub(crate) fn webhook(&self) -> &dyn WebhookSender {
        &*self.inner.parts.webhook
    }
    pub(crate) fn is_active(&self, run: &str) -> bool {
        self.active().contains(run)
    }
    // Ids come and go whole, so the set is consistent after a panic elsewhere.
    fn active(&self) -> MutexGuard<'_, HashSet<String>> {
        self.inner.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task that works on a run; dropped at its end, by a panic too.
struct ActiveRun<'a> {
    scheduler: &'a Scheduler,
    id: String,
}

impl Drop for ActiveRun<'_> {
    fn drop(&mut self) {
        self.scheduler.active().remove(&self.id);
        self.scheduler.inner.ended.notify_waiters();
        // A run may have waited for this one.
        self.scheduler.inner.parts.changed.notify_one();
    }
}
