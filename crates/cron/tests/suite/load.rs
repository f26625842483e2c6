//! Many jobs: how late they begin when a hundred are due at once, and what they cost while nothing is due.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use haft_contract::BoxFuture;
use haft_contract::ports::{
    AlarmClock, Announce, AnnounceTarget, Announcement, Clock, Delivered, JobDraft, JobRun, JobSchedule, LocalOffset, ScheduledJob,
};
use haft_cron::{JobExecutor, RunOutcome, Scheduler, SchedulerParts, WebhookSender};
use haft_store::{AutomationChange, AutomationStore, SqliteCallLog};
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::world::{WORKSPACE, World, cron};

/// The clock of the machine; the one of `haft serve` also follows a clock that is set.
struct MachineClock;

impl Clock for MachineClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
    fn time_zone(&self) -> Option<String> {
        Some("UTC".into())
    }
    fn offset(&self, _: SystemTime) -> Option<LocalOffset> {
        None
    }
}

impl AlarmClock for MachineClock {
    fn alarm(&self, at: Option<SystemTime>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Some(at) = at else { return std::future::pending().await };
            tokio::time::sleep(at.duration_since(SystemTime::now()).unwrap_or_default()).await;
        })
    }
}

#[derive(Default)]
struct Beginnings(Mutex<Vec<Duration>>);

impl JobExecutor for Beginnings {
    fn session(&self, _: &ScheduledJob, _: &JobRun) -> Option<String> {
        None
    }
    fn execute<'a>(&'a self, _: &'a ScheduledJob, run: &'a JobRun) -> BoxFuture<'a, RunOutcome> {
        let late = SystemTime::now().duration_since(run.due).unwrap_or_default();
        self.0.lock().unwrap().push(late);
        Box::pin(async { RunOutcome::Ok { answer: String::new(), is_tainted: false } })
    }
}

struct Nobody;

impl Announce for Nobody {
    fn announce<'a>(&'a self, _: &'a AnnounceTarget, _: &'a Announcement) -> BoxFuture<'a, Delivered> {
        Box::pin(async { Delivered::Yes("nobody".into()) })
    }
}

impl WebhookSender for Nobody {
    fn post<'a>(&'a self, _: &'a str, _: &'a str, _: &'a Value) -> BoxFuture<'a, Delivered> {
        Box::pin(async { Delivered::Yes("nobody".into()) })
    }
}

/// Ten thousand jobs, of which a hundred are due together.
async fn add_jobs(world: &World, due: SystemTime) -> SqliteCallLog {
    let template = {
        let process = world.start();
        let id = process.add(JobDraft { delivery: Some(haft_contract::ports::DeliveryMode::None), ..cron("job", "0 9 1 1 *", None) }).await;
        process.store.job(&id).await.unwrap().unwrap()
    };
    let log = SqliteCallLog::open(world.folder.path()).unwrap().log;
    let store = log.automation();
    let started = Instant::now();
    let jobs = (0..10_000).map(|number: u64| {
        let is_due = number < 100;
        let at = if is_due { due } else { due + Duration::from_secs(3600 + number) };
        let schedule = JobSchedule::At { at, zone: "UTC".into() };
        ScheduledJob { id: format!("j-{number}"), next_due: Some(at), schedule, version: 0, ..template.clone() }
    });
    let changes = jobs.map(|job| AutomationChange { job: Some(job), ..AutomationChange::default() });
    let path = std::path::Path::new(WORKSPACE);
    for added in futures_util::future::join_all(changes.map(|change| store.commit(path, change))).await {
        assert!(added.unwrap());
    }
    eprintln_figure(&format!("10,000 jobs added in {:?}", started.elapsed()));
    log
}

#[allow(clippy::print_stderr, reason = "a figure for the one who runs it")]
fn eprintln_figure(text: &str) {
    eprintln!("cron: {text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundred_of_ten_thousand_jobs_begin_on_time_and_the_rest_cost_no_wake_ups() {
    let world = World::new("2026-11-17T08:00:00Z");
    let log = add_jobs(&world, SystemTime::now() + Duration::from_mins(10)).await;
    // Adding takes a while on a busy machine, so the time is set when all are there.
    let due = SystemTime::now() + Duration::from_secs(2);
    let store = log.automation();
    let path = std::path::Path::new(WORKSPACE);
    for number in 0..100 {
        let job = store.job(&format!("j-{number}")).await.unwrap().unwrap();
        let schedule = JobSchedule::At { at: due, zone: "UTC".into() };
        let job = ScheduledJob { next_due: Some(due), schedule, ..job };
        assert!(store.commit(path, AutomationChange { job: Some(job), ..AutomationChange::default() }).await.unwrap());
    }
    let beginnings = Arc::new(Beginnings::default());
    let scheduler = Scheduler::new(SchedulerParts {
        store: Arc::new(log.automation()),
        clock: Arc::new(MachineClock),
        workspace: WORKSPACE.into(),
        executor: Arc::clone(&beginnings) as _,
        announce: Arc::new(Nobody),
        webhook: Arc::new(Nobody),
        changed: Arc::new(Notify::new()),
        notices: Arc::new(|_| {}),
    });
    let stop = CancellationToken::new();
    let working = tokio::spawn({
        let (scheduler, stop) = (scheduler.clone(), stop.clone());
        async move { scheduler.run(&stop).await }
    });
    tokio::time::sleep(due.duration_since(SystemTime::now()).unwrap_or_default().saturating_sub(Duration::from_millis(200))).await;
    let while_waiting = scheduler.wakeups();
    while beginnings.0.lock().unwrap().len() < 100 || scheduler.running() > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let idle_from = scheduler.wakeups();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let while_idle = scheduler.wakeups() - idle_from;
    let mut late = beginnings.0.lock().unwrap().clone();
    late.sort();
    eprintln_figure(&format!("100 due at once: median {:?}, latest {:?} late; wake-ups in 1 s idle: {while_idle}", late[50], late[99]));
    assert_eq!((while_waiting, while_idle), (0, 0), "no wake-ups while nothing is due");
    assert_eq!(late.len(), 100);
    // The budget is 100 ms on a quiet machine; a busy one must not fail the test.
    assert!(late[99] < Duration::from_secs(5), "{:?}", late[99]);
    stop.cancel();
    working.await.unwrap();
}
