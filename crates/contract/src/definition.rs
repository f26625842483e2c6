//! The definition of a tool.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::schema;
use crate::settings::named_enum;
use crate::{Form, IntoToolOutput, SharedSchema, Tool};

/// How much a session, or a call, may do. Ordered: each level includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Look, but change nothing.
    ReadOnly,
    /// Change files of the workspace.
    #[default]
    WorkspaceWrite,
    /// Anything that the user may do.
    FullAccess,
}

impl Access {
    /// The name in configuration and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::FullAccess => "full-access",
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Access {
    type Err = String;
    /// Also takes the spellings of the systems people come from: `ReadOnly`, `danger-full-access`, ….
    fn from_str(text: &str) -> Result<Self, String> {
        let plain: String = text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
        match plain.as_str() {
            "readonly" => Ok(Self::ReadOnly),
            "workspacewrite" => Ok(Self::WorkspaceWrite),
            "fullaccess" | "dangerfullaccess" => Ok(Self::FullAccess),
            _ => Err(format!("unknown access level '{text}': use read-only, workspace-write or full-access")),
        }
    }
}

named_enum! {
    /// The section of a tool in listings, and its group.
    #[non_exhaustive]
    Section {
        /// Reading and changing files.
        Files = "files",
        /// Running programs.
        Runtime = "runtime",
        /// The web.
        Web = "web",
        /// What was remembered.
        Memory = "memory",
        /// Other conversations.
        Sessions = "sessions",
        /// Browser and canvas.
        Ui = "ui",
        /// Talking to people.
        Messaging = "messaging",
        /// Things that happen later.
        Automation = "automation",
        /// Paired machines.
        Nodes = "nodes",
        /// Configured agents.
        Agents = "agents",
        /// Pictures and sound.
        Media = "media",
        /// Plans, skills, and finding tools.
        Planning = "planning",
        /// The machine itself.
        System = "system",
    }
}

named_enum! {
    /// What kind of thing a tool does.
    #[non_exhaustive]
    Category {
        /// Files and data.
        Io = "io",
        /// The network.
        Network = "network",
        /// The machine.
        System = "system",
        /// Notices and messages.
        Notify = "notify",
    }
}

named_enum! {
    /// The effects that the content of a rule on a tool is about: in `write_file(docs/**)`, the files that it writes.
    #[non_exhaustive]
    RuleTarget {
        /// Files that are read.
        Read = "read",
        /// Files that are written.
        Write = "write",
        /// Files that are read to change a part of them.
        Edit = "edit",
        /// Programs.
        Exec = "exec",
        /// Connections.
        Connect = "connect",
        /// Messages.
        Send = "send",
        /// Agents.
        Spawn = "spawn",
        /// Settings.
        Configure = "configure",
        /// Paired machines.
        Node = "node",
    }
}

/// Where a tool came from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "name")]
#[non_exhaustive]
pub enum ToolSource {
    /// Shipped with Haft, or reviewed like it: runs on the engine's own runtime, and registration trusts the schema of its type.
    BuiltIn,
    /// Registered by an embedding program or a plugin of this name.
    Plugin(String),
    /// Offered by the MCP server of this name.
    Mcp(String),
}

/// Hints for MCP clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
#[allow(clippy::struct_excessive_bools)] // the four flags of the MCP specification
pub struct Hints {
    /// Changes nothing.
    pub read_only: bool,
    /// May destroy something.
    pub destructive: bool,
    /// Twice is the same as once.
    pub idempotent: bool,
    /// Reaches beyond this machine.
    pub open_world: bool,
}

/// The fixed facts of a tool, written by `#[derive(ToolMeta)]`.
#[derive(Debug, Clone, Copy)]
pub struct Meta {
    /// The canonical name, in snake_case.
    pub name: &'static str,
    /// The name shown to people.
    pub label: &'static str,
    /// What the model reads.
    pub description: &'static str,
    /// Its section in listings.
    pub section: Section,
    /// What kind of thing it does.
    pub category: Category,
    /// The access that an ordinary call needs. What a call really needs comes from its plan; this decides where that is empty.
    pub access: Access,
    /// What the platform must grant first.
    pub permissions: &'static [&'static str],
    /// How long a call may take.
    pub timeout: Duration,
    /// The profiles that include it.
    pub profiles: &'static [&'static str],
    /// Other names it answers to.
    pub aliases: &'static [&'static str],
    /// What dialects call it and its parameters.
    pub forms: &'static [Form],
    /// What the content of a rule on it is about, if a rule on it can have content.
    pub rules: Option<RuleTarget>,
    /// Only for the owner.
    pub owner_only: bool,
    /// Not shown until it is searched for.
    pub deferred: bool,
    /// For MCP clients.
    pub hints: Hints,
    /// Text it may give the model in bytes, if it bounds itself above the engine's own cap; 0 leaves it to the engine.
    pub max_output: usize,
}

impl Meta {
    /// The facts of a tool that touches nothing; the derive changes what its attribute names.
    pub const fn new(name: &'static str, description: &'static str) -> Self {
        Self {
            name,
            label: name,
            description,
            section: Section::System,
            category: Category::System,
            access: Access::ReadOnly,
            permissions: &[],
            timeout: Duration::from_secs(30),
            profiles: &[],
            aliases: &[],
            forms: &[],
            rules: None,
            owner_only: false,
            deferred: false,
            hints: Hints { read_only: false, destructive: false, idempotent: false, open_world: false },
            max_output: 0,
        }
    }
}

/// How the arguments stage reads parameters of this tool, beyond what the schema says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParameterHints {
    /// Another spelling → the parameter's name.
    pub aliases: Vec<(String, String)>,
    /// Other spellings of the choices of a parameter → the choice.
    pub choices: Vec<(String, Vec<(String, String)>)>,
    /// Parameters whose text is taken as it is: not trimmed, and empty is a value.
    pub verbatim: Vec<String>,
    /// Parameters of another dialect, which models of other dialects are not shown.
    pub foreign: Vec<String>,
    /// Parameters that calls seldom have, which requests leave out.
    pub rare: Vec<String>,
    /// Parameters that models are shown as required, although a call may have another in its place.
    pub shown_required: Vec<String>,
    /// The same for the items of a parameter that is a list of objects.
    pub items: Vec<(String, ParameterHints)>,
}

/// A tool as listings, providers and the engine know it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ToolDefinition {
    /// The canonical name.
    pub name: Cow<'static, str>,
    /// The name shown to people.
    pub label: Cow<'static, str>,
    /// What the model reads.
    pub description: Cow<'static, str>,
    /// The parameters: a flat JSON Schema object, and how they are read.
    pub parameters: SharedSchema,
    /// The schema of a structured result, if it has one.
    #[serde(skip)]
    pub output: Option<SharedSchema>,
    /// Its section in listings.
    pub section: Section,
    /// What kind of thing it does.
    pub category: Category,
    /// The access that an ordinary call needs.
    pub access: Access,
    /// The access that every call needs at least, where the user has set one.
    #[serde(skip)]
    pub least_access: Option<Access>,
    /// What the platform must grant first.
    pub permissions: Vec<Cow<'static, str>>,
    /// How long a call may take.
    #[serde(rename = "timeout_seconds", serialize_with = "as_seconds")]
    pub timeout: Duration,
    /// The profiles that include it.
    pub profiles: Vec<Cow<'static, str>>,
    /// Other names it answers to.
    pub aliases: Vec<Cow<'static, str>>,
    /// What dialects call it and its parameters.
    #[serde(skip)]
    pub forms: Cow<'static, [Form]>,
    /// What the content of a rule on it is about, if a rule on it can have content. Counts for tools that come with Haft.
    #[serde(skip)]
    pub rules: Option<RuleTarget>,
    /// Only for the owner.
    pub owner_only: bool,
    /// Not shown until it is searched for.
    #[serde(skip)]
    pub deferred: bool,
    /// For MCP clients.
    pub hints: Hints,
    /// Text it may give the model in bytes, if it bounds itself above the engine's own cap.
    #[serde(skip)]
    pub max_output: usize,
    /// Not offered until the user names it in `tools.also_allow`.
    #[serde(skip)]
    pub optional: bool,
    /// Why it cannot be used here, if it cannot: then it is not offered.
    #[serde(skip)]
    pub absent: Option<AbsentTool>,
}

/// Why a tool cannot be used here, and what would change that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbsentTool {
    /// What is missing, as a part of a sentence: `no channel is configured`.
    pub why: Cow<'static, str>,
    /// What the user can do.
    pub advice: Cow<'static, str>,
}

impl ToolDefinition {
    /// The definition of a typed tool. Its schemas are made when they are first looked at, once in a process.
    pub fn for_tool<T: Tool>() -> Self {
        Self { output: T::Output::schema(), ..Self::with_schema(&T::META, SharedSchema::for_type::<T::Params>()) }
    }

    /// The definition of a tool with these facts and parameters. The schema is normalised; registration lints it.
    pub fn from_meta(meta: &Meta, parameters: Value) -> Self {
        Self::with_schema(meta, schema::normalise(parameters).into())
    }

    fn with_schema(meta: &Meta, parameters: SharedSchema) -> Self {
        Self {
            name: Cow::Borrowed(meta.name),
            label: Cow::Borrowed(meta.label),
            description: Cow::Borrowed(meta.description),
            parameters,
            output: None,
            section: meta.section,
            category: meta.category,
            access: meta.access,
            least_access: None,
            permissions: borrowed(meta.permissions),
            timeout: meta.timeout,
            profiles: borrowed(meta.profiles),
            aliases: borrowed(meta.aliases),
            forms: Cow::Borrowed(meta.forms),
            rules: meta.rules,
            owner_only: meta.owner_only,
            deferred: meta.deferred,
            hints: meta.hints,
            max_output: meta.max_output,
            optional: false,
            absent: None,
        }
    }

    /// A definition made at run time, as for a plugin's tool.
    pub fn new(name: impl Into<Cow<'static, str>>, description: impl Into<Cow<'static, str>>, parameters: Value) -> Self {
        let (name, description) = (name.into(), description.into());
        Self { label: name.clone(), name, description, ..Self::from_meta(&Meta::new("", ""), parameters) }
    }

    /// Takes every text as it is, empty ones and blanks at its ends too: what they mean to a tool that others wrote is not known.
    pub fn keep_texts(&mut self) {
        let is_text = |schema: &Value| schema["type"] == "string" && schema.get("enum").is_none();
        let properties = self.parameters["properties"].as_object().into_iter().flatten();
        let texts: Vec<String> = properties.filter(|(_, schema)| is_text(schema)).map(|(name, _)| name.clone()).collect();
        self.parameters.hints_mut().verbatim = texts;
    }
}

fn borrowed(names: &'static [&'static str]) -> Vec<Cow<'static, str>> {
    names.iter().copied().map(Cow::Borrowed).collect()
}

fn as_seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_levels_are_ordered_and_read_in_every_spelling() {
        assert!(Access::ReadOnly < Access::WorkspaceWrite && Access::WorkspaceWrite < Access::FullAccess);
        for (text, level) in [
            ("read-only", Access::ReadOnly),
            ("ReadOnly", Access::ReadOnly),
            ("workspace_write", Access::WorkspaceWrite),
            ("DangerFullAccess", Access::FullAccess),
            ("danger-full-access", Access::FullAccess),
        ] {
            assert_eq!(text.parse(), Ok(level));
        }
        assert_eq!("root".parse::<Access>().unwrap_err(), "unknown access level 'root': use read-only, workspace-write or full-access");
    }
}
