//! `haft quarantine`: lists, shows, restores and removes what commands wrote and could not stay.

use haft_contract::{EntryKind, QuarantineRecord};
use haft_jobs::{Quarantine, RestoreError};
use haft_text::display;
use haft_tui::time::local_time;
use serde_json::{Value, json};

use crate::arguments::QuarantineCommand;
use crate::failure::{Exit, Failure};
use crate::output::{DIM, Output, note, print};
use crate::table::{ColumnFit, Table, TableCell};
use crate::text_builder::TextBuilder;
use crate::wire;

/// Bytes of a file that are shown.
pub(crate) const MAX_SHOWN: u64 = 64 << 10;

pub(crate) fn run(command: Option<&QuarantineCommand>, output: &Output) -> Result<Exit, Failure> {
    let quarantine = Quarantine::new(wire::data_folder()?.join(wire::QUARANTINE));
    match command {
        None | Some(QuarantineCommand::List) => list(&quarantine, output),
        Some(QuarantineCommand::Show { id }) => show(&quarantine, &find(&quarantine, id)?, output),
        Some(QuarantineCommand::Restore { id, force }) => restore(&quarantine, &find(&quarantine, id)?, *force, output),
        Some(QuarantineCommand::Remove { id: Some(id), .. }) => remove(&quarantine, &[find(&quarantine, id)?], output),
        Some(QuarantineCommand::Remove { id: None, .. }) => remove(&quarantine, &quarantine.list(), output),
    }
}

pub(crate) fn find(quarantine: &Quarantine, id: &str) -> Result<QuarantineRecord, Failure> {
    quarantine.find(id).ok_or_else(|| {
        let id = display::escape_line(id);
        Failure::failed("not_found", format!("there is no single entry '{id}' in quarantine")).help("`haft quarantine` lists them")
    })
}

fn list(quarantine: &Quarantine, output: &Output) -> Result<Exit, Failure> {
    let records = quarantine.list();
    if output.json {
        output.data(&records.iter().map(to_json).collect::<Vec<_>>())?;
        return Ok(Exit::Success);
    }
    if records.is_empty() {
        note("quarantine is empty");
        return Ok(Exit::Success);
    }
    let mut table =
        Table::new(&[("id", ColumnFit::Keep), ("when", ColumnFit::Drop(1)), ("path", ColumnFit::Keep), ("why", ColumnFit::Wrap)]);
    for record in &records {
        table.row(vec![
            TableCell::new(&record.id),
            TableCell::styled(&local_time(record.made, "%m-%d %H:%M"), DIM),
            TableCell::new(&record.path.to_string_lossy()),
            TableCell::new(&record.why),
        ]);
    }
    print(&table.render(output.width))?;
    Ok(Exit::Success)
}

fn show(quarantine: &Quarantine, record: &QuarantineRecord, output: &Output) -> Result<Exit, Failure> {
    let content = (record.entry == EntryKind::File).then(|| quarantine.content(record, MAX_SHOWN).ok()).flatten();
    let content = content.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if output.json {
        let mut value = to_json(record);
        value["content"] = json!(content);
        output.data(&value)?;
        return Ok(Exit::Success);
    }
    let mut table = Table::new(&[("", ColumnFit::Keep), ("", ColumnFit::Keep)]);
    let mut fact = |name: &str, text: &str| table.row(vec![TableCell::styled(name, DIM), TableCell::new(text)]);
    fact("id", &record.id);
    fact("path", &record.path.to_string_lossy());
    fact("why", &record.why);
    fact("when", &local_time(record.made, "%Y-%m-%d %H:%M:%S %Z"));
    fact("command", &record.command);
    fact("session", &record.session);
    if let Some(call) = &record.call {
        fact("call", call);
    }
    fact("restore", &format!("haft quarantine restore {}", record.id));
    let mut page = TextBuilder::default();
    page.text(&table.render(None));
    page.section("Content", &display::escape_lines(content.as_deref().unwrap_or_default()));
    print(&page.finish())?;
    Ok(Exit::Success)
}

fn restore(quarantine: &Quarantine, record: &QuarantineRecord, force: bool, output: &Output) -> Result<Exit, Failure> {
    let path = display::escape_line(&record.path.to_string_lossy()).into_owned();
    let replaced = quarantine.restore(record, force).map_err(|error| match error {
        RestoreError::Occupied(_) => Failure::failed("conflict", format!("'{path}' exists now, so nothing was restored"))
            .help("--force replaces it; what is there goes to quarantine"),
        RestoreError::Failed(error) => Failure::failed("execution_error", format!("'{path}' cannot be restored: {error}")),
    })?;
    let also = replaced.as_ref().map(|id| format!("; what was there is {id}")).unwrap_or_default();
    output.show(|| json!({ "restored": record.path.to_string_lossy(), "replaced": replaced }), || format!("restored: {path}{also}\n"))
}

fn remove(quarantine: &Quarantine, records: &[QuarantineRecord], output: &Output) -> Result<Exit, Failure> {
    for record in records {
        quarantine.remove(&record.id);
    }
    let ids: Vec<_> = records.iter().map(|record| &*record.id).collect();
    output
        .show(|| json!({ "removed": ids }), || format!("removed: {}\n", if ids.is_empty() { "nothing".to_owned() } else { ids.join(" ") }))
}

pub(crate) fn to_json(record: &QuarantineRecord) -> Value {
    json!({
        "id": record.id,
        "path": record.path.to_string_lossy(),
        "entry": record.entry,
        "size": record.size,
        "why": record.why,
        "session": record.session,
        "call": record.call,
        "command": record.command,
        "made": local_time(record.made, "%Y-%m-%dT%H:%M:%S%:z"),
    })
}
