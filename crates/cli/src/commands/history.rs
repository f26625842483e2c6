//! `haft history`: lists recorded calls, or shows one in full.

use std::sync::Arc;

use haft_contract::ports::PreImage;
use haft_store::{CallFilter, CallLog, CallRecord, CallStatus, PreImageRecord};
use haft_text::display;
use haft_tui::calls::{status_cell, table, to_json, took};
use haft_tui::time::local_time;
use serde_json::{Value, json};

use crate::arguments::HistoryArgs;
use crate::commands::block_on;
use crate::commands::browser::recordings;
use crate::effects;
use crate::failure::{Exit, Failure};
use crate::output::{DIM, Output, note, print};
use crate::table::{ColumnFit, Table, TableCell};
use crate::text_builder::TextBuilder;
use crate::wire;

pub(crate) fn run(request: HistoryArgs, output: &Output) -> Result<Exit, Failure> {
    block_on(async {
        let log: Arc<dyn CallLog> = wire::store(&wire::data_folder()?)?;
        match request.id {
            Some(id) => one(&log, &id, output).await?,
            None => list(&log, request, output).await?,
        }
        Ok(Exit::Success)
    })
}

async fn list(log: &Arc<dyn CallLog>, request: HistoryArgs, output: &Output) -> Result<(), Failure> {
    let tool = match request.tool {
        // Any name of the tool; calls of a removed tool are found by its recorded name.
        Some(name) => Some(wire::registry()?.get(&name).map_or(name, |entry| entry.name().to_owned())),
        None => None,
    };
    let filter = CallFilter { limit: usize::try_from(request.limit).ok(), tool, session: None, failed: request.failed };
    let calls = log.list(filter).await?;
    if output.json {
        return output.data(&calls.iter().map(to_json).collect::<Vec<_>>());
    }
    if calls.is_empty() {
        note("no matching calls; `haft call TOOL` makes one");
        return Ok(());
    }
    print(&table(&calls, output.has_symbols()).render(output.width))
}

async fn one(log: &Arc<dyn CallLog>, id: &str, output: &Output) -> Result<(), Failure> {
    let call = log.get(id).await?;
    let images = log.pre_images(&call.id).await?;
    let is_known = |image: &PreImageRecord| image.mode != Some(PreImage::UNKNOWN);
    let undo = (images.iter().any(is_known) && !call.undone).then(|| format!("haft undo {}", call.id));
    let note = |image: &PreImageRecord| if is_known(image) { "" } else { " (its former state was not kept)" };
    let files: Vec<String> = images.iter().map(|image| format!("{}{}", image.path.display(), note(image))).collect();
    let recording = recording(&call)?;
    if output.json {
        let mut value = to_json(&call);
        value["files"] = json!(files);
        value["undo"] = json!(undo);
        value["recording"] = json!(recording);
        return output.data(&value);
    }
    print(&in_full(&call, &files, undo.as_deref(), recording.as_deref(), output))
}

/// The command that shows what the browser showed after a call.
fn recording(call: &CallRecord) -> Result<Option<String>, Failure> {
    if call.tool != "browser" {
        return Ok(None);
    }
    let steps = recordings(&wire::data_folder()?).steps(&call.session);
    Ok(steps.iter().any(|step| step.call == call.call_id).then(|| format!("haft browser recordings {}", call.session)))
}

/// How many changed paths are shown.
const MAX_FILES: usize = 200;

/// Outcome of a call without a recorded result.
const UNKNOWN: &str = "The process ended before the result was known; the change may or may not have happened.\n\
                       If the call still runs, its result will be recorded.";

fn in_full(call: &CallRecord, files: &[String], undo: Option<&str>, recording: Option<&str>, output: &Output) -> String {
    let mut table = Table::new(&[("", ColumnFit::Keep), ("", ColumnFit::Keep)]);
    let mut fact = |name: &str, cell: TableCell| table.row(vec![TableCell::styled(name, DIM), cell]);
    fact("id", TableCell::new(&call.id));
    fact("call id", TableCell::new(&call.call_id));
    fact("tool", TableCell::new(&call.tool));
    fact("when", TableCell::new(&local_time(call.started, "%Y-%m-%d %H:%M:%S %Z")));
    fact("took", TableCell::new(&took(call)));
    fact("status", status_cell(call, output.has_symbols()));
    fact("agent", TableCell::new(&call.agent));
    fact("session", TableCell::new(&call.session));
    fact("workspace", TableCell::new(&call.workspace.to_string_lossy()));
    for effect in effects::all(&call.effects) {
        let (kind, target) = effects::describe(effect, &call.workspace);
        fact("effect", TableCell::new(&format!("{kind} {target}")));
    }
    fact("decision", TableCell::new(call.decision["verdict"].as_str().unwrap_or_default()));
    for step in call.decision["trace"].as_array().into_iter().flatten() {
        fact("", TableCell::new(&step_text(step)));
    }
    for file in files.iter().take(MAX_FILES) {
        fact("changed", TableCell::new(file));
    }
    if files.len() > MAX_FILES {
        fact("", TableCell::new(&format!("and {} more; --json lists them all", files.len() - MAX_FILES)));
    }
    if let Some(undo) = undo {
        fact("undo", TableCell::new(undo));
    }
    if let Some(command) = recording {
        fact("recording", TableCell::new(command));
    }
    let mut page = TextBuilder::default();
    page.text(&table.render(None));
    page.section("Original arguments", &indented(call.original_arguments.as_ref()));
    page.section("Arguments", &indented(Some(&call.arguments).filter(|value| !value.is_null())));
    let (title, text) = match call.status {
        CallStatus::Begun => ("Outcome", UNKNOWN),
        CallStatus::Success => ("Result", call.summary.as_str()),
        CallStatus::Error(_) => ("Message", call.summary.as_str()),
    };
    page.section(title, &display::escape_lines(text));
    page.finish()
}

fn indented(value: Option<&Value>) -> String {
    value.map(|value| display::escape_lines(&format!("{value:#}")).into_owned()).unwrap_or_default()
}

fn step_text(step: &Value) -> String {
    let word = |name: &str| step[name].as_str().unwrap_or_default();
    let line = step["line"].as_u64().map(|line| format!(":{line}")).unwrap_or_default();
    format!("{} {}: {}  {}{line}", word("outcome"), word("step"), word("entry"), word("file")).trim_end().to_owned()
}
