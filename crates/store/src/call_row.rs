//! A call as a database keeps it. What is JSON in it is text: a call is written once and seldom read, so nobody builds a tree of it on the
//! way.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::{CallRecord, CallStatus};

/// A [`CallRecord`] with its JSON as text.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRow {
    /// As [`CallRecord::id`].
    pub id: String,
    /// As [`CallRecord::call_id`].
    pub call_id: String,
    /// As [`CallRecord::session`].
    pub session: Arc<str>,
    /// As [`CallRecord::agent`].
    pub agent: Arc<str>,
    /// As [`CallRecord::tool`].
    pub tool: String,
    /// As [`CallRecord::workspace`].
    pub workspace: PathBuf,
    /// As [`CallRecord::arguments`].
    pub arguments: String,
    /// As [`CallRecord::original_arguments`].
    pub original_arguments: Option<String>,
    /// As [`CallRecord::effects`].
    pub effects: String,
    /// As [`CallRecord::decision`].
    pub decision: String,
    /// As [`CallRecord::started`].
    pub started: SystemTime,
    /// As [`CallRecord::elapsed`].
    pub elapsed: Duration,
    /// As [`CallRecord::status`].
    pub status: CallStatus,
    /// As [`CallRecord::summary`].
    pub summary: String,
    /// As [`CallRecord::undone`].
    pub undone: bool,
}

impl From<CallRecord> for CallRow {
    fn from(record: CallRecord) -> Self {
        Self {
            arguments: record.arguments.to_string(),
            original_arguments: record.original_arguments.as_ref().map(Value::to_string),
            effects: record.effects.to_string(),
            decision: record.decision.to_string(),
            id: record.id,
            call_id: record.call_id,
            session: record.session.into(),
            agent: record.agent.into(),
            tool: record.tool,
            workspace: record.workspace,
            started: record.started,
            elapsed: record.elapsed,
            status: record.status,
            summary: record.summary,
            undone: record.undone,
        }
    }
}

impl From<CallRow> for CallRecord {
    fn from(row: CallRow) -> Self {
        // It was written as JSON just before.
        let value = |text: &str| serde_json::from_str(text).unwrap_or_default();
        Self {
            arguments: value(&row.arguments),
            original_arguments: row.original_arguments.as_deref().map(value),
            effects: value(&row.effects),
            decision: value(&row.decision),
            id: row.id,
            call_id: row.call_id,
            session: row.session.to_string(),
            agent: row.agent.to_string(),
            tool: row.tool,
            workspace: row.workspace,
            started: row.started,
            elapsed: row.elapsed,
            status: row.status,
            summary: row.summary,
            undone: row.undone,
        }
    }
}
