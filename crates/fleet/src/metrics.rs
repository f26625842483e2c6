//! What Prometheus reads: how much work waits and runs, which workers live, and what this process did. Labels are bounded.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use haft_store::PostgresWork;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::{WorkStep, WorkWatcher};

/// Topics of tenants with a line of their own; all further ones are one.
const MOST_TOPICS: usize = 100;
/// A request is no longer than this, and takes no longer.
const MOST_REQUEST: usize = 8 << 10;
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TopicLabel {
    topic: String,
    /// Empty for the work of the operator.
    tenant: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StepLabel {
    step: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabel {
    state: String,
}

/// The metrics of one process. Clones share everything.
#[derive(Clone)]
pub struct FleetMetrics {
    work: PostgresWork,
    registry: Arc<Registry>,
    waiting: Family<TopicLabel, Gauge>,
    running: Family<TopicLabel, Gauge>,
    oldest: Family<TopicLabel, Gauge<f64, AtomicU64>>,
    settled: Family<StateLabel, Gauge>,
    workers: Family<StateLabel, Gauge>,
    capacity: Gauge,
    steps: Family<StepLabel, Counter>,
}

haft_contract::opaque_debug!(FleetMetrics: work = work);

impl FleetMetrics {
    /// Of the work on this database.
    pub fn new(work: PostgresWork) -> Self {
        let mut registry = Registry::with_prefix("haft");
        let (waiting, running) = (Family::<TopicLabel, Gauge>::default(), Family::<TopicLabel, Gauge>::default());
        let oldest = Family::<TopicLabel, Gauge<f64, AtomicU64>>::default();
        let (settled, workers) = (Family::<StateLabel, Gauge>::default(), Family::<StateLabel, Gauge>::default());
        let (capacity, steps) = (Gauge::default(), Family::<StepLabel, Counter>::default());
        registry.register("work_waiting", "Work that no worker has", waiting.clone());
        registry.register("work_running", "Work that a worker has", running.clone());
        registry.register("work_oldest_seconds", "How long the oldest work has waited", oldest.clone());
        registry.register("work_settled", "Work of the last week by how it ended", settled.clone());
        registry.register("workers", "Workers that live", workers.clone());
        registry.register("workers_capacity", "How much all workers do at once", capacity.clone());
        registry.register("steps", "Steps of this process with work", steps.clone());
        Self { work, registry: Arc::new(registry), waiting, running, oldest, settled, workers, capacity, steps }
    }

    /// Asks the database, and writes all as text.
    async fn render(&self) -> Result<String, String> {
        let failed = |error: haft_store::StoreError| error.to_string();
        let load = self.work.load().await.map_err(failed)?;
        for family in [&self.waiting, &self.running] {
            family.clear();
        }
        self.oldest.clear();
        let mut topics: BTreeSet<(String, String)> = load.iter().map(|load| (load.topic.clone(), load.tenant.clone())).collect();
        while topics.len() > MOST_TOPICS {
            topics.pop_last();
        }
        for load in load {
            let key = (load.topic, load.tenant);
            let (topic, tenant) = if topics.contains(&key) { key } else { ("other".to_owned(), String::new()) };
            let topic = TopicLabel { topic, tenant };
            let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
            self.waiting.get_or_create(&topic).inc_by(count(load.queued));
            self.running.get_or_create(&topic).inc_by(count(load.running));
            let oldest = self.oldest.get_or_create(&topic);
            oldest.set(oldest.get().max(load.oldest.as_secs_f64()));
        }
        self.settled.clear();
        for (state, count) in self.work.counts().await.map_err(failed)?.into_iter().filter(|(state, _)| state.is_final()) {
            let label = StateLabel { state: state.as_str().to_owned() };
            self.settled.get_or_create(&label).set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        let (mut ready, mut draining, mut capacity) = (0, 0, 0);
        for worker in self.work.workers().await.map_err(failed)? {
            *(if worker.draining { &mut draining } else { &mut ready }) += 1;
            capacity += i64::try_from(worker.capacity).unwrap_or(0);
        }
        for (state, count) in [("ready", ready), ("draining", draining)] {
            self.workers.get_or_create(&StateLabel { state: state.to_owned() }).set(count);
        }
        self.capacity.set(capacity);
        let mut text = String::new();
        encode(&mut text, &self.registry).map_err(|error| error.to_string())?;
        Ok(text)
    }

    /// Answers `GET /metrics` at this address until it is stopped. Returns the address that it listens on.
    pub async fn serve(self, address: SocketAddr, stop: CancellationToken) -> std::io::Result<SocketAddr> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        tokio::spawn(async move {
            loop {
                let connection = tokio::select! {
                    () = stop.cancelled() => return,
                    connection = listener.accept() => connection,
                };
                // One at a time: who scrapes comes every few seconds.
                if let Ok((connection, _)) = connection {
                    timeout(PATIENCE, self.answer(connection)).await.ok();
                }
            }
        });
        Ok(address)
    }

    async fn answer(&self, mut connection: TcpStream) {
        let mut request = Vec::new();
        let mut part = [0; 1024];
        while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < MOST_REQUEST {
            match connection.read(&mut part).await {
                Ok(read @ 1..) => request.extend_from_slice(&part[..read]),
                _ => return,
            }
        }
        let (status, body) = if request.starts_with(b"GET /metrics ") {
            match self.render().await {
                Ok(text) => ("200 OK", text),
                Err(why) => ("503 Service Unavailable", format!("{why}\n")),
            }
        } else {
            ("404 Not Found", "GET /metrics\n".to_owned())
        };
        let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        let mut answer = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n", body.len());
        // Writing to a string does not fail.
        write!(answer, "Connection: close\r\n\r\n{body}").ok();
        connection.write_all(answer.as_bytes()).await.ok();
        connection.shutdown().await.ok();
    }
}

/// Counts steps, and tells another watcher.
pub struct CountingWatcher {
    /// Where they are counted.
    pub metrics: FleetMetrics,
    /// The other one.
    pub inner: Arc<dyn WorkWatcher>,
}

haft_contract::opaque_debug!(CountingWatcher: metrics = metrics);

impl WorkWatcher for CountingWatcher {
    fn step(&self, step: WorkStep, id: &str) {
        self.metrics.steps.get_or_create(&StepLabel { step: format!("{step:?}").to_lowercase() }).inc();
        self.inner.step(step, id);
    }
}
