//! A worker in a process of its own, which can be killed. It stops at the step that the id of its work names.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use haft_fleet::{FleetQueue, FleetWorker, WorkStep, WorkWatcher};
use haft_store::PostgresLog;
use tokio_util::sync::CancellationToken;

use super::world::{CountingRunner, World, settings};

const CHILD: &str = "HAFT_FLEET_TEST_CHILD";

/// What a worker of another process is, and how it is started.
pub(crate) struct ChildPlan {
    pub(crate) database: String,
    pub(crate) queue: String,
    pub(crate) folder: PathBuf,
    pub(crate) name: String,
    pub(crate) capacity: u64,
    pub(crate) lease: Duration,
    /// Words before its own command.
    pub(crate) launcher: Vec<String>,
    pub(crate) variables: Vec<(String, String)>,
}

impl ChildPlan {
    pub(crate) fn new(world: &World, name: &str, lease: Duration) -> Self {
        Self {
            database: world.database.clone(),
            queue: world.nats.address(),
            folder: world.folder.path().to_owned(),
            name: name.to_owned(),
            capacity: 1,
            lease,
            launcher: Vec::new(),
            variables: Vec::new(),
        }
    }

    pub(crate) fn start(&self) -> ChildWorker {
        let [capacity, lease, folder] = [self.capacity.to_string(), self.lease.as_millis().to_string(), self.folder.display().to_string()];
        let about = [&self.database, &self.queue, &capacity, &lease, &folder, &self.name].map(String::as_str);
        // The system ends it with the test, also when that is killed.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).args(&self.launcher).arg(std::env::current_exe().unwrap());
        command.args(["suite::child::worker_of_another_process", "--exact", "--nocapture"]);
        command.env(CHILD, about.join("|")).envs(self.variables.iter().cloned());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        ChildWorker { child, lines }
    }
}

/// A worker that can be killed.
pub(crate) struct ChildWorker {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl ChildWorker {
    pub(crate) fn start(world: &World, capacity: u64, lease: Duration) -> Self {
        ChildPlan { capacity, ..ChildPlan::new(world, "child", lease) }.start()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Tells its launcher to continue.
    pub(crate) fn release(&mut self) {
        writeln!(self.child.stdin.as_mut().unwrap()).unwrap();
    }

    /// The rest of the next line that begins with this.
    pub(crate) fn line(&mut self, start: &str) -> String {
        loop {
            let line = self.lines.next().expect("the worker lives").unwrap();
            if let Some(rest) = line.strip_prefix(start) {
                return rest.to_owned();
            }
        }
    }

    /// Waits until it has made so many steps of those that begin with this.
    pub(crate) fn wait_for(&mut self, start: &str, count: usize) {
        let mut seen = 0;
        while seen < count {
            let line = self.lines.next().expect("the worker lives").unwrap();
            seen += usize::from(line.contains(start));
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
    }
}

impl Drop for ChildWorker {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Says each step, and stops for good at the one that the id of the work begins with.
struct StoppingWatcher;

impl WorkWatcher for StoppingWatcher {
    fn step(&self, step: WorkStep, id: &str) {
        let name = format!("{step:?}");
        let stops = id.split('-').next() == Some(&name);
        let mut out = std::io::stdout().lock();
        writeln!(out, "step {name} {id}{}", if stops { " stopped" } else { "" }).unwrap();
        out.flush().unwrap();
        drop(out);
        if stops {
            loop {
                std::thread::park();
            }
        }
    }
}

/// Nothing, unless it is a child.
#[test]
fn worker_of_another_process() {
    let Ok(about) = std::env::var(CHILD) else { return };
    let [database, queue, capacity, lease, folder, name] = about.split('|').collect::<Vec<_>>().try_into().unwrap();
    println!("\nclock {}", SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(24).enable_all().build().unwrap();
    let work = PostgresLog::open(database).unwrap().work();
    runtime.block_on(async {
        let lease = Duration::from_millis(lease.parse().unwrap());
        let worker = FleetWorker {
            queue: FleetQueue::connect(queue).await.unwrap(),
            work,
            runner: Arc::new(CountingRunner { folder: folder.into(), name: name.into() }),
            watcher: Arc::new(StoppingWatcher),
            settings: settings(name, capacity.parse().unwrap(), lease),
        };
        worker.run(&CancellationToken::new()).await.unwrap();
    });
}
