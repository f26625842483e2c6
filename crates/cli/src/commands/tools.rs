//! `haft tools`: lists the tools, and which ones the agent is offered.

mod cost;
mod in_protocol;

use std::sync::Arc;

use haft_contract::{Dialect, ToolDefinition};
use haft_engine::ToolEntry;
use haft_policy::{Decision, Policy, StepOutcome, TraceEntry, Verdict};
use haft_text::display;
use haft_text::truncate::ellipsize_to_width;
use serde_json::{Value, json};

use crate::arguments::{Common, ToolsArgs};
use crate::commands::explain::short_source;
use crate::failure::{Exit, Failure};
use crate::output::{DIM, GOOD, Output, PLAIN, STRONG, print, prose_width};
use crate::parameters;
use crate::table::{ColumnFit, Table, TableCell, wrap};
use crate::text_builder::TextBuilder;
use crate::wire::Wire;

/// A narrower list has name and description only.
const WIDE: usize = 100;

pub(crate) fn run(common: &Common, request: &ToolsArgs, output: &Output) -> Result<Exit, Failure> {
    show(&Wire::new(common, output)?, request, output)?;
    Ok(Exit::Success)
}

/// Prints every tool, or one in full.
pub(crate) fn show(wire: &Wire, request: &ToolsArgs, output: &Output) -> Result<(), Failure> {
    let session = wire.listing(&wire.settings.agent, &request.who)?;
    let listed = |entry: Arc<ToolEntry>| ListedTool {
        decision: wire.policy.offer(&entry.candidate(), session.caller()),
        dialect: session.dialect(),
        entry,
    };
    let provider = request.who.provider.as_deref().filter(|_| output.json && !request.cost && request.name.is_none());
    if let Some(model) = provider.and_then(|provider| in_protocol::model(wire, provider)) {
        return in_protocol::show(&wire.registry.entries().into_iter().map(listed).collect::<Vec<_>>(), &model, output);
    }
    match &request.name {
        Some(name) => one(&listed(find(wire, name)?), output),
        None if request.cost => cost::show(&wire.registry.entries().into_iter().map(listed).collect::<Vec<_>>(), output),
        None => all(&wire.registry.entries().into_iter().map(listed).collect::<Vec<_>>(), request.all, output),
    }
}

/// A tool, and whether the agent is offered it.
pub(crate) struct ListedTool {
    pub(crate) entry: Arc<ToolEntry>,
    pub(crate) dialect: Dialect,
    pub(crate) decision: Decision,
}

pub(crate) fn find(wire: &Wire, name: &str) -> Result<Arc<ToolEntry>, Failure> {
    wire.registry.get(name).ok_or_else(|| {
        let failure = Failure::failed("tool_not_found", format!("there is no tool '{name}'"));
        match wire.registry.nearest(name).as_slice() {
            [] => failure.help("`haft tools` lists the tools"),
            near => failure.help(format!("did you mean {}?", near.join(" or "))),
        }
    })
}

impl ListedTool {
    pub(crate) fn definition(&self) -> &ToolDefinition {
        self.entry.definition()
    }
    pub(crate) fn is_offered(&self) -> bool {
        self.decision.verdict != Verdict::Deny
    }
    /// Why it is not offered.
    pub(super) fn reason(&self) -> Option<String> {
        let entry = self.decision.trace.iter().find(|entry| entry.outcome == StepOutcome::Deny)?;
        if let Some(absent) = self.definition().absent.as_ref().filter(|absent| absent.why == entry.entry) {
            return Some(format!("not available: {}", absent.why));
        }
        let what = format!("removed by {}", removed_by(entry));
        Some(short_source(entry).map_or_else(|| what.clone(), |source| format!("{what}, {source}")))
    }
    pub(crate) fn to_json(&self, with_availability: bool) -> Value {
        let (mut value, shown) = (json!(self.definition()), self.definition().in_dialect(self.dialect));
        (value["name"], value["description"], value["parameters"]) = (json!(shown.name), json!(shown.description), json!(shown.parameters));
        if self.dialect != Dialect::Haft {
            value["canonical"] = json!(self.definition().name);
        }
        if with_availability {
            value["available"] = json!(self.is_offered());
            value["reason"] = json!(self.reason());
        }
        value
    }
}

/// The setting that removed a tool.
fn removed_by(entry: &TraceEntry) -> String {
    match (entry.step, entry.entry.starts_with("deny ")) {
        ("switched off", _) => "tools.disabled".into(),
        ("global", true) => "tools.deny".into(),
        ("global", false) => "tools.allow".into(),
        (step, _) => format!("the step '{step}': {}", entry.entry),
    }
}

fn all(tools: &[ListedTool], with_hidden: bool, output: &Output) -> Result<(), Failure> {
    if output.json {
        let listed = tools.iter().filter(|tool| with_hidden || tool.is_offered());
        return output.data(&listed.map(|tool| tool.to_json(with_hidden)).collect::<Vec<_>>());
    }
    print(&list(tools, output.width))
}

pub(super) fn list(tools: &[ListedTool], width: Option<usize>) -> String {
    let name_width = tools.iter().map(|tool| marked_name(tool).len()).max().unwrap_or(0);
    let wide = width.is_none_or(|width| width >= WIDE);
    let mut table = Table::new(&[("", ColumnFit::Keep), ("", ColumnFit::Drop(1)), ("", ColumnFit::Drop(2))]);
    let description_width = width.map_or(usize::MAX, |width| if wide { width - 29 } else { width });
    for tool in tools {
        let definition = tool.definition();
        let check = if tool.is_offered() { "[x]" } else { "[ ]" };
        let text = format!("{check} {:name_width$} - {}", marked_name(tool), first_sentence(&definition.description));
        let style = if tool.is_offered() { PLAIN } else { DIM };
        let (section, access) = if wide { (definition.section.as_str(), definition.access.as_str()) } else { ("", "") };
        table.row(vec![
            TableCell::styled(&ellipsize_to_width(&text, description_width), style),
            TableCell::new(section),
            TableCell::new(access),
        ]);
    }
    let mut page = TextBuilder::default();
    for (line, tool) in table.render(width).lines().zip(tools) {
        page.line(line);
        let reason = tool.reason().map(|reason| reason_lines(&reason, name_width, width));
        reason.into_iter().flatten().for_each(|line| page.line(line));
    }
    page.text(&footnote(tools, width));
    page.finish()
}

/// Lines below the tool, never truncated.
fn reason_lines(reason: &str, name_width: usize, width: Option<usize>) -> Vec<String> {
    let indent = if width.is_some_and(|width| width < 60) { 4 } else { name_width + 7 };
    let width = width.map_or(usize::MAX, |width| width.saturating_sub(indent));
    let lines = wrap(&format!("({})", display::escape_line(reason)), width);
    lines.iter().map(|line| format!("{:indent$}{DIM}{line}{DIM:#}", "")).collect()
}

/// The name, with `*` if the tool needs a permission of the platform.
fn marked_name(tool: &ListedTool) -> String {
    let name = tool.definition().in_dialect(tool.dialect).name;
    if tool.definition().permissions.is_empty() { name.to_string() } else { format!("{name}*") }
}

fn footnote(tools: &[ListedTool], width: Option<usize>) -> String {
    let mut names: Vec<&str> = tools.iter().flat_map(|tool| &tool.definition().permissions).map(AsRef::as_ref).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return String::new();
    }
    let text = format!("* needs a permission of the platform: {}", names.join(", "));
    format!("\n{}\n", wrap(&text, width.unwrap_or(usize::MAX)).join("\n"))
}

pub(super) fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.split_once(". ").map_or(line, |(sentence, _)| sentence).trim_end_matches('.')
}

fn one(tool: &ListedTool, output: &Output) -> Result<(), Failure> {
    if output.json {
        return output.data(&tool.to_json(true));
    }
    let definition = tool.definition();
    let offered =
        if tool.is_offered() { format!("{GOOD}offered{GOOD:#}") } else { format!("not offered ({})", tool.reason().unwrap_or_default()) };
    let shown = definition.in_dialect(tool.dialect);
    let mut page = TextBuilder::default();
    page.line(format_args!("{STRONG}{}{STRONG:#} - {} - {offered}\n", shown.name, definition.label));
    page.line(wrap(shown.description, prose_width(output.width)).join("\n"));
    page.line("");
    page.text(&facts(definition).render(output.width));
    page.section("Parameters", &parameter_lines(&shown.parameters, output.width));
    print(&page.finish())
}

fn facts(definition: &ToolDefinition) -> Table {
    let mut table = Table::new(&[("", ColumnFit::Keep), ("", ColumnFit::Keep)]);
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
            table.row(vec![TableCell::styled(name, DIM), TableCell::new(value)]);
        }
    }
    table
}

/// Name and type on one line, the description below.
fn parameter_lines(schema: &Value, width: Option<usize>) -> String {
    const DEEPER: usize = 6;
    let mut page = TextBuilder::default();
    for parameter in parameters::in_schema(schema) {
        let required = if parameter.required { ", required" } else { "" };
        page.line(format_args!("{STRONG}{}{STRONG:#} ({}{required})", display::escape_line(parameter.name), parameter.kind()));
        for line in wrap(&display::escape_lines(&parameter.description()), prose_width(width).saturating_sub(DEEPER)) {
            page.line(format_args!("    {line}"));
        }
    }
    page.finish()
}

#[cfg(test)]
mod tests {
    use haft_contract::{DynTool, PlanContext, Prepared, ToolError, ToolSource};
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
    fn tool_that_needs_a_permission_is_marked() {
        let registry = Registry::new();
        for (name, permissions) in [("photo", &["CAMERA", "STORAGE"][..]), ("noop", &[])] {
            let mut definition = ToolDefinition::new(name, format!("Does {name}. And more."), json!({}));
            definition.permissions = permissions.iter().map(|name| (*name).into()).collect();
            registry.register(Arc::new(Fake(definition)), ToolSource::BuiltIn).unwrap();
        }
        let tools: Vec<_> =
            registry.entries().into_iter().map(|entry| ListedTool { entry, dialect: Dialect::Haft, decision: Decision::allow() }).collect();
        let text = anstream::adapter::strip_str(&list(&tools, Some(60))).to_string();
        let expected = "[x] photo* - Does photo\n[x] noop   - Does noop\n\n* needs a permission of the platform: CAMERA, STORAGE\n";
        assert_eq!(text, expected);
    }
}
