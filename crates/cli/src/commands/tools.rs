//! `haft tools`: what there is, and what this agent is offered.

use std::sync::Arc;

use haft_contract::visible;
use haft_contract::{Dialect, ToolDefinition};
use haft_engine::{Decision, Entry, Outcome, Policy, TraceEntry, Verdict};
use serde_json::{Value, json};

use crate::arguments::{Common, Tools};
use crate::commands::explain::short_place;
use crate::failure::{Exit, Failure};
use crate::output::{DIM, GOOD, Output, PLAIN, STRONG, print, prose_width};
use crate::page::Page;
use crate::parameters;
use crate::table::{Cell, Room, Table, cut, wrapped};
use crate::wire::Wire;

/// Below this the list is name and description alone, as people know it.
const WIDE: usize = 100;

pub(crate) fn run(common: &Common, request: &Tools, output: &Output) -> Result<Exit, Failure> {
    let wire = Wire::new(common, output)?;
    let session = wire.listing(&request.who)?;
    let listed =
        |entry: Arc<Entry>| Listed { decision: wire.policy.offer(&entry.candidate(), session.caller()), dialect: request.dialect, entry };
    match &request.name {
        Some(name) => one(&listed(find(&wire, name)?), output)?,
        None => all(&wire.registry.entries().into_iter().map(listed).collect::<Vec<_>>(), request.all, output)?,
    }
    Ok(Exit::Success)
}

/// A tool, and whether this agent is offered it.
pub(super) struct Listed {
    pub(super) entry: Arc<Entry>,
    pub(super) dialect: Dialect,
    pub(super) decision: Decision,
}

fn find(wire: &Wire, name: &str) -> Result<Arc<Entry>, Failure> {
    wire.registry.get(name).ok_or_else(|| {
        let failure = Failure::failed("tool_not_found", format!("there is no tool '{name}'"));
        match wire.registry.nearest(name).as_slice() {
            [] => failure.help("`haft tools` lists the tools"),
            near => failure.help(format!("did you mean {}?", near.join(" or "))),
        }
    })
}

impl Listed {
    pub(super) fn definition(&self) -> &ToolDefinition {
        self.entry.definition()
    }
    pub(super) fn is_offered(&self) -> bool {
        self.decision.verdict != Verdict::Deny
    }
    /// Why it is not offered.
    pub(super) fn reason(&self) -> Option<String> {
        let entry = self.decision.trace.iter().find(|entry| entry.outcome == Outcome::Deny)?;
        let what = format!("removed by {}", removed_by(entry));
        Some(short_place(entry).map_or_else(|| what.clone(), |place| format!("{what}, {place}")))
    }
    fn to_json(&self, with_availability: bool) -> Value {
        let mut value = json!(self.definition());
        if self.dialect != Dialect::Haft {
            let shown = self.definition().in_dialect(self.dialect);
            (value["name"], value["description"], value["parameters"]) =
                (json!(shown.name), json!(shown.description), json!(shown.parameters));
            value["canonical"] = json!(self.definition().name);
        }
        if with_availability {
            value["available"] = json!(self.is_offered());
            value["reason"] = json!(self.reason());
        }
        value
    }
}

/// The key that removed a tool, where a step has one.
fn removed_by(entry: &TraceEntry) -> String {
    match (entry.step, entry.entry.starts_with("deny ")) {
        ("switched off", _) => "tools.disabled".into(),
        ("global", true) => "tools.deny".into(),
        ("global", false) => "tools.allow".into(),
        (step, _) => format!("the step '{step}': {}", entry.entry),
    }
}

fn all(tools: &[Listed], with_hidden: bool, output: &Output) -> Result<(), Failure> {
    if output.json {
        let shown = tools.iter().filter(|tool| with_hidden || tool.is_offered());
        return output.data(&shown.map(|tool| tool.to_json(with_hidden)).collect::<Vec<_>>());
    }
    print(&list(tools, output.width))
}

pub(super) fn list(tools: &[Listed], width: Option<usize>) -> String {
    let name_width = tools.iter().map(|tool| marked(tool).len()).max().unwrap_or(0);
    let wide = width.is_none_or(|width| width >= WIDE);
    let mut table = Table::new(&[("", Room::Keep), ("", Room::Drop(1)), ("", Room::Drop(2))]);
    let description_room = width.map_or(usize::MAX, |width| if wide { width - 28 } else { width });
    for tool in tools {
        let definition = tool.definition();
        let check = if tool.is_offered() { "[x]" } else { "[ ]" };
        let text = format!("{check} {:name_width$} - {}", marked(tool), first_sentence(&definition.description));
        let style = if tool.is_offered() { PLAIN } else { DIM };
        let (section, access) = if wide { (definition.section.as_str(), definition.access.as_str()) } else { ("", "") };
        table.row(vec![Cell::styled(&cut(&text, description_room), style), Cell::new(section), Cell::new(access)]);
    }
    let mut page = Page::default();
    for (line, tool) in table.render(width).lines().zip(tools) {
        page.line(line);
        let reason = tool.reason().map(|reason| reason_lines(&reason, name_width, width));
        reason.into_iter().flatten().for_each(|line| page.line(line));
    }
    page.text(&footnote(tools, width));
    page.finish()
}

/// Beneath its tool, so that it is never cut.
fn reason_lines(reason: &str, name_width: usize, width: Option<usize>) -> Vec<String> {
    let indent = if width.is_some_and(|width| width < 60) { 4 } else { name_width + 7 };
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(indent));
    let lines = wrapped(&format!("({})", visible::line(reason)), room);
    lines.iter().map(|line| format!("{:indent$}{DIM}{line}{DIM:#}", "")).collect()
}

/// The name, with a mark if the platform must grant something first.
fn marked(tool: &Listed) -> String {
    let name = tool.definition().in_dialect(tool.dialect).name;
    if tool.definition().permissions.is_empty() { name.to_string() } else { format!("{name}*") }
}

fn footnote(tools: &[Listed], width: Option<usize>) -> String {
    let mut names: Vec<&str> = tools.iter().flat_map(|tool| &tool.definition().permissions).map(AsRef::as_ref).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return String::new();
    }
    let text = format!("* needs a permission of the platform: {}", names.join(", "));
    format!("\n{}\n", wrapped(&text, width.unwrap_or(usize::MAX)).join("\n"))
}

pub(super) fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.split_once(". ").map_or(line, |(sentence, _)| sentence).trim_end_matches('.')
}

fn one(tool: &Listed, output: &Output) -> Result<(), Failure> {
    if output.json {
        return output.data(&tool.to_json(true));
    }
    let definition = tool.definition();
    let offered =
        if tool.is_offered() { format!("{GOOD}offered{GOOD:#}") } else { format!("not offered ({})", tool.reason().unwrap_or_default()) };
    let mut page = Page::default();
    page.line(format_args!("{STRONG}{}{STRONG:#} - {} - {offered}\n", definition.name, definition.label));
    page.line(wrapped(&definition.description, prose_width(output.width)).join("\n"));
    page.line("");
    page.text(&facts(definition).render(output.width));
    page.section("Parameters", &parameter_lines(definition, output.width));
    print(&page.finish())
}

fn facts(definition: &ToolDefinition) -> Table {
    let mut table = Table::new(&[("", Room::Keep), ("", Room::Keep)]);
    let list = |names: &[std::borrow::Cow<'static, str>]| names.join(", ");
    let timeout = format!("{} s", definition.timeout.as_secs());
    for (name, value) in [
        ("section", definition.section.as_str()),
        ("category", definition.category.as_str()),
        ("access", definition.access.as_str()),
        ("timeout", &timeout),
        ("also called", &list(&definition.aliases)),
        ("profiles", &list(&definition.profiles)),
        ("permissions", &list(&definition.permissions)),
        ("only for", if definition.owner_only { "the owner" } else { "" }),
    ] {
        if !value.is_empty() {
            table.row(vec![Cell::styled(name, DIM), Cell::new(value)]);
        }
    }
    table
}

/// Name, type and whether it is needed on one line, what it means beneath.
fn parameter_lines(definition: &ToolDefinition, width: Option<usize>) -> String {
    const DEEPER: usize = 6;
    let mut page = Page::default();
    for parameter in parameters::of(definition) {
        let required = if parameter.required { ", required" } else { "" };
        page.line(format_args!("{STRONG}{}{STRONG:#} ({}{required})", visible::line(parameter.name), parameter.kind()));
        for line in wrapped(&visible::lines(&parameter.description()), prose_width(width).saturating_sub(DEEPER)) {
            page.line(format_args!("    {line}"));
        }
    }
    page.finish()
}

#[cfg(test)]
mod tests {
    use haft_contract::{DynTool, PlanContext, Prepared, Source, ToolError};
    use haft_engine::Registry;

    use super::*;

    struct Fake(ToolDefinition);

    impl DynTool for Fake {
        fn definition(&self) -> &ToolDefinition {
            &self.0
        }
        fn prepare(&self, _: Value, _: &PlanContext<'_>) -> Result<Prepared, ToolError> {
            Err(ToolError::execution("only listed"))
        }
    }

    #[test]
    fn tools_that_need_a_permission_are_marked() {
        let registry = Registry::new();
        for (name, permissions) in [("photo", &["CAMERA", "STORAGE"][..]), ("noop", &[])] {
            let mut definition = ToolDefinition::new(name, format!("Does {name}. And more."), json!({}));
            definition.permissions = permissions.iter().map(|name| (*name).into()).collect();
            registry.register(Arc::new(Fake(definition)), Source::BuiltIn).unwrap();
        }
        let tools: Vec<_> =
            registry.entries().into_iter().map(|entry| Listed { entry, dialect: Dialect::Haft, decision: Decision::allow() }).collect();
        let text = anstream::adapter::strip_str(&list(&tools, Some(60))).to_string();
        let expected = "[x] photo* - Does photo\n[x] noop   - Does noop\n\n* needs a permission of the platform: CAMERA, STORAGE\n";
        assert_eq!(text, expected);
    }
}
