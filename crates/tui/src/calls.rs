//! Recorded calls as a table and as JSON.

use std::collections::HashMap;

use haft_store::{CallRecord, CallStatus};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::effects;
use crate::output::{CAUTION, DIM, ERROR, GOOD};
use crate::table::{ColumnFit, Table, TableCell};
use crate::time::{duration, local_time, milliseconds};

/// Calls as a table, one row each.
pub fn table(calls: &[CallRecord], symbols: bool) -> Table {
    let mut table = Table::new(&[
        ("ID", ColumnFit::Keep),
        ("WHEN", ColumnFit::Drop(1)),
        ("TOOL", ColumnFit::Keep),
        ("STATUS", ColumnFit::Keep),
        ("TIME", ColumnFit::Drop(2)),
        ("TARGET", ColumnFit::Cut),
    ]);
    let mut ends: HashMap<&str, usize> = HashMap::new();
    for call in calls {
        *ends.entry(end_of(&call.id)).or_default() += 1;
    }
    for call in calls {
        table.row(vec![
            TableCell::new(short_id(&call.id, &ends)),
            TableCell::styled(&local_time(call.started, "%Y-%m-%d %H:%M"), DIM),
            TableCell::new(&call.tool),
            status_cell(call, symbols),
            TableCell::styled(&took(call), DIM),
            TableCell::new(&first_target(call)),
        ]);
    }
    table
}

/// The end of an id, where it differs; the whole of it where calls were made so close together that it does not.
fn short_id<'c>(id: &'c str, ends: &HashMap<&str, usize>) -> &'c str {
    let end = end_of(id);
    if ends.get(end) == Some(&1) { end } else { id }
}

fn end_of(id: &str) -> &str {
    const SHOWN: usize = 8;
    id.get(id.len().saturating_sub(SHOWN)..).unwrap_or(id)
}

/// What became of a call.
pub fn status_cell(call: &CallRecord, symbols: bool) -> TableCell {
    let (symbol, word, style) = match &call.status {
        CallStatus::Success => ("✓", "ok", GOOD),
        CallStatus::Error(kind) if kind == "execution_error" => ("✗", "failed", ERROR),
        CallStatus::Error(kind) => ("✗", kind.as_str(), ERROR),
        CallStatus::Begun => ("?", "unknown", CAUTION),
    };
    let undone = if call.undone { ", undone" } else { "" };
    let symbol = if symbols { format!("{symbol} ") } else { String::new() };
    TableCell::styled(&format!("{symbol}{word}{undone}"), style)
}

fn first_target(call: &CallRecord) -> String {
    effects::all(&call.effects).first().map(|effect| effects::describe(effect, &call.workspace).1).unwrap_or_default()
}

/// A call with every field that is recorded of it.
pub fn to_json(call: &CallRecord) -> Value {
    let (status, error_type) = match &call.status {
        CallStatus::Begun => ("unfinished", None),
        CallStatus::Success => ("success", None),
        CallStatus::Error(kind) => ("error", Some(kind)),
    };
    json!({
        "id": call.id,
        "call_id": call.call_id,
        "session": call.session,
        "agent": call.agent,
        "tool": call.tool,
        "workspace": call.workspace.to_string_lossy(),
        "started": Timestamp::try_from(call.started).ok().map(|time| time.to_string()),
        "duration_ms": (call.status != CallStatus::Begun).then(|| milliseconds(call.elapsed)),
        "status": status,
        "error_type": error_type,
        "undone": call.undone,
        "effects": call.effects,
        "decision": call.decision,
        "arguments": call.arguments,
        "original_arguments": call.original_arguments,
        "summary": call.summary,
    })
}

/// How long a call took. What is recorded of one that was only begun is the time until then.
pub fn took(call: &CallRecord) -> String {
    if call.status == CallStatus::Begun { "unknown".into() } else { duration(call.elapsed) }
}
