//! `haft explain`: why a tool or a call is allowed, asked about, or denied.

use std::collections::BTreeMap;
use std::path::Path;

use anstyle::Style;
use haft_contract::{Arguments, visible};
use haft_engine::{Explanation, HOOK, NOT_YET, NOTHING_CONFIGURED, Outcome, TraceEntry, Verdict};

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
    block_on(one(&wire, &tool, arguments, &who, &output))?;
    Ok(Exit::Success)
}

/// One tool, or one call of it.
pub(crate) async fn one(wire: &Wire, tool: &str, arguments: Option<Arguments>, who: &Who, output: &Output) -> Result<(), Failure> {
    let explaining = wire.explaining()?;
    let session = explaining.session(None, who)?;
    let explanation = explaining.engine.explain(tool, arguments, &session).await?;
    if output.json { output.data(&explanation) } else { print(&in_words(&explanation, session.workspace(), output.width)) }
}

/// Every tool: its verdict, and what decided it.
fn table(wire: &Wire, who: &Who, output: &Output) -> Result<Exit, Failure> {
    let explaining = wire.explaining()?;
    let session = explaining.session(None, who)?;
    let explanations: Vec<Explanation> = block_on(async {
        let mut all = Vec::new();
        for name in wire.registry.names() {
            all.push(explaining.engine.explain(&name, None, &session).await?);
        }
        Ok(all)
    })?;
    if output.json {
        output.data(&explanations)?;
    } else {
        print(&rows(&explanations).render(output.width))?;
    }
    Ok(Exit::Success)
}

fn rows(explanations: &[Explanation]) -> Table {
    let columns = [("TOOL", Room::Keep), ("VERDICT", Room::Keep), ("STEP", Room::Keep), ("BECAUSE", Room::Wrap), ("WHERE", Room::Wrap)];
    let mut table = Table::new(&columns);
    for explanation in explanations {
        let (word, style) = verdict(explanation.verdict);
        let decided = decisive(&explanation.trace);
        let (step, entry) = decided.map_or(("", ""), |entry| (entry.step, entry.entry.as_ref()));
        let place = decided.and_then(short_place).unwrap_or_default();
        let cells = [Cell::new(&explanation.tool), Cell::styled(word, style), Cell::new(step), Cell::new(entry), Cell::new(&place)];
        table.row(cells.into());
    }
    table
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
    page.line(format_args!("{STRONG}{}{STRONG:#}: {style}{verdict}{style:#}{}", explanation.tool, objections(explanation)));
    page.section("It would", &effect_lines(explanation, workspace).render(inner));
    page.section("Because", &trace_lines(&explanation.trace, inner));
    page.section("The model is told", &prose(explanation.message.as_deref(), inner));
    page.section("To change it", &prose(explanation.to_change.as_deref(), inner));
    page.finish()
}

/// Hooks are not run to explain, and each may still object.
fn objections(explanation: &Explanation) -> &'static str {
    let asked = explanation.verdict != Verdict::Deny && explanation.trace.iter().any(|entry| entry.step == HOOK);
    if asked { ", unless a hook objects" } else { "" }
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

/// The same without the folders, where there is little room; but a project's file is not taken for the person's.
pub(crate) fn short_place(entry: &TraceEntry) -> Option<String> {
    let file = entry.file.as_ref()?;
    let of_project = file.parent().is_some_and(|folder| folder.ends_with(".haft"));
    let name = file.file_name().map_or_else(|| file.display().to_string(), |name| Path::new(name).display().to_string());
    let name = if of_project { format!(".haft/{name}") } else { name };
    Some(entry.line.map_or_else(|| name.clone(), |line| format!("{name}:{line}")))
}

/// Where a step's reason stands: `file:line`, or the variable or flag.
pub(crate) fn place(entry: &TraceEntry) -> Option<String> {
    let file = entry.file.as_ref()?.display();
    Some(entry.line.map_or_else(|| file.to_string(), |line| format!("{file}:{line}")))
}
