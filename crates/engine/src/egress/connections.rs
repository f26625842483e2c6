//! The connections of a command, for history: those of its call are in its record, and later ones are added to it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_contract::EgressRefusal;
use haft_store::{CallLog, CallRecord, CallStatus};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::trail::redacted;

/// How often the record of a call that has just ended is looked for, and how long the pauses are.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(100);

/// The connections of a command that were decided on.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallConnections(Arc<Mutex<Vec<Value>>>);

impl CallConnections {
    /// One object for each: host, port, and why it was refused, if it was.
    pub(crate) fn recorded(&self) -> Vec<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn add(&self, (host, port): (String, u16), outcome: &Result<(), EgressRefusal>) {
        let mut connection = json!({ "host": host, "port": port, "made": outcome.is_ok() });
        if let Err(refusal) = outcome {
            connection["why"] = Value::String(refusal.reason.clone());
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }

    /// Writes all of them to the record of a call that has ended. A record that does not appear stays as it is.
    pub(super) async fn amend(&self, log: &dyn CallLog, record: Uuid) {
        for _ in 0..TRIES {
            match log.get(&record.to_string()).await {
                // Two of these may write at the same time: the one with fewer connections sees that, and writes again.
                Ok(found) if found.status != CallStatus::Begun => {
                    let all = self.recorded();
                    if found.decision["connections"].as_array().is_some_and(|known| known.len() >= all.len()) {
                        return;
                    }
                    // What cannot be written is reported with the next record.
                    log.append(with_connections(found, all)).ok();
                }
                _ => tokio::time::sleep(PAUSE).await,
            }
        }
    }
}

fn with_connections(mut record: CallRecord, connections: Vec<Value>) -> CallRecord {
    record.decision["connections"] = redacted(Value::Array(connections));
    record
}
