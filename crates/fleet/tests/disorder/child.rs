//! A worker in a process of its own. Each effect is one line of a file, which the system appends whole.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use haft_contract::BoxFuture;
use haft_fleet::{FleetQueue, FleetWorker, TakenWork, WorkEnd, WorkRunner, WorkStep, WorkWatcher, WorkerSettings};
use haft_store::{PostgresLog, WorkerRecord};
use tokio_util::sync::CancellationToken;

use super::random::Dice;

const CHILD: &str = "HAFT_CHAOS_CHILD";
pub(super) const LEASE: Duration = Duration::from_secs(1);

/// A fault that is built into workers, for the checker to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlantedFault {
    None,
    /// Some effects happen twice.
    Doubled,
    /// Some outcomes are stored although nothing was done.
    Lost,
    /// Some effects are for another tenant.
    Leaked,
}

impl PlantedFault {
    const NAMES: [(Self, &'static str); 4] =
        [(Self::None, "none"), (Self::Doubled, "doubled"), (Self::Lost, "lost"), (Self::Leaked, "leaked")];

    pub(super) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(fault, _)| *fault == self).unwrap().1
    }

    fn parse(name: &str) -> Self {
        Self::NAMES.iter().find(|(_, known)| *known == name).unwrap().0
    }
}

/// Where everything of a run is.
#[derive(Debug, Clone)]
pub(super) struct ChaosPlace {
    pub(super) database: String,
    pub(super) queue: String,
    pub(super) folder: PathBuf,
    pub(super) fault: PlantedFault,
}

impl ChaosPlace {
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn encode(&self) -> String {
        [&self.database, &self.queue, &self.folder.display().to_string(), self.fault.name()].join("|")
    }

    pub(super) fn decode(words: &[&str]) -> Self {
        let [database, queue, folder, fault] = words.try_into().unwrap();
        Self { database: database.to_owned(), queue: queue.to_owned(), folder: folder.into(), fault: PlantedFault::parse(fault) }
    }
}

/// Starts a part of the run in a process of its own, which ends with the test.
pub(super) fn spawn(name: &str, variable: &str, about: &str) -> Child {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--nocapture"]).env(variable, about);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Starts a worker. Some have the same name.
pub(super) fn start(place: &ChaosPlace, name: &str) -> Child {
    spawn("disorder::child::worker_of_the_chaos", CHILD, &format!("{}|{name}", place.encode()))
}

/// Connects when the queue is there again.
pub(super) async fn connect(address: &str) -> FleetQueue {
    for _ in 0..600 {
        match FleetQueue::connect(address).await {
            Ok(queue) => return queue,
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
    panic!("the queue does not come back");
}

/// Adds a line, which the system writes whole.
pub(super) fn append(file: &Path, line: &str) {
    let mut file = std::fs::File::options().append(true).create(true).open(file).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

struct Silent;

impl WorkWatcher for Silent {
    fn step(&self, _: WorkStep, _: &str) {}
}

struct EffectRunner {
    effects: PathBuf,
    fault: PlantedFault,
}

impl WorkRunner for EffectRunner {
    fn run(self: Arc<Self>, TakenWork { id, body, .. }: TakenWork) -> BoxFuture<'static, WorkEnd> {
        Box::pin(async move {
            // The times depend on the work alone.
            let mut dice = Dice::new(id.bytes().fold(7, |sum, byte| sum * 31 + u64::from(byte)));
            tokio::time::sleep(Duration::from_millis(dice.below(40))).await;
            let is_hit = dice.below(4) == 0;
            let tenant = if self.fault == PlantedFault::Leaked && is_hit { "someone else" } else { &body };
            let count = match self.fault {
                PlantedFault::Doubled if is_hit => 2,
                PlantedFault::Lost if is_hit => 0,
                _ => 1,
            };
            for _ in 0..count {
                append(&self.effects, &format!("{id}|{tenant}"));
            }
            tokio::time::sleep(Duration::from_millis(dice.below(40))).await;
            WorkEnd::Done(format!("{id} for {body}"))
        })
    }

    fn ended(&self, why: &str) -> String {
        why.to_owned()
    }
}

/// Nothing, unless it is a child.
#[test]
fn worker_of_the_chaos() {
    let Ok(about) = std::env::var(CHILD) else { return };
    let words: Vec<&str> = about.split('|').collect();
    let (place, name) = (ChaosPlace::decode(&words[..4]), words[4]);
    let work = PostgresLog::open(&place.database).unwrap().work();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let record = WorkerRecord {
            name: name.to_owned(),
            token: format!("{name}-{}", std::process::id()),
            topics: vec!["chaos".to_owned()],
            capacity: 4,
            ..WorkerRecord::default()
        };
        let worker = FleetWorker {
            queue: connect(&place.queue).await,
            work,
            runner: Arc::new(EffectRunner { effects: place.file("effects"), fault: place.fault }),
            watcher: Arc::new(Silent),
            settings: WorkerSettings { record, lease: LEASE, grace: Duration::from_millis(100) },
        };
        // A worker does not start without its queue: then the run starts another one.
        worker.run(&CancellationToken::new()).await.ok();
    });
}
