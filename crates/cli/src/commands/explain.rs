//! `haft explain`: why a tool or a call is allowed, asked about, or denied.

use std::collections::BTreeMap;
use std::path::Path;

use anstyle::Style;
use haft_contract::visible;
use haft_engine::{Explanation, NOT_YET, NOTHING_CONFIGURED, Outcome, TraceEntry, Verdict};

use crate::arguments::{Common, Explain, Who};
use crate::commands::block_on;
use crate::effects;
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::output::{BAD, CARE, DIM, GOOD, Output, STRONG, print, prose_width};
use crate::page::{INDENT, Page};
use crate::table::{Cell, Room, Table, wrapped};
use crate::wire::{self, Wire};

pub(crate) fn run(common: Common, request: Explain) -> Result<Exit, Failure> {
    let Explain { all, who, words } = request;
    let registry = wire::registry()?;
    if all {
        let output = Output::new(&common);
        return table(&Wire::with(registry, &common, &output)?, &who, &output);
    }
    let invocation = Invocation::read("explain", words, common, &registry)?;
    let output = Output::new(&invocation.common);
    let wire = Wire::with(registry, &invocation.common, &output)?;
    let (tool, who) = (invocation.tool.clone(), who.then(invocation.who.clone()));
    let arguments = invocation.arguments(wire.settings.config.limits.argument_bytes)?;
    let explaining = wire.explaining()?;
    let session = explaining.session(None, &who);
    let explanation = block_on(async { Ok(explaining.engine.explain(&tool, arguments, &session).await?) })?;
    if output.json {
        output.data(&explanation)?;
    } else {
        print(&in_words(&explanation, session.workspace(), output.width))?;
    }
    Ok(Exit::Success)
}

/// Every tool: its verdict, and what decided it.
fn table(wire: &Wire, who: &Who, output: &Output) -> Result<Exit, Failure> {
    let explaining = wire.explaining()?;
    let session = explaining.session(None, who);
    let names = wire.registry.names();
    let explanations: Vec<Explanation> = block_on(async {
        let mut all = Vec::new();
        for name in &names {
            all.push(explaining.engine.explain(name, None, &session).await?);
        }
        Ok(all)
    })?;
    if output.json {
        output.data(&explanations)?;
        return Ok(Exit::Success);
    }
    let columns = [("TOOL", Room::Keep), ("VERDICT", Room::Keep), ("STEP", Room::Keep), ("BECAUSE", Room::Wrap), ("WHERE", Room::Wrap)];
    let mut table = Table::new(&columns);
    for explanation in &explanations {
        let (word, style) = verdict(explanation.verdict);
        let decided = decisive(&explanation.trace);
        let place = decided.and_then(short_place).unwrap_or_default();
        table.row(vec![
            Cell::new(&explanation.tool),
            Cell::styled(word, style),
            Cell::new(decided.map_or("", |entry| entry.step)),
            Cell::new(decided.map_or("", |entry| entry.entry.as_ref())),
            Cell::new(&place),
        ]);
    }
    print(&table.render(output.width))?;
    Ok(Exit::Success)
}

/// The first step that removed a tool, or else the first that asks.
pub(crate) fn decisive(trace: &[TraceEntry]) -> Option<&TraceEntry> {
    let first = |wanted: Outcome| trace.iter().find(|entry| entry.outcome == wanted);
    first(Outcome::Deny).or_else(|| first(Outcome::Ask))
}

/// What decided, and where that stands, in one line.
pub(crate) fn because(trace: &[TraceEntry]) -> String {
    let Some(entry) = decisive(trace) else { return "no step has anything against it".into() };
    let place = place(entry).map(|place| format!(", {place}")).unwrap_or_default();
    format!("the step '{}': {}{place}", entry.step, entry.entry)
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

/// The steps that had a say, by their place in the pipeline; beneath, those that had none.
fn trace_lines(trace: &[TraceEntry], width: Option<usize>) -> String {
    let mut table = Table::new(&[("", Room::Keep), ("", Room::Keep), ("", Room::Keep), ("", Room::Wrap), ("", Room::Wrap)]);
    let mut silent: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (number, entry) in (1..).zip(trace) {
        if matches!(entry.entry.as_ref(), NOTHING_CONFIGURED | NOT_YET) {
            silent.entry(&entry.entry).or_default().push(entry.step);
            continue;
        }
        let (outcome, style) = outcome(entry.outcome);
        let number = format!("{number}.");
        let place = place(entry).unwrap_or_default();
        let cells = [Cell::new(&number), Cell::styled(outcome, style), Cell::new(entry.step), Cell::new(&entry.entry), Cell::new(&place)];
        table.row(cells.into());
    }
    let mut page = Page::default();
    page.text(&table.render(width));
    for (what, steps) in silent {
        let text = format!("{what}: {}", steps.join(", "));
        for line in wrapped(&text, prose_width(width)) {
            page.line(format_args!("{DIM}{line}{DIM:#}"));
        }
    }
    page.finish()
}

fn outcome(outcome: Outcome) -> (&'static str, Style) {
    match outcome {
        Outcome::Pass => ("pass", GOOD),
        Outcome::Ask => ("ask", CARE),
        Outcome::Deny => ("deny", BAD),
    }
}

/// The same without the folders, where there is little room.
pub(crate) fn short_place(entry: &TraceEntry) -> Option<String> {
    let file = entry.file.as_ref()?;
    let name = file.file_name().map_or_else(|| file.display().to_string(), |name| Path::new(name).display().to_string());
    Some(entry.line.map_or_else(|| name.clone(), |line| format!("{name}:{line}")))
}

/// Where a step's reason stands: `file:line`, or the variable or flag.
pub(crate) fn place(entry: &TraceEntry) -> Option<String> {
    let file = entry.file.as_ref()?.display();
    Some(entry.line.map_or_else(|| file.to_string(), |line| format!("{file}:{line}")))
}
