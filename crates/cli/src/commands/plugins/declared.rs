//! What a plugin declares, for the user to look at before it is added or trusted.

use haft_plugins::{PluginFiles, PluginManifest, PluginToolSpec};
use haft_text::{display, numbers};
use serde_json::{Value, json};

use crate::output::{DIM, STRONG};
use crate::text_builder::TextBuilder;

/// How much of a fingerprint is shown.
const SHOWN_FINGERPRINT: usize = 16;

/// The whole declaration.
pub(super) fn declared(manifest: &PluginManifest, files: &PluginFiles, fingerprint: &str) -> TextBuilder {
    let mut page = TextBuilder::default();
    let version = display::escape_line(&manifest.version);
    page.line(format_args!("{STRONG}{}{STRONG:#} {version}  {DIM}{}{DIM:#}", manifest.name, short(fingerprint)));
    page.line(display::escape_lines(&manifest.description));
    let (count, bytes) = files.size();
    let (heading, runs) = match &manifest.component {
        Some(component) => ("It runs, as a component without rights of its own", display::escape_line(component).into_owned()),
        None => ("It runs, in the sandbox", manifest.command.iter().map(|word| display::escape_line(word)).collect::<Vec<_>>().join(" ")),
    };
    let size = format!("{}, {}", numbers::count(count, "file"), numbers::size(bytes as u64));
    page.section(heading, &format!("{runs}\n{DIM}{size}{DIM:#}"));
    for tool in &manifest.tools {
        page.section(&format!("Tool {}", tool.name), &tool_lines(tool, manifest.component.is_some()).join("\n"));
    }
    page
}

/// What a tool of a component reaches: what these of its parameters name.
fn component_lines(tool: &PluginToolSpec) -> Vec<String> {
    let named = [("read the files in", &tool.reads), ("write the files in", &tool.writes), ("fetch the addresses in", &tool.urls)];
    let lines = named.iter().filter(|(_, names)| !names.is_empty()).map(|(may, names)| format!("may {may} {}", names.join(", ")));
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() { vec!["may read and change no files".to_owned()] } else { lines }
}

fn tool_lines(tool: &PluginToolSpec, of_component: bool) -> Vec<String> {
    let may = match tool.effects {
        haft_plugins::DeclaredEffects::ReadOnly => "read the workspace, change nothing",
        haft_plugins::DeclaredEffects::WorkspaceWrite => "read and change files of the workspace",
    };
    let mut lines: Vec<String> = display::escape_lines(&tool.description).lines().map(str::to_owned).collect();
    if of_component {
        lines.extend(component_lines(tool));
    } else {
        lines.push(format!("may {may} (effects = \"{}\")", tool.effects));
    }
    if !tool.hosts.is_empty() {
        let hosts = tool.hosts.iter().map(|host| display::escape_line(host).into_owned()).collect::<Vec<_>>().join(", ");
        lines.push(format!("wants to connect to {hosts}"));
    }
    let names: Vec<&str> = tool.parameters["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    if !names.is_empty() {
        lines.push(format!("parameters: {}", display::escape_line(&names.join(", "))));
    }
    let optional = if tool.optional { "; optional: offered once tools.also_allow names it" } else { "" };
    lines.push(format!("at most {} s a call{optional}", tool.timeout.as_secs()));
    lines
}

/// The same for programs.
pub(super) fn declared_json(manifest: &PluginManifest, fingerprint: &str) -> Value {
    let tool = |tool: &PluginToolSpec| {
        json!({
            "name": tool.name, "description": tool.description, "parameters": tool.parameters, "effects": tool.effects.as_str(),
            "reads": tool.reads, "writes": tool.writes, "urls": tool.urls, "hosts": tool.hosts, "timeout_seconds": tool.timeout.as_secs(), "optional": tool.optional,
        })
    };
    json!({
        "name": manifest.name, "version": manifest.version, "description": manifest.description, "command": manifest.command, "component": manifest.component,
        "fingerprint": fingerprint, "tools": manifest.tools.iter().map(tool).collect::<Vec<_>>(),
    })
}

/// A plugin of a project, in `haft trust`.
pub(crate) fn trust_lines(manifest: &PluginManifest, fingerprint: &str) -> Vec<String> {
    let head = format!("{} {} ({})", manifest.name, display::escape_line(&manifest.version), short(fingerprint));
    let command = manifest.command.iter().map(|word| display::escape_line(word).into_owned()).collect::<Vec<_>>().join(" ");
    let tools = manifest.tools.iter().map(|tool| {
        let hosts =
            if tool.hosts.is_empty() { String::new() } else { format!(", connects to {}", display::escape_line(&tool.hosts.join(", "))) };
        format!("  tool {}: {}{hosts}", tool.name, tool.effects)
    });
    [head, format!("  runs {command}")].into_iter().chain(tools).collect()
}

fn short(fingerprint: &str) -> &str {
    fingerprint.get(..SHOWN_FINGERPRINT).unwrap_or(fingerprint)
}
