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
    let command = manifest.command.iter().map(|word| display::escape_line(word).into_owned()).collect::<Vec<_>>().join(" ");
    page.section(
        "It runs, in the sandbox",
        &format!("{command}\n{DIM}{}, {}{DIM:#}", numbers::count(count, "file"), numbers::size(bytes as u64)),
    );
    for tool in &manifest.tools {
        page.section(&format!("Tool {}", tool.name), &tool_lines(tool).join("\n"));
    }
    page
}

fn tool_lines(tool: &PluginToolSpec) -> Vec<String> {
    let may = match tool.effects {
        haft_plugins::DeclaredEffects::ReadOnly => "read the workspace, change nothing",
        haft_plugins::DeclaredEffects::WorkspaceWrite => "read and change files of the workspace",
    };
    let mut lines: Vec<String> = display::escape_lines(&tool.description).lines().map(str::to_owned).collect();
    lines.push(format!("may {may} (effects = \"{}\")", tool.effects));
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
            "hosts": tool.hosts, "timeout_seconds": tool.timeout.as_secs(), "optional": tool.optional,
        })
    };
    json!({
        "name": manifest.name, "version": manifest.version, "description": manifest.description, "command": manifest.command,
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
