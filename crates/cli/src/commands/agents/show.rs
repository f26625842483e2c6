//! `haft agents show`: everything about one agent, and where each part of it is written.

use haft_config::{Row, Setting};
use haft_contract::visible;
use haft_engine::Place;
use serde_json::{Value, json};

use super::{NOT_SET, View, text};
use crate::commands::explain::decisive;
use crate::commands::tools::{self, Listed, first_sentence};
use crate::failure::{Exit, Failure};
use crate::output::{DIM, Output, STRONG, print, prose_width};
use crate::page::{INDENT, Page};
use crate::table::{Cell, Room, Table, wrapped};
use crate::wire::Wire;

pub(super) fn run(wire: &Wire, name: &str, output: &Output) -> Result<Exit, Failure> {
    wire.known_agent(name)?;
    let agent = View::of(wire, name)?;
    if output.json {
        output.data(&to_json(wire, &agent))?;
    } else {
        print(&page(wire, &agent, output.width))?;
    }
    Ok(Exit::Success)
}

fn page(wire: &Wire, agent: &View<'_>, width: Option<usize>) -> String {
    let inner = width.map(|width| width.saturating_sub(INDENT.len()));
    let mut page = Page::default();
    page.line(format_args!("{STRONG}{}{STRONG:#}\n", visible::line(agent.name)));
    page.text(&facts(agent).render(width));
    if let Some((prompt, setting)) = agent.prompt.and_then(|setting| Some((text(setting)?, setting))) {
        let title = format!("Prompt {DIM}({}){DIM:#}", visible::line(&setting.source.to_string()));
        page.section(&title, &wrapped(&visible::lines(prompt), prose_width(inner)).join("\n"));
    }
    page.section("Policy", &policy(wire, agent.name).render(inner));
    page.section(&format!("Tools: {} are offered", agent.share()), &tools::list(&agent.tools, inner));
    page.finish()
}

fn facts(agent: &View<'_>) -> Table {
    let mut table = Table::new(&[("", Room::Keep), ("", Room::Keep), ("", Room::Wrap)]);
    let (model, source) = match agent.model.and_then(|setting| Some((text(setting)?, setting))) {
        Some((model, setting)) => (model, setting.source.to_string()),
        None => (NOT_SET, "`haft models` says which one answers".to_owned()),
    };
    let (access, place) = (agent.session.access(), place(&agent.session.caller().access_place));
    for (name, value, source) in [("model", model, source), ("access", access.as_str(), place)] {
        table.row(vec![Cell::styled(name, DIM), Cell::new(value), Cell::styled(&source, DIM)]);
    }
    table
}

/// A line of a file, a variable or a flag.
fn place(place: &Place) -> String {
    let Some(file) = &place.file else { return "built-in".into() };
    place.line.map_or_else(|| file.display().to_string(), |line| format!("{}:{line}", file.display()))
}

/// The agent's keys that decide what it may do.
fn keys(wire: &Wire, agent: &str) -> Vec<(Setting, Row)> {
    let settings = &wire.settings.provenance;
    let of_agent = |setting: &Setting| match setting.path.as_slice() {
        [table, name, rest @ ..] => table == "agents" && name == agent && !matches!(rest, [key] if key == "model" || key == "prompt"),
        _ => false,
    };
    // Hooks have rows as well, behind those of the settings.
    let rows = settings.settings().iter().cloned().zip(settings.rows());
    rows.filter(|(setting, _)| of_agent(setting)).collect()
}

fn policy(wire: &Wire, agent: &str) -> Table {
    let mut table = Table::new(&[("", Room::Keep), ("", Room::Wrap), ("", Room::Wrap)]);
    for (_, row) in keys(wire, agent) {
        table.row(vec![Cell::new(&row.path), Cell::new(&row.value), Cell::styled(&row.source, DIM)]);
    }
    table
}

fn to_json(wire: &Wire, agent: &View<'_>) -> Value {
    let sourced = |setting: Option<&Setting>| setting.map(|setting| json!({ "value": setting.value, "source": setting.source }));
    let Place { file, line } = &agent.session.caller().access_place;
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

pub(super) fn tool_json(tool: &Listed) -> Value {
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
