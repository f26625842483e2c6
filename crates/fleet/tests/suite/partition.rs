//! A worker whose network to the database disappears, while that to the queue stays.
//!
//! The test runs itself again in a network namespace of its own, and the worker in another one: two pairs of virtual interfaces lead from
//! one to the other, for the database and for the queue. All of it disappears with the processes. It needs the right to make namespaces
//! and a server of PostgreSQL of another user, so it runs as root alone: an ordinary user has one id in a namespace and the server needs
//! two.

use std::process::{Command, Output};
use std::time::Duration;

use haft_fleet::WorkStep;
use haft_store::WorkState;
use haft_testkit::{NatsServer, PostgresServer};

use super::child::{ChildPlan, ChildWorker};
use super::world::{LONG, World, new_work};

const INSIDE: &str = "HAFT_FLEET_TEST_NAMESPACE";
const NAME: &str = "suite::partition::worker_cut_off_from_the_database_is_fenced_off_and_another_continues";
const LEASE: Duration = Duration::from_secs(2);
/// The interface, our end of it, and that of the worker.
const LINKS: [(&str, &str, &str); 2] = [("database", "10.77.1.1", "10.77.1.2"), ("queue", "10.77.2.1", "10.77.2.2")];

fn shell(script: &str) -> Output {
    let output = Command::new("sh").args(["-ec", script]).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

#[test]
fn worker_cut_off_from_the_database_is_fenced_off_and_another_continues() {
    if std::env::var_os(INSIDE).is_some() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        return runtime.block_on(cut_off());
    }
    let may = Command::new("unshare").args(["--net", "true"]).output().unwrap().status.success();
    if !may {
        return println!("not run: only root may make the network namespaces of this test");
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "unshare", "--net"]).arg(std::env::current_exe().unwrap());
    let output = command.args([NAME, "--exact", "--nocapture"]).env(INSIDE, "1").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// The servers on our ends of the links.
async fn start_servers() -> World {
    shell("ip link set lo up");
    for (link, ours, _) in LINKS {
        shell(&format!("ip link add {link} type veth peer name {link}-worker; ip address add {ours}/30 dev {link}; ip link set {link} up"));
    }
    // In this namespace there is nothing but loopback and the two links.
    let nats = NatsServer::start_with(["-a", "0.0.0.0"].map(str::to_owned).to_vec());
    let server = PostgresServer::start_with(&["listen_addresses=10.77.1.1"]);
    let rules = server.path().join("data/pg_hba.conf");
    std::fs::write(rules, "local all all trust\nhost all all 10.77.1.0/30 trust\n").unwrap();
    server.sql("postgres", "SELECT pg_reload_conf()");
    World::with(nats, server).await
}

/// A worker at the other ends.
fn start_worker(world: &World) -> ChildWorker {
    let (_, schema) = world.database.split_once('?').unwrap();
    let plan = ChildPlan {
        database: format!("postgres://postgres@10.77.1.1:5432/postgres?{schema}"),
        queue: world.nats.address().replace("127.0.0.1", "10.77.2.1"),
        capacity: 3,
        launcher: ["unshare", "--net", "sh", "-c", "echo made; read go; exec \"$@\"", "sh"].map(str::to_owned).to_vec(),
        ..ChildPlan::new(world, "first", LEASE)
    };
    let mut child = plan.start();
    child.line("made");
    for (link, _, theirs) in LINKS {
        let inside = format!("ip address add {theirs}/30 dev {link}-worker; ip link set {link}-worker up");
        shell(&format!("ip link set {link}-worker netns {0}; nsenter --target {0} --net sh -ec '{inside}'", child.id()));
    }
    child.release();
    child
}

async fn cut_off() {
    let world = start_servers().await;
    let mut first = tokio::task::block_in_place(|| start_worker(&world));
    let given = [("wait-again", true), ("wait-once", false), ("wait-long", true)].map(|(id, again)| world.give(new_work(id, again)));
    tokio::task::block_in_place(|| first.wait_for("Started", 3));
    shell("ip link set database down");
    // The work ends, and its worker cannot say so. The third does not end: its worker has to end it itself.
    for id in ["wait-again", "wait-once"] {
        std::fs::write(world.folder.path().join(id), "").unwrap();
    }
    let other = world.worker("other", 3, LEASE);
    other.steps.wait_for(WorkStep::Started, 2).await;
    tokio::task::block_in_place(|| first.wait_for("Fenced", 3));
    std::fs::write(world.folder.path().join("wait-long"), "").unwrap();
    let mut records = Vec::new();
    for given in given {
        records.push(given.await.unwrap());
    }
    let ended = |number: usize| (records[number].state, records[number].outcome.as_deref(), records[number].attempts);
    assert_eq!(ended(0), (WorkState::Done, Some("wait-again by other"), 2));
    assert_eq!(ended(1), (WorkState::Unknown, None, 1), "nobody knows, and it is not done again");
    assert_eq!(ended(2), (WorkState::Done, Some("wait-long by other"), 2));
    assert_eq!(["wait-again", "wait-once", "wait-long"].map(|id| world.effects(id)), [2, 1, 2]);
    other.drain().await;

    // The network is back, and what the first one wrote arrives: nothing changes, and it works on.
    shell("ip link set database up");
    let later = tokio::time::timeout(LONG, world.give(new_work("later", false))).await.unwrap().unwrap();
    assert_eq!(later.outcome.as_deref(), Some("later by first"));
    for record in records {
        assert_eq!(world.work.look(&record.id).await.unwrap().unwrap(), record);
    }
}
