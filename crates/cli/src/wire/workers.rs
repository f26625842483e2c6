//! The queue and the database that servers and workers share, and the work that they give each other.

use std::net::SocketAddr;

use haft_fleet::{FleetError, FleetMetrics, FleetQueue};
use haft_provider::Block;
use haft_store::{PostgresWork, StateStore};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::WorkLimits;
use crate::failure::Failure;
use crate::output::note;

/// The address of the queue that the user names, which may hold a password.
pub(crate) fn queue_address() -> Option<String> {
    std::env::var("HAFT_QUEUE").ok().filter(|address| !address.is_empty())
}

/// The queue and the database.
#[derive(Debug, Clone)]
pub(crate) struct FleetLink {
    pub(crate) queue: FleetQueue,
    pub(crate) work: PostgresWork,
}

impl FleetLink {
    /// Connects; `None` if no queue is named.
    pub(crate) async fn open(store: &StateStore) -> Result<Option<Self>, Failure> {
        let Some(address) = queue_address() else { return Ok(None) };
        let StateStore::Postgres(log) = store else {
            let message = "HAFT_QUEUE names a queue, and HAFT_STORE names no database: workers need both".to_owned();
            return Err(Failure::usage(message).help("set HAFT_STORE to postgres://user@host/database, or unset HAFT_QUEUE"));
        };
        let queue = FleetQueue::connect(&address).await.map_err(|error| failure(&error))?;
        Ok(Some(Self { queue, work: log.work() }))
    }

    /// The same, where nothing can be done without.
    pub(crate) async fn required(store: &StateStore) -> Result<Self, Failure> {
        let unnamed =
            || Failure::usage("HAFT_QUEUE names no queue".to_owned()).help("set it to nats://host:4222, the same for all processes");
        Self::open(store).await?.ok_or_else(unnamed)
    }
}

pub(crate) fn failure(error: &FleetError) -> Failure {
    match error {
        FleetError::Address(_) => Failure::usage(error.to_string()),
        _ => Failure::failed("network_error", error.to_string()),
    }
}

/// Answers Prometheus at this address, if one is given, until it is stopped.
pub(crate) async fn serve_metrics(metrics: &FleetMetrics, address: Option<SocketAddr>, stop: &CancellationToken) -> Result<(), Failure> {
    let Some(address) = address else { return Ok(()) };
    let serving = metrics.clone().serve(address, stop.clone()).await;
    let address = serving.map_err(|error| Failure::failed("execution_error", format!("{address} cannot be listened on: {error}")))?;
    note(&format!("Metrics: http://{address}/metrics"));
    Ok(())
}

/// What servers and workers say to each other about work. It grows when a worker that does not know of a change would do something else
/// than was meant, such as leave out a limit; fields that may be ignored do not change it.
const PROTOCOL: u32 = 1;

/// Work as it is stored: what it is, and what a worker has to know to do it.
#[derive(Serialize, Deserialize)]
struct WorkEnvelope<T> {
    /// Work of before there was a number is of the first.
    #[serde(default = "first_protocol")]
    protocol: u32,
    #[serde(flatten)]
    body: T,
}

fn first_protocol() -> u32 {
    1
}

impl WorkBody {
    pub(crate) fn encode(self) -> Result<String, Failure> {
        let envelope = WorkEnvelope { protocol: PROTOCOL, body: self };
        serde_json::to_string(&envelope).map_err(|error| Failure::failed("execution_error", error.to_string()))
    }

    pub(crate) fn decode(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(|WorkEnvelope { body, .. }| body)
    }

    /// Whether this version knows all that the work says. What is no work at all is accepted, and refused with its reason.
    pub(crate) fn is_known(text: &str) -> bool {
        #[derive(Deserialize)]
        struct Nothing {}
        serde_json::from_str::<WorkEnvelope<Nothing>>(text).map_or(true, |work| work.protocol <= PROTOCOL)
    }
}

/// What is to be done.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub(crate) enum WorkBody {
    /// A turn of a session.
    Turn(Box<TurnWork>),
    /// One call of a tool, for the user.
    Call(Box<CallWork>),
}

/// A turn of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TurnWork {
    pub(crate) session: String,
    pub(crate) agent: String,
    pub(crate) text: String,
    pub(crate) blocks: Vec<Block>,
    pub(crate) model: Option<String>,
    /// How many messages the session had.
    pub(crate) messages: u64,
    pub(crate) limits: WorkLimits,
}

/// One call of a tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CallWork {
    pub(crate) call_id: String,
    pub(crate) tool: String,
    pub(crate) agent: String,
    pub(crate) arguments: Value,
    pub(crate) limits: WorkLimits,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_of_a_newer_protocol_is_left_to_a_newer_worker() {
        let known = |text: &str| WorkBody::is_known(text);
        assert_eq!(
            [r#"{"work":"turn"}"#, r#"{"protocol":1,"work":"turn"}"#, r#"{"protocol":2,"work":"turn"}"#, "no work"].map(known),
            [true, true, false, true]
        );
        let call = CallWork {
            call_id: "1".to_owned(),
            tool: "exec".to_owned(),
            agent: "main".to_owned(),
            arguments: Value::Null,
            limits: WorkLimits::default(),
        };
        let text = WorkBody::Call(Box::new(call)).encode().unwrap();
        assert!(text.starts_with(r#"{"protocol":1,"work":"call","#) && WorkBody::decode(&text).is_ok(), "{text}");
    }
}
