//! What Prometheus reads.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use haft_fleet::{CountingWatcher, FleetMetrics, FleetWorker, WorkStep};
use haft_store::WorkState;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use super::world::{CountingRunner, LONG, StepLog, World, new_work, settings};

async fn get(address: SocketAddr, path: &str) -> String {
    let mut connection = tokio::net::TcpStream::connect(address).await.unwrap();
    connection.write_all(format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(LONG, connection.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_say_what_waits_runs_and_has_ended() {
    let world = World::new().await;
    let (metrics, stop) = (FleetMetrics::new(world.work.clone()), CancellationToken::new());
    let address = metrics.clone().serve("127.0.0.1:0".parse().unwrap(), stop.clone()).await.unwrap();
    let steps = Arc::new(StepLog::default());
    let worker = FleetWorker {
        queue: world.queue.clone(),
        work: world.work.clone(),
        runner: Arc::new(CountingRunner { folder: world.folder.path().to_owned(), name: "worker".to_owned() }),
        watcher: Arc::new(CountingWatcher { metrics, inner: Arc::clone(&steps) as _ }),
        settings: settings("worker", 1, Duration::from_secs(3)),
    };
    let stopped = stop.clone();
    let running = tokio::spawn(async move { worker.run(&stopped).await.unwrap() });
    let first = world.give(new_work("wait-first", false));
    steps.wait_for(WorkStep::Started, 1).await;
    let second = world.give(new_work("second", false));
    let waits = async {
        loop {
            let told = get(address, "/metrics").await;
            if told.contains("haft_work_waiting{topic=\"test\",tenant=\"\"} 1\n") {
                return told;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let told = tokio::time::timeout(LONG, waits).await.expect("the second waits");
    let expected = ["haft_work_running{topic=\"test\",tenant=\"\"} 1", "haft_workers{state=\"ready\"} 1", "haft_workers_capacity 1"];
    assert!(told.starts_with("HTTP/1.1 200 OK\r\n") && told.ends_with("# EOF\n"), "{told}");
    assert!(expected.iter().all(|line| told.lines().any(|told| told == *line)), "{told}");
    std::fs::write(world.folder.path().join("wait-first"), "").unwrap();
    for done in [first, second] {
        assert_eq!(done.await.unwrap().state, WorkState::Done);
    }
    steps.wait_for(WorkStep::Stored, 2).await;
    let told = get(address, "/metrics").await;
    let expected = ["haft_work_settled{state=\"done\"} 2", "haft_steps_total{step=\"stored\"} 2"];
    assert!(expected.iter().all(|line| told.lines().any(|told| told == *line)), "{told}");
    assert!(get(address, "/").await.starts_with("HTTP/1.1 404"), "nothing else is there");
    stop.cancel();
    tokio::time::timeout(LONG, running).await.unwrap().unwrap();
}
