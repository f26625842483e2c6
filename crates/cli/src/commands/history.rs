//! `haft history`: what was called, what came of it, and one call in full.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_contract::visible;
use haft_store::{CallFilter, CallLog, CallRecord, CallStatus};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::arguments::History;
use crate::commands::block_on;
use crate::effects;
use crate::failure::{Exit, Failure};
use crate::output::{BAD, CARE, DIM, GOOD, Output, note, print};
use crate::page::Page;
use crate::table::{Cell, Room, Table};
use crate::wire;

pub(crate) fn run(request: History, output: &Output) -> Result<Exit, Failure> {
    block_on(async {
        let log = wire::history(&wire::data_folder()?)?;
        match request.id {
            Some(id) => one(&log, &id, output).await?,
            None => list(&log, request, output).await?,
        }
        Ok(Exit::Success)
    })
}

async fn list(log: &Arc<dyn CallLog>, request: History, output: &Output) -> Result<(), Failure> {
    let tool = match request.tool {
        // Any of the tool's names will do; a tool that is gone still has its calls.
        Some(name) => Some(wire::registry()?.get(&name).map_or(name, |entry| entry.name().to_owned())),
        None => None,
    };
    let filter = CallFilter { limit: usize::try_from(request.limit).ok(), tool, session: None, failed: request.failed };
    let calls = log.list(filter).await?;
    if output.json {
        return output.data(&calls.iter().map(to_json).collect::<Vec<_>>());
    }
    if calls.is_empty() {
        note("no calls yet that fit; `haft call TOOL` makes one");
        return Ok(());
    }
    print(&table(&calls, output.has_symbols()).render(output.width))
}

pub(crate) fn table(calls: &[CallRecord], symbols: bool) -> Table {
    let mut table = Table::new(&[
        ("ID", Room::Keep),
        ("WHEN", Room::Drop(1)),
        ("TOOL", Room::Keep),
        ("STATUS", Room::Keep),
        ("TIME", Room::Drop(2)),
        ("TARGET", Room::Cut),
    ]);
    let mut ends: HashMap<&str, usize> = HashMap::new();
    for call in calls {
        *ends.entry(end_of(&call.id)).or_default() += 1;
    }
    for call in calls {
        table.row(vec![
            Cell::new(short_id(&call.id, &ends)),
            Cell::styled(&local_time(call.started, "%Y-%m-%d %H:%M"), DIM),
            Cell::new(&call.tool),
            status_cell(call, symbols),
            Cell::styled(&took(call), DIM),
            Cell::new(&first_target(call)),
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

fn status_cell(call: &CallRecord, symbols: bool) -> Cell {
    let (symbol, word, style) = match &call.status {
        CallStatus::Success => ("✓", "ok", GOOD),
        CallStatus::Error(kind) => ("✗", kind.as_str(), BAD),
        CallStatus::Begun => ("?", "unknown", CARE),
    };
    let undone = if call.undone { ", undone" } else { "" };
    let symbol = if symbols { format!("{symbol} ") } else { String::new() };
    Cell::styled(&format!("{symbol}{word}{undone}"), style)
}

fn first_target(call: &CallRecord) -> String {
    effects::all(&call.effects).first().map(|effect| effects::describe(effect, &call.workspace).1).unwrap_or_default()
}

async fn one(log: &Arc<dyn CallLog>, id: &str, output: &Output) -> Result<(), Failure> {
    let call = log.get(id).await?;
    let files: Vec<String> = log.pre_images(&call.id).await?.iter().map(|image| image.path.display().to_string()).collect();
    let undo = (!files.is_empty() && !call.undone).then(|| format!("haft undo {}", call.id));
    if output.json {
        let mut value = to_json(&call);
        value["files"] = json!(files);
        value["undo"] = json!(undo);
        return output.data(&value);
    }
    print(&in_full(&call, &files, undo.as_deref(), output))
}

/// What is to be said of a call that was begun, and never told what came of it.
const UNKNOWN: &str = "The process ended before the result was known; the change may or may not have happened.\n\
                       If the call still runs, its result is yet to come.";

fn in_full(call: &CallRecord, files: &[String], undo: Option<&str>, output: &Output) -> String {
    let mut table = Table::new(&[("", Room::Keep), ("", Room::Keep)]);
    let mut fact = |name: &str, cell: Cell| table.row(vec![Cell::styled(name, DIM), cell]);
    fact("id", Cell::new(&call.id));
    fact("call id", Cell::new(&call.call_id));
    fact("tool", Cell::new(&call.tool));
    fact("when", Cell::new(&local_time(call.started, "%Y-%m-%d %H:%M:%S %Z")));
    fact("took", Cell::new(&took(call)));
    fact("status", status_cell(call, output.has_symbols()));
    fact("agent", Cell::new(&call.agent));
    fact("session", Cell::new(&call.session));
    fact("workspace", Cell::new(&call.workspace.to_string_lossy()));
    for effect in effects::all(&call.effects) {
        let (kind, target) = effects::describe(effect, &call.workspace);
        fact("effect", Cell::new(&format!("{kind} {target}")));
    }
    fact("decision", Cell::new(call.decision["verdict"].as_str().unwrap_or_default()));
    for step in call.decision["trace"].as_array().into_iter().flatten() {
        fact("", Cell::new(&step_in_words(step)));
    }
    for file in files {
        fact("changed", Cell::new(file));
    }
    if let Some(undo) = undo {
        fact("undo", Cell::new(undo));
    }
    let mut page = Page::default();
    page.text(&table.render(None));
    page.section("Arguments as they came", &indented(call.original_arguments.as_ref()));
    page.section("Arguments", &indented(Some(&call.arguments).filter(|value| !value.is_null())));
    let (title, text) = match call.status {
        CallStatus::Begun => ("Outcome", UNKNOWN),
        CallStatus::Success => ("Result", call.summary.as_str()),
        CallStatus::Error(_) => ("Message", call.summary.as_str()),
    };
    page.section(title, &visible::lines(text));
    page.finish()
}

fn indented(value: Option<&Value>) -> String {
    value.map(|value| visible::lines(&format!("{value:#}")).into_owned()).unwrap_or_default()
}

fn step_in_words(step: &Value) -> String {
    let word = |name: &str| step[name].as_str().unwrap_or_default();
    let line = step["line"].as_u64().map(|line| format!(":{line}")).unwrap_or_default();
    format!("{} {}: {}  {}{line}", word("outcome"), word("step"), word("entry"), word("file")).trim_end().to_owned()
}

pub(crate) fn to_json(call: &CallRecord) -> Value {
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

pub(crate) fn local_time(time: SystemTime, format: &str) -> String {
    let Ok(time) = Timestamp::try_from(time) else { return "unknown".into() };
    time.to_zoned(TimeZone::system()).strftime(format).to_string()
}

/// How long a call took. What is recorded of one that was only begun is the time until then.
fn took(call: &CallRecord) -> String {
    if call.status == CallStatus::Begun { "unknown".into() } else { duration(call.elapsed) }
}

/// Milliseconds with three decimals.
pub(crate) fn milliseconds(elapsed: Duration) -> f64 {
    (elapsed.as_secs_f64() * 1e6).round() / 1e3
}

/// A duration as people read it.
pub(crate) fn duration(elapsed: Duration) -> String {
    match elapsed.as_secs_f64() {
        seconds if seconds >= 60.0 => format!("{} min {} s", elapsed.as_secs() / 60, elapsed.as_secs() % 60),
        seconds if seconds >= 1.0 => format!("{seconds:.1} s"),
        seconds if seconds >= 0.01 => format!("{:.0} ms", seconds * 1e3),
        seconds => format!("{:.1} ms", seconds * 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit_and_no_noise() {
        for (micros, text) in [(400, "0.4 ms"), (9_940, "9.9 ms"), (12_300, "12 ms"), (1_250_000, "1.2 s"), (125_000_000, "2 min 5 s")] {
            assert_eq!(duration(Duration::from_micros(micros)), text);
        }
        assert!((milliseconds(Duration::from_nanos(1_234_567)) - 1.235).abs() < 1e-9);
    }
}
