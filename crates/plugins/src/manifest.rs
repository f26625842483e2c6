//! The manifest of a plugin: who it is, its command, and the tools that it answers for.

use std::time::Duration;

use haft_contract::{Access, ToolDefinition};
use serde_json::Value;

use crate::PluginFault;
use crate::table::ManifestTable;

/// The largest manifest, in bytes.
pub(crate) const LARGEST: usize = 256 * 1024;
/// Most tools of a plugin.
const MOST_TOOLS: usize = 64;
const LONGEST_NAME: usize = 64;
/// What the names of the tools of MCP servers begin with.
const OF_SERVERS: &str = "mcp__";
const LONGEST_DESCRIPTION: usize = 8_000;
/// Seconds that a call has, and can have.
const TIMEOUT: u64 = 30;
const LONGEST_TIMEOUT: u64 = 1_800;
/// Stands for the folder of the plugin in its command.
pub(crate) const FOLDER: &str = "{plugin}";

const KEYS: &[&str] = &["name", "version", "description", "command", "component", "tools"];
const TOOL_KEYS: &[&str] = &["name", "description", "parameters", "effects", "reads", "writes", "urls", "hosts", "timeout", "optional"];
/// What the calls of a component may reach: names of parameters.
const COMPONENT_KEYS: [&str; 3] = ["reads", "writes", "urls"];

haft_contract::named_enum! {
    /// What the calls of a tool may do, as its manifest declares.
    #[derive(Default)]
    DeclaredEffects {
        /// Read the workspace: its sandbox lets it change nothing.
        ReadOnly = "read-only",
        /// Change files of the workspace.
        #[default]
        WorkspaceWrite = "workspace-write",
    }
}

impl DeclaredEffects {
    /// The access that a call needs.
    pub const fn access(self) -> Access {
        match self {
            Self::ReadOnly => Access::ReadOnly,
            Self::WorkspaceWrite => Access::WorkspaceWrite,
        }
    }
}

/// A manifest that holds together.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginManifest {
    /// The name of the plugin.
    pub name: String,
    /// Its version, as its author writes it.
    pub version: String,
    /// What it is for.
    pub description: String,
    /// The program and its arguments; empty if it is a component.
    pub command: Vec<String>,
    /// The file of its WASM component, in its folder.
    pub component: Option<String>,
    /// The tools.
    pub tools: Vec<PluginToolSpec>,
}

/// A tool of a manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginToolSpec {
    /// Its name.
    pub name: String,
    /// What the model reads.
    pub description: String,
    /// The parameters: a flat JSON Schema object.
    pub parameters: Value,
    /// What its calls may do.
    pub effects: DeclaredEffects,
    /// Parameters of a component's tool that name files to read.
    pub reads: Vec<String>,
    /// Parameters of a component's tool that name files to write.
    pub writes: Vec<String>,
    /// Parameters of a component's tool that are addresses to fetch.
    pub urls: Vec<String>,
    /// Hosts that it connects to.
    pub hosts: Vec<String>,
    /// How long a call may take.
    pub timeout: Duration,
    /// Not offered until the user names it.
    pub optional: bool,
}

impl PluginManifest {
    /// Reads a manifest; every fault names its key.
    pub fn parse(text: &str) -> Result<Self, PluginFault> {
        if text.len() > LARGEST {
            return Err(PluginFault::new(format!("plugin.toml has {} bytes, and {LARGEST} are the most", text.len())));
        }
        let table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| PluginFault::new(format!("plugin.toml is not TOML: {}", one_line(text, &error))))?;
        let keys = ManifestTable::new(&table, "plugin.toml", KEYS)?;
        let name = keys.text("name")?;
        if !is_plugin_name(&name) {
            return Err(keys.fault("name", "must be lower-case letters, digits and single hyphens, such as 'word-count'"));
        }
        let component = keys.get("component").map(|_| keys.text("component")).transpose()?;
        let command = keys.texts("command")?;
        match &component {
            Some(_) if !command.is_empty() => return Err(keys.fault("component", "stands beside 'command': a plugin has one of them")),
            None if command.is_empty() => {
                return Err(keys.fault("command", format!("is missing: a list such as [\"python3\", \"{FOLDER}/main.py\"]")));
            }
            _ => {}
        }
        let (version, description) = (keys.text("version")?, keys.description("description", LONGEST_DESCRIPTION)?);
        let tools = tools(&keys, component.is_some())?;
        Ok(Self { name, version, description, command, component, tools })
    }

    /// The command with the folder of the plugin in place: a program with a path lies in it.
    pub(crate) fn words(&self, folder: &str) -> Vec<String> {
        let word = |(index, word): (usize, &String)| {
            let word = word.replace(FOLDER, folder);
            let is_inside = index == 0 && word.contains('/') && !word.starts_with('/');
            if is_inside { format!("{folder}/{}", word.trim_start_matches("./")) } else { word }
        };
        self.command.iter().enumerate().map(word).collect()
    }
}

fn tools(keys: &ManifestTable<'_>, of_component: bool) -> Result<Vec<PluginToolSpec>, PluginFault> {
    let entries = keys.get("tools").and_then(toml::Value::as_array).filter(|entries| !entries.is_empty() && entries.len() <= MOST_TOOLS);
    let entries = entries.ok_or_else(|| keys.fault("tools", format!("must be 1 to {MOST_TOOLS} tables: [[tools]]")))?;
    let tools: Vec<PluginToolSpec> =
        entries.iter().enumerate().map(|(index, entry)| tool(keys, index, entry, of_component)).collect::<Result<_, _>>()?;
    for (index, tool) in tools.iter().enumerate() {
        if tools[..index].iter().any(|other| other.name == tool.name) {
            return Err(keys.fault("tools", format!("has two tools named '{}'", tool.name)));
        }
    }
    Ok(tools)
}

fn tool(keys: &ManifestTable<'_>, index: usize, entry: &toml::Value, of_component: bool) -> Result<PluginToolSpec, PluginFault> {
    let table = entry.as_table().ok_or_else(|| keys.fault("tools", "must be tables: [[tools]]"))?;
    let named = table.get("name").and_then(toml::Value::as_str).filter(|name| is_tool_name(name));
    let at = named.map_or_else(|| format!("tool {}", index + 1), |name| format!("tool '{name}'"));
    let keys = ManifestTable::new(table, at, TOOL_KEYS)?;
    let name = keys.text("name")?;
    if !is_tool_name(&name) {
        return Err(keys.fault("name", "must be a-z, digits and '_', start with a-z, and have at most 64 characters"));
    }
    // What a rule allows a server must not be a plugin's.
    if name.starts_with(OF_SERVERS) {
        return Err(keys.fault("name", format!("must not begin with '{OF_SERVERS}': that is what tools of MCP servers are called")));
    }
    check_keys(&keys, of_component)?;
    let effects = match keys.get("effects").map(|value| value.as_str().unwrap_or_default().parse::<DeclaredEffects>()) {
        None => DeclaredEffects::default(),
        Some(parsed) => parsed.map_err(|problem| keys.fault("effects", format!("is not known: {problem}")))?,
    };
    let description = keys.description("description", LONGEST_DESCRIPTION)?;
    let parameters = parameters(&keys, &name, &description)?;
    let [reads, writes, urls] = COMPONENT_KEYS.map(|key| keys.texts(key));
    let (reads, writes, urls) = (reads?, writes?, urls?);
    for (key, names) in COMPONENT_KEYS.iter().zip([&reads, &writes, &urls]) {
        if let Some(unknown) = names.iter().find(|name| parameters["properties"].get(name.as_str()).is_none()) {
            return Err(keys.fault(key, format!("names '{unknown}', which is no parameter")));
        }
    }
    // Of a component, what it names is what it does.
    let effects = if of_component && writes.is_empty() { DeclaredEffects::ReadOnly } else { effects };
    let (hosts, optional) = (keys.texts("hosts")?, keys.flag("optional")?);
    let timeout = keys.seconds("timeout", TIMEOUT, LONGEST_TIMEOUT)?;
    Ok(PluginToolSpec { name, description, parameters, effects, reads, writes, urls, hosts, timeout, optional })
}

/// A command is held by its sandbox, a component by its plan: each says what it does in its own keys.
fn check_keys(keys: &ManifestTable<'_>, of_component: bool) -> Result<(), PluginFault> {
    if of_component {
        let help = "is for commands: 'reads', 'writes' and 'urls' name the parameters that say what a component does";
        return keys.get("effects").map_or(Ok(()), |_| Err(keys.fault("effects", help)));
    }
    match COMPONENT_KEYS.iter().find(|key| keys.get(key).is_some()) {
        Some(key) => Err(keys.fault(key, "is for components: 'effects' says what a command may do")),
        None => Ok(()),
    }
}

/// The parameters as JSON Schema that every provider takes.
fn parameters(keys: &ManifestTable<'_>, name: &str, description: &str) -> Result<Value, PluginFault> {
    let written = match keys.get("parameters") {
        None => serde_json::json!({ "type": "object", "properties": {} }),
        Some(value) => serde_json::to_value(value).map_err(|error| keys.fault("parameters", format!("cannot be read: {error}")))?,
    };
    let mut linted = ToolDefinition::new(name.to_owned(), description.to_owned(), written).parameters;
    let normalised = Value::clone(&linted);
    linted.lint().map_err(|faults| {
        let faults = faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        keys.fault("parameters", format!("is a schema that not every model provider takes: {faults}"))
    })?;
    let named = normalised["properties"].as_object().into_iter().flatten();
    if let Some((odd, _)) = named.into_iter().find(|(parameter, _)| !is_parameter_name(parameter)) {
        let odd = haft_text::display::shorten(odd, 80);
        let what = "a name that not every model provider takes: use 1 to 64 letters, digits, '_', '-' and '.'";
        return Err(keys.fault("parameters", format!("has '{odd}', {what}")));
    }
    Ok(normalised)
}

fn is_plugin_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= LONGEST_NAME && name.split('-').all(|part| !part.is_empty() && part.bytes().all(is_plain))
}

fn is_parameter_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(|ch| ch.is_ascii_alphanumeric() || matches!(ch, '_' | '-' | '.'))
}

fn is_tool_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    name.len() <= LONGEST_NAME && name.starts_with(|first: char| first.is_ascii_lowercase()) && name.bytes().all(is_plain)
}

/// What is wrong, and in which line: not the line itself, which may be long or hold anything.
fn one_line(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map(|before| format!("line {}: ", before.matches('\n').count() + 1)).unwrap_or_default();
    format!("{line}{}", haft_text::display::shorten(&error.message().replace('\n', ", "), 300))
}

#[cfg(test)]
mod tests;
