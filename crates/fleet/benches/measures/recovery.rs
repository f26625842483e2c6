//! How long work rests when its worker is killed: a process of this bench, which it kills.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use haft_fleet::{Dispatcher, FleetQueue};
use haft_store::{PostgresLog, PostgresWork, WorkState};
use tokio_util::sync::CancellationToken;

use super::setting::{Setting, WorkerPlan, middle, say, turn, worker};

const CHILD: &str = "HAFT_FLEET_BENCH_CHILD";
const LEASE: Duration = Duration::from_secs(6);
const ROUNDS: usize = 5;

pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

fn plan(name: &str, turn: Duration) -> WorkerPlan {
    WorkerPlan { name: name.to_owned(), capacity: 1, lease: LEASE, turn }
}

pub(crate) fn work_until_killed() {
    let about = std::env::var(CHILD).unwrap();
    let (database, queue) = about.split_once('|').unwrap();
    let log = PostgresLog::open(database).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let queue = FleetQueue::connect(queue).await.unwrap();
        // Its turns do not end.
        worker(queue, &log, plan("killed", Duration::from_mins(10))).run(&CancellationToken::new()).await.unwrap();
    });
}

/// Waits until this worker runs it, or it is done.
async fn wait_for(work: &PostgresWork, id: &str, worker: &str) {
    let until = Instant::now() + LEASE * 5;
    while Instant::now() < until {
        let record = work.look(id).await.unwrap();
        if record
            .is_some_and(|found| found.state.is_final() || (found.state == WorkState::Started && found.worker.as_deref() == Some(worker)))
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) async fn kill_workers(setting: &Setting, queue: &FleetQueue, work: &PostgresWork) {
    let mut rests = Vec::new();
    let other_log = tokio::task::block_in_place(|| setting.open());
    for round in 0..ROUNDS {
        let id = format!("recovery-{round}");
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(std::env::current_exe().unwrap());
        command.env(CHILD, format!("{}|{}", setting.address, setting.nats.address()));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let dispatcher = Dispatcher::new(queue.clone(), work.clone());
        let given = tokio::spawn({
            let new = turn(id.clone(), "");
            async move { dispatcher.run_detached(new).await.unwrap() }
        });
        wait_for(work, &id, "killed").await;
        let stop = CancellationToken::new();
        let other = tokio::spawn({
            let (worker, stop) = (worker(queue.clone(), &other_log, plan("other", Duration::ZERO)), stop.clone());
            async move { worker.run(&stop).await.unwrap() }
        });
        // At another moment of its lease each time.
        tokio::time::sleep(LEASE / 5 * u32::try_from(round).unwrap()).await;
        child.kill().unwrap();
        child.wait().unwrap();
        let killed = Instant::now();
        given.await.unwrap();
        rests.push(killed.elapsed());
        stop.cancel();
        other.await.unwrap();
    }
    let longest = rests.iter().max().copied().unwrap_or_default();
    say("recovery after a killed worker, middle", middle(rests), ("lease", LEASE), "1");
    say("recovery after a killed worker, longest", longest, ("lease", LEASE), "1");
}
