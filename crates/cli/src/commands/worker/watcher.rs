//! What a worker tells: the events of a turn to every server, and its own steps to its log.

use std::sync::Mutex;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use haft_agent::{TurnEvent, TurnEventRecord, TurnWatcher};
use haft_fleet::{WorkStep, WorkWatcher};
use haft_gateway::RemoteEvent;
use serde_json::json;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinHandle;

use super::reach::ServerReach;
use crate::failure::Failure;
use crate::output::{Output, note};

/// Events of one message; more wait for the next.
const MOST_EVENTS: usize = 64;
/// Bytes of one message; the queue refuses more than a million.
const MOST_BYTES: usize = 512 << 10;
/// How long the last events may take when the turn is over.
const CLOSING: Duration = Duration::from_secs(5);
/// An event that the queue does not take is tried again, some times.
const ATTEMPTS: usize = 5;
const AGAIN: Duration = Duration::from_millis(200);

/// Sends the events of one turn in their order, those that wait together as one message.
#[derive(Clone)]
pub(super) struct TurnSink {
    events: UnboundedSender<RemoteEvent>,
    sending: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl TurnSink {
    pub(super) fn open(reach: ServerReach, session: &str) -> Self {
        let (events, waiting) = mpsc::unbounded_channel();
        let sending = tokio::spawn(send_all(reach, session.to_owned(), waiting));
        Self { events, sending: Arc::new(Mutex::new(Some(sending))) }
    }

    pub(super) fn send(&self, event: RemoteEvent) {
        // The task ends after this does.
        self.events.send(event).ok();
    }

    /// Waits until the queue has all. Others may hold a copy of it, so the last event ends it.
    pub(super) async fn close(&self) {
        let sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sending) = sending {
            tokio::time::timeout(CLOSING, sending).await.ok();
        }
    }
}

impl TurnWatcher for TurnSink {
    fn event(&self, event: &TurnEvent<'_>) {
        self.send(RemoteEvent::Event { event: TurnEventRecord::from_event(event) });
    }
}

async fn send_all(reach: ServerReach, session: String, mut waiting: UnboundedReceiver<RemoteEvent>) {
    let mut is_over = false;
    let mut next: Option<RemoteEvent> = None;
    while !is_over {
        let Some(first) = (match next.take() {
            Some(event) => Some(event),
            None => waiting.recv().await,
        }) else {
            return;
        };
        is_over = first == RemoteEvent::Over;
        let (mut events, mut bytes) = (vec![json!(first)], 0);
        while events.len() < MOST_EVENTS
            && !is_over
            && let Ok(event) = waiting.try_recv()
        {
            let value = json!(event);
            bytes += value.to_string().len();
            if bytes > MOST_BYTES {
                next = Some(event);
                break;
            }
            is_over = event == RemoteEvent::Over;
            events.push(value);
        }
        let body = json!({ "session": session, "events": events });
        for _ in 0..ATTEMPTS {
            if reach.publish(&session, &body).await {
                break;
            }
            tokio::time::sleep(AGAIN).await;
        }
    }
}

/// Writes each step of a worker as one line of JSON, or what matters of it as text.
pub(super) struct WorkerLog {
    name: String,
    output: Output,
}

impl WorkerLog {
    pub(super) fn new(name: String, output: &Output) -> Self {
        Self { name, output: output.clone() }
    }
}

impl WorkWatcher for WorkerLog {
    fn step(&self, step: WorkStep, id: &str) {
        let word = match step {
            WorkStep::Started => "started",
            WorkStep::Stored => "done",
            WorkStep::Fenced => "fenced",
            WorkStep::Returned => "returned",
            WorkStep::SetAside => "set_aside",
            _ => return,
        };
        if self.output.json {
            // A reader that is gone does not stop the worker.
            self.output.data(&json!({ "event": word, "worker": self.name, "work": id })).ok();
        } else if self.output.verbose {
            note(&format!("{word} {id}"));
        }
    }
}

/// Sends traces to the collector that the environment names, if this program was built with them.
#[cfg(feature = "traces")]
pub(super) fn traced(worker: &str, inner: Arc<dyn WorkWatcher>) -> Result<Arc<dyn WorkWatcher>, Failure> {
    let Some(address) = std::env::var("OTEL_EXPORTER_OTLP_ENDPOINT").ok().filter(|address| !address.is_empty()) else { return Ok(inner) };
    let collector = haft_fleet::TraceCollector::parse(&address);
    let collector = collector.map_err(|why| Failure::usage(format!("OTEL_EXPORTER_OTLP_ENDPOINT cannot be used: {why}")))?;
    Ok(Arc::new(haft_fleet::TracingWatcher::new(worker, collector, inner)))
}

#[cfg(not(feature = "traces"))]
#[expect(clippy::unnecessary_wraps, reason = "as the other one")]
pub(super) fn traced(_: &str, inner: Arc<dyn WorkWatcher>) -> Result<Arc<dyn WorkWatcher>, Failure> {
    Ok(inner)
}
