//! `haft explain`: why a tool or a call is allowed, needs approval, or is denied.

mod addresses;
mod past;
mod session;
mod trace;

use std::path::Path;

use anstyle::Style;
use haft_contract::Arguments;
use haft_engine::{Explanation, HOOK};
use haft_policy::{StepOutcome, TraceEntry, Verdict};
use haft_text::display;
use serde_json::Value;

pub(crate) use self::addresses::Lookups;
use self::trace::{TraceRow, trace_lines};
use crate::arguments::{CallerArgs, Common, ExplainArgs};
use crate::commands::block_on;
use crate::effects;
use crate::failure::{Exit, Failure};
use crate::invocation::{Invocation, is_of_servers};
use crate::output::{CAUTION, ERROR, GOOD, Output, STRONG, prose_width};
use crate::table::{ColumnFit, Table, TableCell, wrap};
use crate::text_builder::{INDENT, TextBuilder};
use crate::wire::{self, Wire};

/// The variable that forbids lookups.
const NO_RESOLVE: &str = "HAFT_NO_RESOLVE";

pub(crate) fn run(common: Common, request: ExplainArgs) -> Result<Exit, Failure> {
    let ExplainArgs { all, no_resolve, session, acting, who, words } = request;
    let who = acting.with(who);
    if let Some(id) = session {
        return match words.split() {
            None => session::run(&id, &common.output()),
            Some((tool, _)) => Err(with_tool(&id, &tool.to_string_lossy())),
        };
    }
    let registry = wire::registry_in(words.workspace().as_deref().or(common.workspace.as_deref()))?;
    if all {
        let output = common.output();
        return table(&Wire::with_registry(registry, &common, &output)?, &who, &output);
    }
    let invocation = Invocation::parse_early("explain", words.clone(), common.clone(), &registry)?;
    if registry.get(&invocation.tool).is_none() && past::is_call_id(&invocation.tool) {
        return past::run(invocation, &who, registry);
    }
    let output = invocation.common.output();
    let wire = Wire::with_registry(registry, &invocation.common, &output)?;
    // The parameters of a server's tool are known only now.
    let invocation =
        if is_of_servers(&invocation.tool) { Invocation::parse("explain", words, common, &wire.registry)? } else { invocation };
    let (tool, who) = (invocation.tool.clone(), who.then(invocation.who.clone()));
    let arguments = invocation.arguments(wire.settings.config.limits.argument_bytes)?;
    let lookups = if no_resolve || std::env::var_os(NO_RESOLVE).is_some() { Lookups::Never } else { Lookups::Allowed };
    block_on(one(&wire, &tool, arguments, &who, lookups, &output))
}

/// A session and a tool at once: what was granted in a session, and its taint, end with its process.
fn with_tool(id: &str, tool: &str) -> Failure {
    let message = format!("--session explains a whole session, so '{tool}' cannot be explained with it");
    Failure::usage(message).help(format!(
        "leave out '{tool}': `haft explain --session {id}` names calls of the session, and `haft explain CALL-ID` explains one of them, as of \
         then and as of now. `haft explain {tool}` explains a new call, without what the session was granted: that ends with its process"
    ))
}

/// One tool, or one call of it.
pub(crate) async fn one(
    wire: &Wire,
    tool: &str,
    arguments: Option<Arguments>,
    who: &CallerArgs,
    lookups: Lookups,
    output: &Output,
) -> Result<Exit, Failure> {
    let explainer = wire.explainer()?;
    let session = explainer.session(None, who)?;
    let explanation = explainer.engine.explain(tool, arguments, &session).await?;
    let addresses = addresses::of_hosts(&explanation, lookups, session.host().http()).await;
    output.show(|| addresses.to_json(&explanation), || in_words(&explanation, session.workspace(), output.width) + &addresses.in_words())
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
    page.section("It would", &effect_lines(&explanation.effects, workspace).render(inner));
    page.section("Because", &trace_lines(explanation.trace.iter().map(TraceRow::from), inner));
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

fn effect_lines(planned: &Value, workspace: &Path) -> Table {
    // Effects are never truncated.
    let mut table = Table::new(&[("", ColumnFit::Keep), ("", ColumnFit::Wrap)]);
    for effect in effects::all(planned) {
        let (kind, target) = effects::describe(effect, workspace);
        table.row(vec![TableCell::new(&kind), TableCell::new(&target)]);
    }
    table
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
