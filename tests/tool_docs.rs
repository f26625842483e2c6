//! `docs/tools.md` is written from the tools themselves: `UPDATE_DOCS=1 cargo test --test tool_docs` writes it anew.
#![allow(clippy::expect_used, reason = "a test that cannot continue has failed")]

use haft::{Dialect, ToolDefinition, Unit};
use serde_json::Value;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/tools.md");

const HEAD: &str = "\
# The tools

<!-- Written by `UPDATE_DOCS=1 cargo test --test tool_docs` from the definitions in `crates/builtin`. Do not edit. -->

Every tool that comes with Haft, in the order of `haft tools`. The access level is what an ordinary call needs; what a call
really needs comes from its plan, so `haft explain TOOL JSON` has the last word. Names and aliases are accepted in any case.
Unknown parameters are ignored and reported. A dialect may have another name for a tool, and count differently: what is called by
that name is read that way.
";

#[test]
fn the_page_says_what_the_tools_say() {
    let written = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, &written).expect("docs/tools.md can be written");
    }
    let kept = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(kept == written, "docs/tools.md is out of date: run `UPDATE_DOCS=1 cargo test --test tool_docs` and commit it");
}

fn page() -> String {
    let definitions: Vec<ToolDefinition> = haft::builtin::all().iter().map(|tool| shown(tool.definition())).collect();
    let rows = definitions.iter().map(|tool| {
        let first = tool.description.split(". ").next().unwrap_or_default().trim_end_matches('.');
        format!(
            "| [{name}](#{name}) | {first} | {} | {} | {} s |\n",
            tool.section.as_str(),
            tool.access,
            tool.timeout.as_secs(),
            name = tool.name
        )
    });
    let overview: String = rows.collect::<Vec<_>>().concat();
    let tools: String = definitions.iter().map(chapter).collect::<Vec<_>>().concat();
    format!("{HEAD}\n| tool | what it does | section | access | timeout |\n|---|---|---|---|---|\n{overview}{tools}")
}

/// The definition as models see it: registration takes the markers out.
fn shown(definition: &ToolDefinition) -> ToolDefinition {
    let mut definition = definition.clone();
    definition.parameters.lint().expect("built-in schemas are sound");
    definition
}

fn chapter(tool: &ToolDefinition) -> String {
    let facts = [
        ("section", tool.section.as_str().to_owned()),
        ("category", tool.category.as_str().to_owned()),
        ("access", tool.access.to_string()),
        ("timeout", format!("{} s", tool.timeout.as_secs())),
        ("also called", code(&tool.aliases)),
        ("in other dialects", dialects(tool)),
        ("profiles", code(&tool.profiles)),
        ("host permissions", code(&tool.permissions)),
        ("hints", hints(tool)),
    ];
    let facts: String = facts
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("- {name}: {value}\n"))
        .collect::<Vec<_>>()
        .concat();
    format!("\n## {}\n\n{}\n\n{facts}\n{}", tool.name, tool.description, parameters(tool))
}

fn parameters(tool: &ToolDefinition) -> String {
    let Some(properties) = tool.parameters["properties"].as_object().filter(|properties| !properties.is_empty()) else {
        return "It has no parameters of its own.\n".to_owned();
    };
    let shown = tool.in_dialect(Dialect::Haft).parameters;
    let required: Vec<&str> = shown["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let rows = properties.iter().map(|(name, schema)| {
        let must = if required.contains(&name.as_str()) { "yes" } else { "" };
        let others: Vec<&str> =
            tool.parameters.hints().aliases.iter().filter(|(_, of)| of == name).map(|(alias, _)| alias.as_str()).collect();
        let foreign = if shown["properties"].get(name).is_none() { "Only other dialects are shown it. " } else { "" };
        let description = format!("{foreign}{}", schema["description"].as_str().unwrap_or_default().replace('|', "\\|"));
        format!("| `{name}` | {} | {must} | {} | {} | {description} |\n", kind(schema), default(schema), code(&others))
    });
    let rows: String = rows.collect::<Vec<_>>().concat();
    format!("| parameter | type | required | default | also called | description |\n|---|---|---|---|---|---|\n{rows}")
}

fn kind(schema: &Value) -> String {
    match (&schema["enum"], schema["type"].as_str()) {
        (Value::Array(options), _) => code(&options.iter().filter_map(Value::as_str).collect::<Vec<_>>()),
        (_, Some("array")) => format!("array of {}", kind(&schema["items"])),
        (_, name) => name.unwrap_or("any").to_owned(),
    }
}

fn default(schema: &Value) -> String {
    schema.get("default").map(|value| format!("`{value}`")).unwrap_or_default()
}

/// What a dialect calls it, and the parameters that differ there.
fn dialects(tool: &ToolDefinition) -> String {
    let forms = tool.forms.iter().map(|form| {
        let parameters = form.parameters.iter().map(|parameter| {
            let unit = match parameter.unit {
                Unit::Milliseconds => " in milliseconds",
                Unit::FromZero => " counted from 0",
                _ => "",
            };
            let instead = if parameter.name == parameter.canonical { String::new() } else { format!(" for `{}`", parameter.canonical) };
            format!("`{}`{instead}{unit}", parameter.name)
        });
        let parameters: Vec<String> = parameters.collect();
        let parameters = if parameters.is_empty() { String::new() } else { format!(" ({})", parameters.join(", ")) };
        format!("`{}` in {}{parameters}", form.name, form.dialect)
    });
    forms.collect::<Vec<_>>().join("; ")
}

fn hints(tool: &ToolDefinition) -> String {
    let hints = [
        ("read-only", tool.hints.read_only),
        ("destructive", tool.hints.destructive),
        ("idempotent", tool.hints.idempotent),
        ("open world", tool.hints.open_world),
        ("owner only", tool.owner_only),
    ];
    hints.iter().filter(|(_, set)| *set).map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

fn code(names: &[impl AsRef<str>]) -> String {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}
