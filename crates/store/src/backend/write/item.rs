//! One change to be written, the caller that waits for it, and its weight against the size of the queue.

use std::path::PathBuf;

use serde_json::Value;
use tokio::sync::oneshot;

use super::change::{AutomationWrite, ChannelChange, JobChange, SessionChange};
use crate::{CallRecord, CallRow, CallStatus, PreImageRecord, StoreError};

/// Bytes that may wait, the current group included.
pub(in crate::backend) const MAX_QUEUED_BYTES: usize = 64 << 20;
/// The least weight of a record: no more than 4096 wait.
pub(in crate::backend) const MIN_WEIGHT: usize = MAX_QUEUED_BYTES / 4096;
/// What a record takes in memory beside its texts, until it is written.
pub(in crate::backend) const RECORD_BYTES: usize = 1024;

/// A change to be written.
pub(in crate::backend) enum StoreChange {
    Record(Box<CallRow>),
    /// A record that the writer makes, so that the call need not.
    Deferred(Box<dyn FnOnce() -> CallRow + Send>),
    /// Of one call.
    Images(Vec<PreImageRecord>),
    Withdrawn {
        record: String,
        path: PathBuf,
        after: Option<String>,
    },
    Undone(String),
    /// Makes an interrupted call this process's own; `ended` is the process that was cut off.
    TakeInterrupted {
        record: String,
        ended: String,
    },
    /// Nothing more is to be done about an interrupted call.
    SettleInterrupted(String),
    Session(Box<SessionChange>),
    Job(Box<JobChange>),
    Automation(Box<AutomationWrite>),
    Channel(Box<ChannelChange>),
    /// Nothing; a flush waits for the changes before it.
    Nothing,
}

impl StoreChange {
    /// Whether nothing of what it removes may stay on disk.
    pub(in crate::backend) fn erases(&self) -> bool {
        matches!(self, Self::Session(change) if matches!(**change, SessionChange::Delete(_)))
    }
}

/// The answer to the waiting caller: the number of the next message after messages were written, the number of a job after it
/// began, 1 if an interrupted call was taken or a change of automation was made, and otherwise 0.
pub(in crate::backend) type ChangeAnswer = Result<u64, StoreError>;

/// A change, and the caller that waits for it.
pub(in crate::backend) struct QueueItem {
    pub(in crate::backend) change: StoreChange,
    pub(in crate::backend) reply: Option<oneshot::Sender<ChangeAnswer>>,
    /// Against the limit of the queue.
    pub(in crate::backend) weight: usize,
    /// What it takes in memory, about.
    pub(in crate::backend) bytes: usize,
}

impl QueueItem {
    /// Makes a record that was put off.
    pub(in crate::backend) fn make(&mut self) {
        if !matches!(self.change, StoreChange::Deferred(_)) {
            return;
        }
        if let StoreChange::Deferred(make) = std::mem::replace(&mut self.change, StoreChange::Nothing) {
            self.change = StoreChange::Record(Box::new(make()));
        }
    }
    /// Whether it notes that this process runs a call.
    pub(in crate::backend) fn needs_presence(&self) -> bool {
        match &self.change {
            StoreChange::Record(record) => record.status == CallStatus::Begun,
            StoreChange::TakeInterrupted { .. } => true,
            _ => false,
        }
    }
    /// The call whose outcome it is.
    pub(in crate::backend) fn ended_call(&self) -> Option<&str> {
        match &self.change {
            StoreChange::Record(record) if record.status != CallStatus::Begun => Some(&record.id),
            _ => None,
        }
    }
    pub(in crate::backend) fn is_flush(&self) -> bool {
        matches!(self.change, StoreChange::Nothing)
    }
}

pub(in crate::backend) fn answer(reply: oneshot::Sender<ChangeAnswer>, answer: ChangeAnswer) {
    // The caller may have stopped waiting.
    reply.send(answer).ok();
}

/// The approximate size of a record. Effects and rewritten arguments are about as large as the arguments they come from.
pub(in crate::backend) fn bytes_of(record: &CallRecord) -> usize {
    RECORD_BYTES + 3 * size_of_value(&record.arguments) + record.summary.len()
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
