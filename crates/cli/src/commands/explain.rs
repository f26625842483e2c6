//! `haft explain`: why a tool or a call is allowed, asked about, or denied.

use std::path::Path;

use anstyle::Style;
use haft_contract::visible;
use haft_engine::{Explanation, Outcome, TraceEntry, Verdict};

use crate::arguments::{Common, ToolWords};
use crate::commands::block_on;
use crate::effects;
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::output::{BAD, CARE, GOOD, Output, STRONG, print, prose_width};
use crate::page::{INDENT, Page};
use crate::table::{Cell, Room, Table, wrapped};
use crate::wire::{self, Wire};

pub(crate) fn run(common: Common, words: ToolWords) -> Result<Exit, Failure> {
    let registry = wire::registry()?;
    let invocation = Invocation::read("explain", words, common, &registry)?;
    let output = Output::new(&invocation.common);
    let wire = Wire::with(registry, &invocation.common, &output)?;
    let tool = invocation.tool.clone();
    let arguments = invocation.arguments(wire.settings.config.limits.argument_bytes)?;
    let (engine, session) = wire.explaining()?;
    let explanation = block_on(async { Ok(engine.explain(&tool, arguments, &session).await?) })?;
    if output.json {
        output.data(&explanation)?;
    } else {
        print(&in_words(&explanation, session.workspace(), output.width))?;
    }
    Ok(Exit::Success)
}

fn in_words(explanation: &Explanation, workspace: &Path, width: Option<usize>) -> String {
    let (verdict, style) = verdict(explanation.verdict);
    let inner = width.map(|width| width.saturating_sub(INDENT.len()));
    let mut page = Page::default();
    page.line(format_args!("{STRONG}{}{STRONG:#}: {style}{verdict}{style:#}", explanation.tool));
    page.section("It would", &effect_lines(explanation, workspace).render(inner));
    page.section("Because", &trace_lines(&explanation.trace, inner));
    page.section("The model is told", &prose(explanation.message.as_deref(), inner));
    page.section("To change it", &prose(explanation.to_change.as_deref(), inner));
    page.finish()
}

fn prose(text: Option<&str>, width: Option<usize>) -> String {
    wrapped(&visible::lines(text.unwrap_or_default()), prose_width(width)).join("\n")
}

fn verdict(verdict: Verdict) -> (&'static str, Style) {
    match verdict {
        Verdict::Allow => ("allow", GOOD),
        Verdict::Ask => ("ask", CARE),
        Verdict::Deny => ("deny", BAD),
    }
}

fn effect_lines(explanation: &Explanation, workspace: &Path) -> Table {
    // Effects are never cut: what would happen is what was asked.
    let mut table = Table::new(&[("", Room::Keep), ("", Room::Wrap)]);
    for effect in effects::all(&explanation.effects) {
        let (kind, target) = effects::describe(effect, workspace);
        table.row(vec![Cell::new(&kind), Cell::new(&target)]);
    }
    table
}

fn trace_lines(trace: &[TraceEntry], width: Option<usize>) -> String {
    if trace.is_empty() {
        return "no step has anything against it".into();
    }
    let mut table = Table::new(&[("", Room::Keep), ("", Room::Keep), ("", Room::Keep), ("", Room::Wrap), ("", Room::Wrap)]);
    for (number, entry) in (1..).zip(trace) {
        let (outcome, style) = outcome(entry.outcome);
        let number = format!("{number}.");
        let place = place(entry).unwrap_or_default();
        table.row(vec![
            Cell::new(&number),
            Cell::styled(outcome, style),
            Cell::new(entry.step),
            Cell::new(&entry.entry),
            Cell::new(&place),
        ]);
    }
    table.render(width)
}

fn outcome(outcome: Outcome) -> (&'static str, Style) {
    match outcome {
        Outcome::Pass => ("pass", GOOD),
        Outcome::Ask => ("ask", CARE),
        Outcome::Deny => ("deny", BAD),
    }
}

/// Where a step's reason stands: `file:line`, or the variable or flag.
pub(crate) fn place(entry: &TraceEntry) -> Option<String> {
    let file = entry.file.as_ref()?.display();
    Some(entry.line.map_or_else(|| file.to_string(), |line| format!("{file}:{line}")))
}
