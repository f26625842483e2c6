//! The steps of a decision as text: of one that is made now, or of one that history keeps.

use std::collections::BTreeMap;

use anstyle::Style;
use haft_engine::{NOT_YET, NOTHING_CONFIGURED};
use haft_policy::{STEPS, StepOutcome, TraceEntry};
use haft_text::advice::for_user;
use serde_json::Value;

use super::source;
use crate::output::{CAUTION, DIM, ERROR, GOOD, prose_width};
use crate::table::{ColumnFit, Table, TableCell, wrap};
use crate::text_builder::TextBuilder;

/// One step of a trace.
pub(super) struct TraceRow<'a> {
    step: &'a str,
    outcome: (&'static str, Style),
    entry: &'a str,
    source: String,
}

impl<'a> From<&'a TraceEntry> for TraceRow<'a> {
    fn from(entry: &'a TraceEntry) -> Self {
        let outcome = match entry.outcome {
            StepOutcome::Pass => ("pass", GOOD),
            StepOutcome::Ask => ("ask", CAUTION),
            StepOutcome::Deny => ("deny", ERROR),
        };
        Self { step: entry.step, outcome, entry: &entry.entry, source: source(entry).unwrap_or_default() }
    }
}

impl<'a> From<&'a Value> for TraceRow<'a> {
    fn from(recorded: &'a Value) -> Self {
        let text = |name: &str| recorded[name].as_str().unwrap_or_default();
        let outcome = match text("outcome") {
            "deny" => ("deny", ERROR),
            "ask" => ("ask", CAUTION),
            _ => ("pass", GOOD),
        };
        let line = recorded["line"].as_u64().map(|line| format!(":{line}")).unwrap_or_default();
        Self { step: text("step"), outcome, entry: text("entry"), source: format!("{}{line}", text("file")) }
    }
}

/// Steps with an outcome, numbered; below, the steps without one.
pub(super) fn trace_lines<'a>(trace: impl Iterator<Item = TraceRow<'a>>, width: Option<usize>) -> String {
    let mut table =
        Table::new(&[("", ColumnFit::Keep), ("", ColumnFit::Keep), ("", ColumnFit::Keep), ("", ColumnFit::Wrap), ("", ColumnFit::Wrap)]);
    let mut silent: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for TraceRow { step, outcome: (outcome, style), entry, source } in trace {
        if matches!(entry, NOTHING_CONFIGURED | NOT_YET) {
            silent.entry(entry).or_default().push(step);
            continue;
        }
        let number = STEPS.iter().position(|known| *known == step).map_or_else(String::new, |at| format!("{}.", at + 1));
        let cells = [
            TableCell::new(&number),
            TableCell::styled(outcome, style),
            TableCell::new(step),
            TableCell::new(&for_user(entry)),
            TableCell::new(&source),
        ];
        table.row(cells.into());
    }
    let mut page = TextBuilder::default();
    page.text(&table.render(width));
    for (what, steps) in silent {
        let text = format!("{what}: {}", steps.join(", "));
        for line in wrap(&text, prose_width(width)) {
            page.line(format_args!("{DIM}{line}{DIM:#}"));
        }
    }
    page.finish()
}
