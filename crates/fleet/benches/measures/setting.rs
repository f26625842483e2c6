//! The servers of a bench, its workers, and how it prints.

use std::sync::Arc;
use std::time::Duration;

use haft_contract::BoxFuture;
use haft_fleet::{Dispatcher, FleetQueue, FleetWorker, TakenWork, WorkEnd, WorkRunner, WorkStep, WorkWatcher, WorkerSettings};
use haft_store::{NewWork, PostgresLog, WorkerRecord};
use haft_testkit::{NatsServer, PostgresServer};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) struct Setting {
    pub(crate) nats: NatsServer,
    pub(crate) server: PostgresServer,
    pub(crate) address: String,
}

impl Setting {
    pub(crate) fn new() -> Self {
        let server = PostgresServer::start_with(&["fsync=on", "full_page_writes=on", "autovacuum=on", "shared_buffers=128MB"]);
        Self { nats: NatsServer::start(), address: server.address("postgres"), server }
    }

    /// A connection as a process of its own has it.
    pub(crate) fn open(&self) -> PostgresLog {
        PostgresLog::open(&self.address).unwrap()
    }
}

/// A turn that waits for its model, and does nothing else.
struct WaitingRunner(Duration);

impl WorkRunner for WaitingRunner {
    fn run(self: Arc<Self>, work: TakenWork) -> BoxFuture<'static, WorkEnd> {
        Box::pin(async move {
            tokio::time::sleep(self.0).await;
            WorkEnd::Done(work.body)
        })
    }

    fn ended(&self, why: &str) -> String {
        why.to_owned()
    }
}

struct Silent;

impl WorkWatcher for Silent {
    fn step(&self, _: WorkStep, _: &str) {}
}

/// What a worker of the bench is.
pub(crate) struct WorkerPlan {
    pub(crate) name: String,
    pub(crate) capacity: u64,
    pub(crate) lease: Duration,
    pub(crate) turn: Duration,
}

pub(crate) fn worker(queue: FleetQueue, log: &PostgresLog, plan: WorkerPlan) -> FleetWorker {
    let WorkerPlan { name, capacity, lease, turn } = plan;
    let token = format!("{name}-{}", std::process::id());
    let record = WorkerRecord { name, token, topics: vec!["bench".to_owned()], capacity, ..WorkerRecord::default() };
    let settings = WorkerSettings { record, lease, grace: Duration::from_secs(5) };
    FleetWorker { queue, work: log.work(), runner: Arc::new(WaitingRunner(turn)), watcher: Arc::new(Silent), settings }
}

/// Workers in this process, each with its own connections, until they are stopped.
pub(crate) struct Workers {
    stop: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
}

impl Workers {
    pub(crate) async fn start(setting: &Setting, count: u32, capacity: u32, turn: Duration) -> Self {
        let (stop, mut tasks) = (CancellationToken::new(), Vec::new());
        for number in 0..count {
            let queue = FleetQueue::connect(&setting.nats.address()).await.unwrap();
            let log = tokio::task::block_in_place(|| setting.open());
            let plan = WorkerPlan { name: format!("worker{number}"), capacity: capacity.into(), lease: Duration::from_secs(30), turn };
            let (worker, stop) = (worker(queue, &log, plan), stop.clone());
            tasks.push(tokio::spawn(async move {
                worker.run(&stop).await.unwrap();
                drop(log);
            }));
        }
        Self { stop, tasks }
    }

    pub(crate) async fn end(self) {
        self.stop.cancel();
        for task in self.tasks {
            task.await.unwrap();
        }
    }
}

pub(crate) fn turn(id: String, session: &str) -> NewWork {
    NewWork {
        id,
        topic: "bench".to_owned(),
        body: "x".repeat(500),
        repeatable: true,
        patience: Duration::from_mins(10),
        holds: session.to_owned(),
        ..NewWork::default()
    }
}

pub(crate) async fn give(dispatcher: &Dispatcher, id: String, session: &str) {
    dispatcher.run_detached(turn(id, session)).await.unwrap();
}

/// The middle one of the rounds.
pub(crate) fn middle(mut rounds: Vec<Duration>) -> Duration {
    rounds.sort_unstable();
    rounds[rounds.len() / 2]
}

pub(crate) fn say(what: &str, ours: Duration, reference: (&str, Duration), goal: &str) {
    let ratio = ours.as_secs_f64() / reference.1.as_secs_f64();
    println!("{what:44} {ours:>9.1?}   {} {:>9.1?}   ratio {ratio:.2} (goal {goal})", reference.0, reference.1);
}
