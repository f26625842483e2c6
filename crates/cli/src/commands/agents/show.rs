//! `haft agents show`: one agent, with the source of each setting.

use haft_config::{ConfigRow, Setting};
use haft_policy::SourceSpan;
use haft_text::display;
use serde_json::{Value, json};

use super::{AgentView, NOT_SET, text};
use crate::commands::explain::decisive;
use crate::commands::tools::{self, ListedTool, first_sentence};
use crate::failure::{Exit, Failure};
use crate::output::{DIM, Output, STRONG, prose_width};
use crate::table::{ColumnFit, Table, TableCell, wrap};
use crate::text_builder::{INDENT, TextBuilder};
use crate::wire::Wire;

pub(super) fn run(wire: &Wire, name: &str, output: &Output) -> Result<Exit, Failure> {
    wire.known_agent(name)?;
    let agent = AgentView::new(wire, name)?;
    output.show(|| to_json(wire, &agent), || page(wire, &agent, output.width))
}

fn page(wire: &Wire, agent: &AgentView<'_>, width: Option<usize>) -> String {
    let inner = width.map(|width| width.saturating_sub(INDENT.len()));
    let mut page = TextBuilder::default();
    page.line(format_args!("{STRONG}{}{STRONG:#}\n", display::escape_line(agent.name)));
    page.text(&facts(agent).render(width));
    if let Some((prompt, setting)) = agent.prompt.and_then(|setting| Some((text(setting)?, setting))) {
        let title = format!("Prompt {DIM}({}){DIM:#}", display::escape_line(&setting.source.to_string()));
        page.section(&title, &wrap(&display::escape_lines(prompt), prose_width(inner)).join("\n"));
    }
    page.section("Policy", &policy(wire, agent.name).render(inner));
    page.section(&format!("Tools: {} are offered", agent.share()), &tools::list(&agent.tools, inner));
    page.finish()
}

fn facts(agent: &AgentView<'_>) -> Table {
    let mut table = Table::new(&[("", ColumnFit::Keep), ("", ColumnFit::Keep), ("", ColumnFit::Wrap)]);
    let (model, source) = match agent.model.and_then(|setting| Some((text(setting)?, setting))) {
        Some((model, setting)) => (model, setting.source.to_string()),
        None => (NOT_SET, "`haft models` shows which one answers".to_owned()),
    };
    let (access, place) = (agent.session.access(), place(&agent.session.caller().access_span));
    for (name, value, source) in [("model", model, source), ("access", access.as_str(), place)] {
        table.row(vec![TableCell::styled(name, DIM), TableCell::new(value), TableCell::styled(&source, DIM)]);
    }
    table
}

/// File and line, variable or flag.
fn place(place: &SourceSpan) -> String {
    let Some(file) = &place.file else { return "built-in".into() };
    place.line.map_or_else(|| file.display().to_string(), |line| format!("{}:{line}", file.display()))
}

/// The agent's policy settings.
fn keys(wire: &Wire, agent: &str) -> Vec<(Setting, ConfigRow)> {
    let settings = &wire.settings.provenance;
    let of_agent = |setting: &Setting| match setting.path.as_slice() {
        [table, name, rest @ ..] => table == "agents" && name == agent && !matches!(rest, [key] if key == "model" || key == "prompt"),
        _ => false,
    };
    // Rows of hooks follow those of the settings.
    let rows = settings.settings().iter().cloned().zip(settings.rows());
    rows.filter(|(setting, _)| of_agent(setting)).collect()
}

fn policy(wire: &Wire, agent: &str) -> Table {
    let mut table = Table::new(&[("", ColumnFit::Keep), ("", ColumnFit::Wrap), ("", ColumnFit::Wrap)]);
    for (_, row) in keys(wire, agent) {
        table.row(vec![TableCell::new(&row.path), TableCell::new(&row.value), TableCell::styled(&row.source, DIM)]);
    }
    table
}

pub(crate) fn to_json(wire: &Wire, agent: &AgentView<'_>) -> Value {
    let sourced = |setting: Option<&Setting>| setting.map(|setting| json!({ "value": setting.value, "source": setting.source }));
    let SourceSpan { file, line } = &agent.session.caller().access_span;
    let keys = keys(wire, agent.name)
        .into_iter()
        .map(|(setting, row)| json!({ "key": row.path, "value": setting.value, "source": setting.source }));
    json!({
        "name": agent.name,
        "model": sourced(agent.model),
        "access": { "value": agent.session.access(), "file": file.as_ref().map(|file| file.to_string_lossy()), "line": line },
        "prompt": sourced(agent.prompt),
        "policy": keys.collect::<Vec<_>>(),
        "tools": agent.tools.iter().map(tool_json).collect::<Vec<_>>(),
    })
}

pub(super) fn tool_json(tool: &ListedTool) -> Value {
    let definition = tool.definition();
    let mut value = json!({
        "name": definition.name,
        "description": first_sentence(&definition.description),
        "offered": tool.is_offered(),
    });
    if !tool.is_offered() {
        (value["reason"], value["removed_by"]) = (json!(tool.reason()), json!(decisive(&tool.decision.trace)));
    }
    value
}
