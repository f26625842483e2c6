//! What a collector of OpenTelemetry gets.

use std::sync::Arc;
use std::time::Duration;

use haft_fleet::{FleetWorker, TraceCollector, TracingWatcher, WorkStep};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::world::{CountingRunner, LONG, StepLog, World, new_work, settings};

/// Takes one request as a collector does: its path, and its body.
async fn collect(listener: &TcpListener) -> (String, Value) {
    let (mut connection, _) = listener.accept().await.unwrap();
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap().parse::<usize>().unwrap();
            if body.len() >= length {
                assert!(head.contains("Content-Type: application/json"), "{head}");
                connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").await.unwrap();
                return (head.lines().next().unwrap().to_owned(), serde_json::from_str(body).unwrap());
            }
        }
        assert!(connection.read_buf(&mut bytes).await.unwrap() > 0, "the request is cut off");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn span_of_work_reaches_the_collector_with_its_steps() {
    let world = World::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let collector = TraceCollector::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let (steps, stop) = (Arc::new(StepLog::default()), CancellationToken::new());
    let worker = FleetWorker {
        queue: world.queue.clone(),
        work: world.work.clone(),
        runner: Arc::new(CountingRunner { folder: world.folder.path().to_owned(), name: "worker".to_owned() }),
        watcher: Arc::new(TracingWatcher::new("worker", collector, Arc::clone(&steps) as _)),
        settings: settings("worker", 1, Duration::from_secs(3)),
    };
    let stopped = stop.clone();
    let running = tokio::spawn(async move { worker.run(&stopped).await.unwrap() });
    let id = "019a0000-0000-7000-8000-00000000000a";
    world.give(new_work(id, false)).await.unwrap();
    let (request, body) = tokio::time::timeout(LONG, collect(&listener)).await.unwrap();
    assert_eq!(request, "POST /v1/traces HTTP/1.1");
    let span = &body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!((span["traceId"].as_str(), span["status"]["code"].as_u64()), (Some("019a000000007000800000000000000a"), Some(1)));
    let names: Vec<&str> = span["events"].as_array().unwrap().iter().map(|event| event["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["received", "claimed", "started", "ran", "stored", "announced", "acknowledged"]);
    let time = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
    assert!(span["spanId"].as_str().unwrap().len() == 16 && time("startTimeUnixNano") < time("endTimeUnixNano"), "{span}");
    assert_eq!(steps.count(WorkStep::Acknowledged), 1, "the other watcher is told as well");

    // Nothing listens any more: work is done all the same.
    drop(listener);
    assert!(world.give(new_work("later", false)).await.unwrap().outcome.is_some());
    stop.cancel();
    running.await.unwrap();
}
