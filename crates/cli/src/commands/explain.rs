//! `haft explain`: why a tool or a call is allowed, needs approval, or is denied.

mod addresses;

use std::collections::BTreeMap;
use std::path::Path;

use anstyle::Style;
use haft_contract::Arguments;
use haft_engine::{Explanation, HOOK, NOT_YET, NOTHING_CONFIGURED};
use haft_policy::{StepOutcome, TraceEntry, Verdict};
use haft_text::display;

use crate::arguments::{CallerArgs, Common, ExplainArgs};
use crate::commands::block_on;
use crate::effects;
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::output::{CAUTION, DIM, ERROR, GOOD, Output, STRONG, prose_width};
use crate::table::{ColumnFit, Table, TableCell, wrap};
use crate::text_builder::{INDENT, TextBuilder};
use crate::wire::{self, Wire};

pub(crate) fn run(common: Common, request: ExplainArgs) -> Result<Exit, Failure> {
    let ExplainArgs { all, resolve, who, words } = request;
    let registry = wire::registry()?;
    if all {
        let output = common.output();
        return table(&Wire::with_registry(registry, &common, &output)?, &who, &output);
    }
    let invocation = Invocation::parse("explain", words, common, &registry)?;
    let output = invocation.common.output();
    let wire = Wire::with_registry(registry, &invocation.common, &output)?;
    let (tool, who) = (invocation.tool.clone(), who.then(invocation.who.clone()));
    let arguments = invocation.arguments(wire.settings.config.limits.argument_bytes)?;
    if resolve {
        return block_on(addresses::one(&wire, &tool, arguments, &who, &output));
    }
    block_on(one(&wire, &tool, arguments, &who, &output))
}

/// One tool, or one call of it.
pub(crate) async fn one(wire: &Wire, tool: &str, arguments: Option<Arguments>, who: &CallerArgs, output: &Output) -> Result<Exit, Failure> {
    let explainer = wire.explainer()?;
    let session = explainer.session(None, who)?;
    let explanation = explainer.engine.explain(tool, arguments, &session).await?;
    output.show(|| &explanation, || in_words(&explanation, session.workspace(), output.width))
}

/// Every tool with its verdict and the deciding step.
fn table(wire: &Wire, who: &CallerArgs, output: &Output) -> Result<Exit, Failure> {
    let explainer = wire.explainer()?;
    let session = explainer.session(None, who)?;
    let explanations: Vec<Explanation> = block_on(async {
        let mut all = Vec::new();
        for name in wire.registry.names() {
            all.push(explainer.engine.explain(&name, None, &session).await?);
        }
        Ok(all)
    })?;
    output.show(|| &explanations, || rows(&explanations).render(output.width))
}

fn rows(explanations: &[Explanation]) -> Table {
    let columns = [
        ("TOOL", ColumnFit::Keep),
        ("VERDICT", ColumnFit::Keep),
        ("STEP", ColumnFit::Keep),
        ("BECAUSE", ColumnFit::Wrap),
        ("WHERE", ColumnFit::Wrap),
    ];
    let mut table = Table::new(&columns);
    for explanation in explanations {
        let (word, style) = verdict(explanation.verdict);
        let decided = decisive(&explanation.trace);
        let (step, entry) = decided.map_or(("", ""), |entry| (entry.step, entry.entry.as_ref()));
        let source = decided.and_then(short_source).unwrap_or_default();
        let cells = [
            TableCell::new(&explanation.tool),
            TableCell::styled(word, style),
            TableCell::new(step),
            TableCell::new(entry),
            TableCell::new(&source),
        ];
        table.row(cells.into());
    }
    table
}

/// The first step that denies, or else the first that asks.
pub(crate) fn decisive(trace: &[TraceEntry]) -> Option<&TraceEntry> {
    let first = |wanted: StepOutcome| trace.iter().find(|entry| entry.outcome == wanted);
    first(StepOutcome::Deny).or_else(|| first(StepOutcome::Ask))
}

/// The deciding step and its source, in one line.
pub(crate) fn because(trace: &[TraceEntry]) -> String {
    let Some(entry) = decisive(trace) else { return "no step objects".into() };
    let source = source(entry).map(|source| format!(", {source}")).unwrap_or_default();
    format!("the step '{}': {}{source}", entry.step, entry.entry)
}

fn in_words(explanation: &Explanation, workspace: &Path, width: Option<usize>) -> String {
    let (verdict, style) = verdict(explanation.verdict);
    let inner = width.map(|width| width.saturating_sub(INDENT.len()));
    let mut page = TextBuilder::default();
    page.line(format_args!("{STRONG}{}{STRONG:#}: {style}{verdict}{style:#}{}", explanation.tool, objections(explanation)));
    page.section("It would", &effect_lines(explanation, workspace).render(inner));
    page.section("Because", &trace_lines(&explanation.trace, inner));
    page.section("The model is told", &prose(explanation.message.as_deref(), inner));
    page.section("To change it", &prose(explanation.to_change.as_deref(), inner));
    page.finish()
}

/// Hooks do not run for an explanation, and may object to the call.
fn objections(explanation: &Explanation) -> &'static str {
    let may_object = explanation.verdict != Verdict::Deny && explanation.trace.iter().any(|entry| entry.step == HOOK);
    if may_object { ", unless a hook objects" } else { "" }
}

fn prose(text: Option<&str>, width: Option<usize>) -> String {
    wrap(&display::escape_lines(text.unwrap_or_default()), prose_width(width)).join("\n")
}

fn verdict(verdict: Verdict) -> (&'static str, Style) {
    match verdict {
        Verdict::Allow => ("allow", GOOD),
        Verdict::Ask => ("ask", CAUTION),
        Verdict::Deny => ("deny", ERROR),
    }
}

fn effect_lines(explanation: &Explanation, workspace: &Path) -> Table {
    // Effects are never truncated.
    let mut table = Table::new(&[("", ColumnFit::Keep), ("", ColumnFit::Wrap)]);
    for effect in effects::all(&explanation.effects) {
        let (kind, target) = effects::describe(effect, workspace);
        table.row(vec![TableCell::new(&kind), TableCell::new(&target)]);
    }
    table
}

/// Steps with an outcome, numbered; below, the steps without one.
fn trace_lines(trace: &[TraceEntry], width: Option<usize>) -> String {
    let mut table =
        Table::new(&[("", ColumnFit::Keep), ("", ColumnFit::Keep), ("", ColumnFit::Keep), ("", ColumnFit::Wrap), ("", ColumnFit::Wrap)]);
    let mut silent: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (number, entry) in (1..).zip(trace) {
        if matches!(entry.entry.as_ref(), NOTHING_CONFIGURED | NOT_YET) {
            silent.entry(&entry.entry).or_default().push(entry.step);
            continue;
        }
        let (outcome, style) = outcome(entry.outcome);
        let number = format!("{number}.");
        let source = source(entry).unwrap_or_default();
        let cells = [
            TableCell::new(&number),
            TableCell::styled(outcome, style),
            TableCell::new(entry.step),
            TableCell::new(&entry.entry),
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

fn outcome(outcome: StepOutcome) -> (&'static str, Style) {
    match outcome {
        StepOutcome::Pass => ("pass", GOOD),
        StepOutcome::Ask => ("ask", CAUTION),
        StepOutcome::Deny => ("deny", ERROR),
    }
}

/// The file name and line; a project's file keeps its `.haft` folder.
pub(crate) fn short_source(entry: &TraceEntry) -> Option<String> {
    let file = entry.file.as_ref()?;
    let of_project = file.parent().is_some_and(|folder| folder.ends_with(".haft"));
    let name = file.file_name().map_or_else(|| file.display().to_string(), |name| Path::new(name).display().to_string());
    let name = if of_project { format!(".haft/{name}") } else { name };
    Some(entry.line.map_or_else(|| name.clone(), |line| format!("{name}:{line}")))
}

/// `file:line` of a step's reason, or the variable or flag.
fn source(entry: &TraceEntry) -> Option<String> {
    let file = entry.file.as_ref()?.display();
    Some(entry.line.map_or_else(|| file.to_string(), |line| format!("{file}:{line}")))
}
