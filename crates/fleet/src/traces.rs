//! Traces of work by OpenTelemetry: one span for each time that a worker handles work, with its steps as events, sent to a collector as
//! OTLP over HTTP in JSON.
//!
//! The trace has the id of the work, so all attempts of all workers are one trace. A collector that is slow or gone costs spans and nothing
//! else: they wait in a bounded queue, and what does not fit is counted and dropped.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::timeout;

use crate::{WorkStep, WorkWatcher};

/// Spans that wait for the collector.
const MOST_WAITING: usize = 1_024;
/// Spans of one request.
const MOST_AT_ONCE: usize = 128;
/// Work whose end was not seen yet.
const MOST_OPEN: usize = 10_000;
/// How long the collector may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where spans go: a collector on `http://host:port`, usually one on this machine, which sends them on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceCollector {
    host: String,
    path: String,
}

impl TraceCollector {
    /// Of an address as in `OTEL_EXPORTER_OTLP_ENDPOINT`. TLS is left to the collector of this machine.
    pub fn parse(address: &str) -> Result<Self, String> {
        let rest = address.strip_prefix("http://").ok_or_else(|| "write http://host:4318, a collector of this machine".to_owned())?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let port = host.rsplit_once(':').map_or("", |(_, port)| port);
        if port.parse::<u16>().is_err() || host.contains(|ch: char| ch.is_whitespace() || ch.is_control()) {
            return Err("the address has no port: write http://host:4318".to_owned());
        }
        Ok(Self { host: host.to_owned(), path: format!("/{}", path.trim_end_matches('/')).trim_end_matches('/').to_owned() })
    }
}

/// Makes a span of the steps of each work, and tells another watcher.
pub struct TracingWatcher {
    worker: String,
    open: Mutex<HashMap<String, Vec<(WorkStep, SystemTime)>>>,
    spans: Sender<Value>,
    dropped: AtomicU64,
    /// Is told as well.
    inner: Arc<dyn WorkWatcher>,
}

haft_contract::opaque_debug!(TracingWatcher: worker = worker);

impl TracingWatcher {
    /// Sends spans of this worker to a collector, as long as it exists. It is made on a runtime.
    pub fn new(worker: &str, collector: TraceCollector, inner: Arc<dyn WorkWatcher>) -> Self {
        let (spans, waiting) = mpsc::channel(MOST_WAITING);
        tokio::spawn(export(collector, waiting));
        Self { worker: worker.to_owned(), open: Mutex::default(), spans, dropped: AtomicU64::new(0), inner }
    }

    /// Spans that no collector got.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl WorkWatcher for TracingWatcher {
    fn step(&self, step: WorkStep, id: &str) {
        let now = SystemTime::now();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let is_last = matches!(step, WorkStep::Acknowledged | WorkStep::Fenced | WorkStep::Returned | WorkStep::SetAside);
        let steps = if is_last {
            let mut steps = open.remove(id).unwrap_or_default();
            steps.push((step, now));
            Some(steps)
        } else {
            if open.len() < MOST_OPEN || open.contains_key(id) {
                open.entry(id.to_owned()).or_default().push((step, now));
            }
            None
        };
        drop(open);
        if let Some(steps) = steps
            && self.spans.try_send(span(id, &self.worker, &steps)).is_err()
        {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        self.inner.step(step, id);
    }
}

fn nanoseconds(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

/// A hash that is the same on every machine (FNV-1a).
fn hash(text: &str, seed: u64) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Ids of work are UUIDs, which are as long as those of traces.
fn trace_id(id: &str) -> String {
    let plain = id.replace('-', "").to_ascii_lowercase();
    let is_id = plain.len() == 32 && plain.bytes().all(|byte| byte.is_ascii_hexdigit()) && plain.bytes().any(|byte| byte != b'0');
    if is_id { plain } else { format!("{:016x}{:016x}", hash(id, 1) | 1, hash(id, 2)) }
}

fn attribute(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn span(id: &str, worker: &str, steps: &[(WorkStep, SystemTime)]) -> Value {
    let name = |step: WorkStep| format!("{step:?}").to_lowercase();
    let (first, last) = (steps.first().map_or(UNIX_EPOCH, |step| step.1), steps.last().map_or(UNIX_EPOCH, |step| step.1));
    let end = steps.last().map_or(WorkStep::Returned, |step| step.0);
    let has_failed = matches!(end, WorkStep::Fenced | WorkStep::SetAside);
    let (begin, trace) = (nanoseconds(first), trace_id(id));
    let events = steps.iter().map(|(step, time)| json!({ "timeUnixNano": nanoseconds(*time), "name": name(*step) }));
    json!({
        "traceId": trace,
        "spanId": format!("{:016x}", hash(&format!("{worker} {begin} {id}"), 3) | 1),
        "name": "work",
        // A consumer, as of a message.
        "kind": 5,
        "startTimeUnixNano": begin,
        "endTimeUnixNano": nanoseconds(last),
        "attributes": [attribute("haft.work.id", id), attribute("haft.worker", worker), attribute("haft.work.end", &name(end))],
        "events": events.collect::<Vec<_>>(),
        "status": if has_failed { json!({ "code": 2, "message": name(end) }) } else { json!({ "code": 1 }) },
    })
}

/// Sends spans until the watcher is gone, those that wait together.
async fn export(collector: TraceCollector, mut waiting: Receiver<Value>) {
    let mut spans = Vec::new();
    while waiting.recv_many(&mut spans, MOST_AT_ONCE).await > 0 {
        let body = json!({ "resourceSpans": [{
            "resource": { "attributes": [attribute("service.name", "haft-worker"), attribute("service.version", env!("CARGO_PKG_VERSION"))] },
            "scopeSpans": [{ "scope": { "name": "haft-fleet" }, "spans": std::mem::take(&mut spans) }],
        }] });
        // Traces are no record: a collector that is away costs them.
        timeout(PATIENCE, send(&collector, &body.to_string())).await.ok();
    }
}

async fn send(collector: &TraceCollector, body: &str) -> std::io::Result<()> {
    let TraceCollector { host, path } = collector;
    let head = format!(
        "POST {path}/v1/traces HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut connection = TcpStream::connect(host).await?;
    connection.write_all(head.as_bytes()).await?;
    connection.write_all(body.as_bytes()).await?;
    // The answer is read so that the collector has taken it all before the connection ends.
    connection.take(64 << 10).read_to_end(&mut Vec::new()).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_have_the_ids_of_work_and_addresses_have_a_port() {
        assert_eq!(trace_id("019A0000-0000-7000-8000-000000000001"), "019a0000000070008000000000000001");
        assert_eq!((trace_id("work-1").len(), trace_id("work-1") == trace_id("work-2")), (32, false));
        let parsed = TraceCollector { host: "127.0.0.1:4318".to_owned(), path: "/otlp".to_owned() };
        assert_eq!(TraceCollector::parse("http://127.0.0.1:4318/otlp/"), Ok(parsed));
        for wrong in ["https://host:4318", "http://host", "http://a b:1", "host:4318"] {
            assert!(TraceCollector::parse(wrong).unwrap_err().contains("http://host:4318"), "{wrong}");
        }
    }
}
