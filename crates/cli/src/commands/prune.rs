//! `haft prune`: lists old data that would be removed, and removes it with `--yes`.

use haft_contract::RetentionLimit;
use haft_text::numbers;
use serde_json::{Value, json};

use crate::arguments::{Common, PruneArgs};
use crate::failure::{Exit, Failure};
use crate::output::{DIM, Output, note, print};
use crate::table::{ColumnFit, Table, TableCell};
use crate::wire::{self, PruneMode, PrunedKind, Wire};

pub(crate) fn run(common: &Common, request: &PruneArgs, output: &Output) -> Result<Exit, Failure> {
    let wire = Wire::new(common, output)?;
    let mode = if request.yes { PruneMode::Remove(None) } else { PruneMode::DryRun };
    let kinds = wire::prune(&wire.settings.data_folder, &wire.settings.config.retention, mode)?;
    if output.json {
        output.data(&json!({ "dry_run": !request.yes, "kinds": kinds.iter().map(to_json).collect::<Vec<_>>() }))?;
        return Ok(Exit::Success);
    }
    print(&table(&kinds, request.yes).render(output.width))?;
    let (entries, bytes) =
        kinds.iter().fold((0, 0), |(entries, bytes), kind| (entries + kind.summary.removed, bytes + kind.summary.removed_bytes));
    note(&match (entries, request.yes) {
        (0, _) => "nothing exceeds its limits; [retention] in the configuration sets them".to_owned(),
        (_, true) => format!("removed: {}, {}", numbers::count(entries, "item"), numbers::size(bytes)),
        (_, false) => {
            format!("nothing was removed; `haft prune --yes` removes {}, {}", numbers::count(entries, "item"), numbers::size(bytes))
        }
    });
    Ok(Exit::Success)
}

fn table(kinds: &[PrunedKind], removed: bool) -> Table {
    let goes = if removed { "REMOVED" } else { "WOULD GO" };
    let mut table = Table::new(&[
        ("KIND", ColumnFit::Keep),
        (goes, ColumnFit::Keep),
        ("BYTES", ColumnFit::Keep),
        ("STAYS", ColumnFit::Keep),
        ("BYTES", ColumnFit::Drop(2)),
        ("LIMIT", ColumnFit::Drop(1)),
    ]);
    for PrunedKind { name, limit, summary } in kinds {
        let in_use = if summary.in_use == 0 { String::new() } else { format!(" ({} in use)", numbers::group_digits(summary.in_use)) };
        table.row(vec![
            TableCell::new(name),
            TableCell::new(&numbers::group_digits(summary.removed)),
            TableCell::new(&numbers::size(summary.removed_bytes)),
            TableCell::new(&format!("{}{in_use}", numbers::group_digits(summary.kept))),
            TableCell::new(&numbers::size(summary.kept_bytes)),
            TableCell::styled(&describe(limit), DIM),
        ]);
    }
    table
}

fn describe(limit: &RetentionLimit) -> String {
    let age = limit.age.map(|age| numbers::count(age.as_secs() / 86_400, "day"));
    let parts: Vec<String> = age.into_iter().chain(limit.bytes.map(numbers::size)).collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

fn to_json(kind: &PrunedKind) -> Value {
    let PrunedKind { name, limit, summary } = kind;
    json!({
        "kind": name,
        "limit": { "days": limit.age.map(|age| age.as_secs() / 86_400), "bytes": limit.bytes },
        "removed": summary.removed,
        "removed_bytes": summary.removed_bytes,
        "kept": summary.kept,
        "kept_bytes": summary.kept_bytes,
        "in_use": summary.in_use,
    })
}
