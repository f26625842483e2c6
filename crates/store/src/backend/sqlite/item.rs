//! One thing to be written, who waits for it, and what it counts against the room there is.

use std::path::PathBuf;

use serde_json::Value;
use tokio::sync::oneshot;

use super::jobs::JobChange;
use super::session_change::SessionChange;
use crate::{CallRecord, PreImageRecord, StoreError};

/// Bytes that may wait, the group that is being written included.
pub(super) const ROOM: usize = 64 << 20;
/// What a record counts at least: so that no more than 4096 wait.
pub(super) const LEAST: usize = ROOM / 4096;

/// What is to be written.
pub(super) enum Change {
    Record(Box<CallRecord>),
    /// A record that the writer makes, so that the call need not.
    Deferred(Box<dyn FnOnce() -> CallRecord + Send>),
    Image(PreImageRecord),
    Withdrawn {
        record: String,
        path: PathBuf,
        after: Option<String>,
    },
    Undone(String),
    Session(Box<SessionChange>),
    Job(Box<JobChange>),
    /// Nothing; a flush waits for what is before it.
    Nothing,
}

pub(super) type Outcome = Result<(), StoreError>;
/// The outcome for whoever waits: after messages were written, with the number that the next one will get; after a job
/// began, with its own; and else 0.
pub(super) type Answer = Result<u64, StoreError>;

/// A change, and who waits for it.
pub(super) struct Item {
    pub(super) change: Change,
    pub(super) reply: Option<oneshot::Sender<Answer>>,
    pub(super) weight: usize,
}

impl Item {
    /// Makes a record that was put off.
    pub(super) fn make(&mut self) {
        if !matches!(self.change, Change::Deferred(_)) {
            return;
        }
        if let Change::Deferred(make) = std::mem::replace(&mut self.change, Change::Nothing) {
            self.change = Change::Record(Box::new(make()));
        }
    }
    pub(super) fn is_flush(&self) -> bool {
        matches!(self.change, Change::Nothing)
    }
}

pub(super) fn answer(reply: oneshot::Sender<Answer>, answer: Answer) {
    // Whoever asked may have stopped waiting; then nobody wants the answer.
    reply.send(answer).ok();
}

/// Roughly what a record takes. Effects and rewritten arguments are about as large as the arguments they come from.
pub(super) fn weight_of(record: &CallRecord) -> usize {
    (3 * size_of_value(&record.arguments) + record.summary.len()).max(LEAST)
}

fn size_of_value(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::String(text) => text.len(),
            Value::Array(values) => values.iter().map(size_of_value).sum(),
            Value::Object(map) => map.iter().map(|(key, value)| key.len() + size_of_value(value)).sum(),
            _ => 0,
        }
}
