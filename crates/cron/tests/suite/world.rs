//! A data folder, a clock and the outside world: they outlive the processes that a test starts and kills.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use haft_contract::BoxFuture;
use haft_contract::ports::{
    AlarmClock, Announce, AnnounceTarget, Announcement, Automation, Clock, Delivered, JobDraft, JobNotice, JobRun, LocalOffset,
    ScheduleText, ScheduledJob,
};
use haft_cron::{CronService, JobExecutor, RunOutcome, Scheduler, SchedulerParts, ServiceParts, WebhookSender};
use haft_store::{AutomationChange, AutomationStore, RunOwner, SessionStore, SqliteCallLog, StoreError};
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::Notify;

pub(crate) const WORKSPACE: &str = "/w";

pub(crate) fn at(text: &str) -> SystemTime {
    text.parse::<Timestamp>().unwrap().into()
}

/// A time in UTC.
pub(crate) fn utc(at: SystemTime) -> String {
    Timestamp::try_from(at).unwrap().strftime("%m-%d %H:%M").to_string()
}

#[derive(Clone)]
pub(crate) struct TestClock(Arc<Mutex<SystemTime>>, Arc<Notify>);

impl TestClock {
    pub(crate) fn set(&self, now: SystemTime) {
        *self.0.lock().unwrap() = now;
        self.1.notify_waiters();
    }
}

impl Clock for TestClock {
    fn now(&self) -> SystemTime {
        *self.0.lock().unwrap()
    }
    fn time_zone(&self) -> Option<String> {
        Some("Europe/Berlin".into())
    }
    fn offset(&self, _: SystemTime) -> Option<LocalOffset> {
        None
    }
}

impl AlarmClock for TestClock {
    fn alarm(&self, at: Option<SystemTime>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            loop {
                let set = self.1.notified();
                if at.is_some_and(|at| at <= self.now()) {
                    return;
                }
                set.await;
            }
        })
    }
}

/// What jobs did and what was sent, whatever became of the process that did it.
#[derive(Default)]
pub(crate) struct Outside {
    /// Runs that were done, by job and due time: how often, and how often a process worked on them.
    pub(crate) done: BTreeMap<(String, String), (u32, u32)>,
    /// What becomes of the next runs of a job; `Ok` if nothing is here.
    pub(crate) outcomes: HashMap<String, VecDeque<RunOutcome>>,
    /// What becomes of the next deliveries of a job.
    pub(crate) deliveries: HashMap<String, VecDeque<Delivered>>,
    /// Deliveries that were sent, by run.
    pub(crate) sent: BTreeMap<String, u32>,
    pub(crate) notices: Vec<String>,
    /// Runs whose conversation has an answer.
    answered: HashMap<String, RunOutcome>,
}

impl Outside {
    pub(crate) fn forget_answers(&mut self) {
        self.answered.clear();
    }
}

pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) clock: TestClock,
    pub(crate) outside: Arc<Mutex<Outside>>,
    /// The runs of these jobs hang until their process is killed, so many times.
    pub(crate) hang: Arc<Mutex<HashMap<String, usize>>>,
}

impl World {
    pub(crate) fn new(now: &str) -> Self {
        let clock = TestClock(Arc::new(Mutex::new(at(now))), Arc::default());
        Self { folder: tempfile::tempdir().unwrap(), clock, outside: Arc::default(), hang: Arc::default() }
    }

    /// Starts a process on the folder.
    pub(crate) fn start(&self) -> Process {
        self.start_with(usize::MAX, CrashPoint::Before)
    }

    /// A process that is dead from its n-th change of the store on.
    pub(crate) fn start_with(&self, steps: usize, point: CrashPoint) -> Process {
        let log = SqliteCallLog::open(self.folder.path()).unwrap().log;
        let store = Arc::new(MortalStore { store: log.automation(), left: AtomicUsize::new(steps), point, died: Notify::new() });
        let changed = Arc::new(Notify::new());
        let outside = Arc::new(OutsideWorld { outside: Arc::clone(&self.outside), hang: Arc::clone(&self.hang) });
        let told = Arc::clone(&self.outside);
        let scheduler = Scheduler::new(SchedulerParts {
            store: Arc::clone(&store) as _,
            clock: Arc::new(self.clock.clone()),
            workspace: WORKSPACE.into(),
            executor: Arc::clone(&outside) as _,
            announce: Arc::clone(&outside) as _,
            webhook: outside,
            changed: Arc::clone(&changed),
            notices: Arc::new(move |notice: &JobNotice| told.lock().unwrap().notices.push(notice.text.clone())),
        });
        let sessions: Arc<dyn SessionStore> = Arc::new(log.sessions());
        let service = CronService::new(ServiceParts {
            store: Arc::clone(&store) as _,
            sessions: Arc::clone(&sessions),
            clock: Arc::new(self.clock.clone()),
            workspace: WORKSPACE.into(),
            changed: Arc::new(move || changed.notify_one()),
            is_served: Arc::new(|| true),
        });
        Process { scheduler, service, store, sessions, clock: self.clock.clone() }
    }

    /// Lets a process of its own work in its own runtime, and kills it: its tasks end where they are.
    #[expect(clippy::unused_self, reason = "a life is one of its world")]
    pub(crate) fn life<F: Future>(&self, process: Process, live: impl FnOnce(Arc<Process>) -> F) -> F::Output {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let output = runtime.block_on(live(Arc::new(process)));
        drop(runtime);
        output
    }

    pub(crate) fn outside(&self) -> std::sync::MutexGuard<'_, Outside> {
        self.outside.lock().unwrap()
    }
}

pub(crate) struct Process {
    pub(crate) scheduler: Scheduler,
    pub(crate) service: CronService,
    pub(crate) store: Arc<MortalStore>,
    pub(crate) sessions: Arc<dyn SessionStore>,
    clock: TestClock,
}

impl Process {
    pub(crate) async fn add(&self, draft: JobDraft) -> String {
        self.service.add(None, draft).await.unwrap().job.id
    }

    /// Runs everything that is due until a time, each at its time. The process may be killed by a run that hangs.
    pub(crate) async fn work_until(&self, end: SystemTime) {
        loop {
            let next = self.settle().await;
            match next.filter(|next| *next <= end) {
                Some(next) => self.clock.set(next.max(self.clock.now())),
                None => break,
            }
        }
        self.clock.set(end.max(self.clock.now()));
    }

    /// Works until nothing is left to do now.
    pub(crate) async fn settle(&self) -> Option<SystemTime> {
        loop {
            self.scheduler.step().await.unwrap();
            self.scheduler.drained().await;
            let open = self.store.open_runs(Path::new(WORKSPACE)).await.unwrap();
            let is_settled = open.iter().all(|(run, _)| run.delivery_due.is_some_and(|due| due > self.clock.now()));
            let next = self.store.next_due(Path::new(WORKSPACE)).await.unwrap();
            if is_settled && next.is_none_or(|next| next > self.clock.now()) {
                return next;
            }
        }
    }

    pub(crate) async fn runs(&self) -> Vec<JobRun> {
        let mut runs = self.store.runs(Path::new(WORKSPACE), None, 100_000).await.unwrap();
        runs.reverse();
        runs
    }

    pub(crate) async fn notices(&self) -> Vec<String> {
        let mut notices = self.store.notices(Path::new(WORKSPACE), 1000).await.unwrap();
        notices.reverse();
        notices.into_iter().map(|notice| format!("{} {}", utc(notice.at), notice.text)).collect()
    }
}

/// Whether a process dies before or after its last change is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CrashPoint {
    Before,
    After,
}

/// A store whose process dies at one of its changes: from then on nothing is answered.
pub(crate) struct MortalStore {
    store: haft_store::SqliteAutomation,
    left: AtomicUsize,
    point: CrashPoint,
    died: Notify,
}

impl MortalStore {
    /// Resolves when the process is dead.
    pub(crate) async fn died(&self) {
        self.died.notified().await;
    }

    async fn change<T>(&self, change: BoxFuture<'_, Result<T, StoreError>>) -> Result<T, StoreError> {
        let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| Some(left.saturating_sub(1))).unwrap();
        if left <= 1 {
            if left == 1 && self.point == CrashPoint::After {
                change.await.ok();
            }
            self.died.notify_one();
            return std::future::pending().await;
        }
        change.await
    }
}

impl AutomationStore for MortalStore {
    fn commit<'a>(&'a self, workspace: &'a Path, change: AutomationChange) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(self.change(self.store.commit(workspace, change)))
    }
    fn take_run<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(self.change(self.store.take_run(run)))
    }
    fn job<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ScheduledJob>, StoreError>> {
        self.store.job(id)
    }
    fn jobs<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<Vec<ScheduledJob>, StoreError>> {
        self.store.jobs(workspace)
    }
    fn due_jobs<'a>(&'a self, workspace: &'a Path, now: SystemTime, limit: usize) -> BoxFuture<'a, Result<Vec<ScheduledJob>, StoreError>> {
        self.store.due_jobs(workspace, now, limit)
    }
    fn next_due<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<Option<SystemTime>, StoreError>> {
        self.store.next_due(workspace)
    }
    fn runs<'a>(&'a self, workspace: &'a Path, job: Option<&'a str>, limit: usize) -> BoxFuture<'a, Result<Vec<JobRun>, StoreError>> {
        self.store.runs(workspace, job, limit)
    }
    fn open_runs<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<Vec<(JobRun, RunOwner)>, StoreError>> {
        self.store.open_runs(workspace)
    }
    fn notices<'a>(&'a self, workspace: &'a Path, limit: usize) -> BoxFuture<'a, Result<Vec<JobNotice>, StoreError>> {
        self.store.notices(workspace, limit)
    }
}

/// Conversations that remember what was done, and recipients.
struct OutsideWorld {
    outside: Arc<Mutex<Outside>>,
    hang: Arc<Mutex<HashMap<String, usize>>>,
}

impl JobExecutor for OutsideWorld {
    fn session(&self, _: &ScheduledJob, run: &JobRun) -> Option<String> {
        Some(run.id.clone())
    }

    fn execute<'a>(&'a self, job: &'a ScheduledJob, run: &'a JobRun) -> BoxFuture<'a, RunOutcome> {
        Box::pin(async move {
            let outcome = {
                let mut outside = self.outside.lock().unwrap();
                outside.done.entry((job.name.clone(), utc(run.due))).or_default().1 += 1;
                if let Some(outcome) = outside.answered.get(&run.id) {
                    return outcome.clone();
                }
                let ok = RunOutcome::Ok { answer: format!("{} is done", job.name), is_tainted: false };
                let outcome = outside.outcomes.get_mut(&job.name).and_then(VecDeque::pop_front).unwrap_or(ok);
                outside.done.entry((job.name.clone(), utc(run.due))).or_default().0 += 1;
                outside.answered.insert(run.id.clone(), outcome.clone());
                outcome
            };
            let hangs = self.hang.lock().unwrap().get_mut(&job.name).is_some_and(|left| {
                let hangs = *left > 0;
                *left = left.saturating_sub(1);
                hangs
            });
            if hangs {
                std::future::pending::<()>().await;
            }
            outcome
        })
    }
}

impl OutsideWorld {
    fn deliver(&self, name: &str, run: &str) -> Delivered {
        let mut outside = self.outside.lock().unwrap();
        let outcome = outside.deliveries.get_mut(name).and_then(VecDeque::pop_front).unwrap_or(Delivered::Yes("the user".into()));
        if !matches!(outcome, Delivered::No { .. }) {
            *outside.sent.entry(run.to_owned()).or_default() += 1;
        }
        outcome
    }
}

impl Announce for OutsideWorld {
    fn announce<'a>(&'a self, _: &'a AnnounceTarget, announcement: &'a Announcement) -> BoxFuture<'a, Delivered> {
        Box::pin(async { self.deliver(&announcement.title, &announcement.key) })
    }
}

impl WebhookSender for OutsideWorld {
    fn post<'a>(&'a self, _: &'a str, key: &'a str, body: &'a Value) -> BoxFuture<'a, Delivered> {
        Box::pin(async move { self.deliver(body["name"].as_str().unwrap(), key) })
    }
}

/// A job by a cron expression.
pub(crate) fn cron(name: &str, expression: &str, zone: Option<&str>) -> JobDraft {
    let schedule = ScheduleText { cron: Some(expression.into()), zone: zone.map(str::to_owned), ..ScheduleText::default() };
    JobDraft { name: Some(name.into()), schedule, task: Some("do it".into()), ..JobDraft::default() }
}

/// A job with an interval.
pub(crate) fn every(name: &str, interval: &str) -> JobDraft {
    let schedule = ScheduleText { every: Some(interval.into()), ..ScheduleText::default() };
    JobDraft { schedule, ..cron(name, "", None) }
}

/// A job that runs once.
pub(crate) fn once(name: &str, moment: &str) -> JobDraft {
    let schedule = ScheduleText { at: Some(moment.into()), ..ScheduleText::default() };
    JobDraft { schedule, ..cron(name, "", None) }
}

pub(crate) fn failed(error: &str, is_transient: bool) -> RunOutcome {
    RunOutcome::Failed { error: error.into(), is_transient }
}

pub(crate) const MINUTE: Duration = Duration::from_mins(1);
