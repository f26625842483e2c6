//! A worker in a process of its own, which can be killed. It stops at the step that the id of its work names.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use haft_fleet::{FleetQueue, FleetWorker, WorkStep, WorkWatcher};
use haft_store::PostgresLog;
use tokio_util::sync::CancellationToken;

use super::world::{CountingRunner, World, settings};

const CHILD: &str = "HAFT_FLEET_TEST_CHILD";

/// A worker that can be killed.
pub(crate) struct ChildWorker {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl ChildWorker {
    pub(crate) fn start(world: &World, capacity: u64, lease: Duration) -> Self {
        let lease = lease.as_millis().to_string();
        let about =
            [world.database.as_str(), &world.nats.address(), &capacity.to_string(), &lease, &world.folder.path().display().to_string()]
                .join("|");
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["suite::child::worker_of_another_process", "--exact", "--nocapture"]).env(CHILD, about);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
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
    let [database, queue, capacity, lease, folder] = about.split('|').collect::<Vec<_>>().try_into().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(24).enable_all().build().unwrap();
    let work = PostgresLog::open(database).unwrap().work();
    runtime.block_on(async {
        let lease = Duration::from_millis(lease.parse().unwrap());
        let worker = FleetWorker {
            queue: FleetQueue::connect(queue).await.unwrap(),
            work,
            runner: Arc::new(CountingRunner { folder: folder.into(), name: "child".into() }),
            watcher: Arc::new(StoppingWatcher),
            settings: settings("child", capacity.parse().unwrap(), lease),
        };
        worker.run(&CancellationToken::new()).await.unwrap();
    });
}
