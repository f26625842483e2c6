//! A queue and a database of the test's own, and workers whose effects are counted.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use haft_contract::BoxFuture;
use haft_fleet::{
    Dispatcher, FleetQueue, FleetWorker, TakenWork, WorkEnd, WorkPatience, WorkRunner, WorkStep, WorkWatcher, WorkerSettings,
};
use haft_store::{NewWork, PostgresLog, PostgresWork, WorkRecord, WorkerRecord};
use haft_testkit::{NatsServer, PostgresServer};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Nothing takes longer, even on a machine that is busy.
pub(crate) const LONG: Duration = Duration::from_secs(90);

pub(crate) struct World {
    pub(crate) nats: NatsServer,
    pub(crate) database: String,
    pub(crate) server: PostgresServer,
    pub(crate) folder: TempDir,
    pub(crate) work: PostgresWork,
    pub(crate) queue: FleetQueue,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(NatsServer::start(), PostgresServer::start()).await
    }

    pub(crate) async fn with(nats: NatsServer, server: PostgresServer) -> Self {
        let database = server.schema("postgres");
        let opened = database.clone();
        let log = tokio::task::spawn_blocking(move || PostgresLog::open(&opened).unwrap()).await.unwrap();
        let queue = FleetQueue::connect(&nats.address()).await.unwrap();
        Self { work: log.work(), folder: tempfile::tempdir().unwrap(), queue, nats, database, server }
    }

    pub(crate) fn dispatcher(&self) -> Dispatcher {
        let patience = WorkPatience { look: Duration::from_millis(300), push_again: Duration::from_secs(2) };
        Dispatcher { patience, ..Dispatcher::new(self.queue.clone(), self.work.clone()) }
    }

    /// Gives work away; the outcome comes later.
    pub(crate) fn give(&self, new: NewWork) -> JoinHandle<WorkRecord> {
        let dispatcher = self.dispatcher();
        tokio::spawn(async move { tokio::time::timeout(LONG, dispatcher.run(new)).await.expect("it is settled").unwrap() })
    }

    /// The lines that the effects of work have left.
    pub(crate) fn effects(&self, id: &str) -> usize {
        let text = std::fs::read_to_string(self.folder.path().join("effects")).unwrap_or_default();
        text.lines().filter(|line| *line == id).count()
    }

    /// A worker in this process. It ends when it is dropped.
    pub(crate) fn worker(&self, name: &str, capacity: u64, lease: Duration) -> LocalWorker {
        let (steps, stop) = (Arc::new(StepLog::default()), CancellationToken::new());
        let worker = FleetWorker {
            queue: self.queue.clone(),
            work: self.work.clone(),
            runner: Arc::new(CountingRunner { folder: self.folder.path().to_owned(), name: name.to_owned() }),
            watcher: steps.clone(),
            settings: settings(name, capacity, lease),
        };
        let stopped = stop.clone();
        let task = tokio::spawn(async move { worker.run(&stopped).await.unwrap() });
        LocalWorker { steps, stop, task: Some(task) }
    }
}

pub(crate) fn settings(name: &str, capacity: u64, lease: Duration) -> WorkerSettings {
    let record = WorkerRecord {
        name: name.to_owned(),
        token: format!("{name}-{}", std::process::id()),
        topics: vec!["test".to_owned()],
        capacity,
        ..WorkerRecord::default()
    };
    WorkerSettings { record, lease, grace: Duration::from_secs(2) }
}

pub(crate) fn new_work(id: &str, repeatable: bool) -> NewWork {
    NewWork { id: id.to_owned(), topic: "test".to_owned(), body: id.to_owned(), repeatable, patience: LONG, ..NewWork::default() }
}

pub(crate) struct LocalWorker {
    pub(crate) steps: Arc<StepLog>,
    pub(crate) stop: CancellationToken,
    pub(crate) task: Option<JoinHandle<()>>,
}

impl LocalWorker {
    /// Ends as at SIGTERM.
    pub(crate) async fn drain(mut self) -> Arc<StepLog> {
        self.stop.cancel();
        tokio::time::timeout(LONG, self.task.take().unwrap()).await.unwrap().unwrap();
        Arc::clone(&self.steps)
    }
}

impl Drop for LocalWorker {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The steps that a worker made.
#[derive(Default)]
pub(crate) struct StepLog(Mutex<Vec<(WorkStep, String)>>);

impl StepLog {
    pub(crate) fn count(&self, step: WorkStep) -> usize {
        self.0.lock().unwrap().iter().filter(|(made, _)| *made == step).count()
    }

    pub(crate) async fn wait_for(&self, step: WorkStep, count: usize) {
        let deadline = Instant::now() + LONG;
        while self.count(step) < count {
            assert!(Instant::now() < deadline, "{step:?} is not made {count} times: {:?}", self.0.lock().unwrap());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl WorkWatcher for StepLog {
    fn step(&self, step: WorkStep, id: &str) {
        self.0.lock().unwrap().push((step, id.to_owned()));
    }
}

/// Leaves a line for each run. Work whose id begins with `wait` ends when a file of its name is there.
pub(crate) struct CountingRunner {
    pub(crate) folder: PathBuf,
    pub(crate) name: String,
}

impl WorkRunner for CountingRunner {
    fn run(self: Arc<Self>, TakenWork { body, .. }: TakenWork) -> BoxFuture<'static, WorkEnd> {
        Box::pin(async move {
            add_line(&self.folder.join("effects"), &body);
            while body.starts_with("wait") && !self.folder.join(&body).exists() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            if let Some(lost) = body.strip_prefix("lose ").filter(|lost| !self.folder.join(lost).exists()) {
                add_line(&self.folder.join(lost), "");
                return WorkEnd::Lost("its child ended".to_owned());
            }
            WorkEnd::Done(format!("{body} by {}", self.name))
        })
    }

    fn ended(&self, why: &str) -> String {
        format!("ended: {why}")
    }
}

fn add_line(file: &Path, line: &str) {
    use std::io::Write;
    let mut file = std::fs::File::options().create(true).append(true).open(file).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}
