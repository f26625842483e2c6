//! What the gateway needs of the program that it is part of.

use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::BoxFuture;
use haft_contract::ports::Automation;
use haft_store::{CallLog, CallRecord, SessionStore};
use haft_tui::chat::{ChatBackend, ChatOptions};
use haft_tui::failure::Failure;
use serde_json::Value;

use crate::remote::RemoteTurns;

/// The tool and the arguments of a request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolRequest {
    /// Any name of the tool.
    pub tool: String,
    /// The agent that calls; `None` is the one of the server.
    pub agent: Option<String>,
    /// The arguments, if there are any.
    pub arguments: Option<Value>,
    /// The provider whose form of the tool is wanted.
    pub provider: Option<String>,
}

impl ToolRequest {
    /// Without arguments.
    pub fn new(tool: impl Into<String>, agent: Option<String>) -> Self {
        Self { tool: tool.into(), agent, arguments: None, provider: None }
    }
}

/// Keys and tools of an agent in the user's file; what is `None` or not named stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentChange {
    /// Tools that are ticked.
    pub on: Vec<String>,
    /// Tools that are not.
    pub off: Vec<String>,
    /// The model; an empty text takes the key out of the file, here and below.
    pub model: Option<String>,
    /// The prompt.
    pub prompt: Option<String>,
    /// The profile of tools.
    pub profile: Option<String>,
    /// The access level.
    pub access: Option<String>,
}

/// Builds concrete types, and answers what only the configuration knows. Values are JSON as `docs/GATEWAY.md` describes it.
pub trait GatewayBackend: Send + Sync {
    /// The stored sessions.
    fn sessions(&self) -> Arc<dyn SessionStore>;
    /// The history of calls.
    fn calls(&self) -> Arc<dyn CallLog>;
    /// The configuration of a conversation.
    fn chat(&self, options: &ChatOptions) -> Result<Arc<dyn ChatBackend>, Failure>;
    /// The folder that the server works in.
    fn workspace(&self) -> PathBuf;
    /// What answers about the configuration and the tools are made from.
    fn versions(&self) -> BackendVersions;
    /// Facts about the server for `GET /api/me`.
    fn about(&self) -> BoxFuture<'_, Result<Value, Failure>>;
    /// Every tool, with whether the agent is offered it.
    fn tools(&self, agent: Option<&str>) -> Result<Value, Failure>;
    /// One tool in full.
    fn tool(&self, request: &ToolRequest) -> Result<Value, Failure>;
    /// Why a tool or a call is allowed or denied.
    fn explain<'a>(&'a self, request: &'a ToolRequest) -> BoxFuture<'a, Result<Value, Failure>>;
    /// Calls a tool as the user; returns the id of the record.
    fn invoke<'a>(&'a self, request: &'a ToolRequest, call_id: &'a str) -> BoxFuture<'a, Result<haft_contract::ToolResult, Failure>>;
    /// Undoes a call or a session; with `apply` unset it is only looked at.
    fn undo<'a>(&'a self, scope: UndoRequest<'a>) -> BoxFuture<'a, Result<Value, Failure>>;
    /// All agents.
    fn agents(&self) -> Result<Value, Failure>;
    /// One agent.
    fn agent(&self, name: &str) -> Result<Value, Failure>;
    /// The change of the user's file, and the tools that result. With [`Saving::Write`] the file is written.
    fn edit_agent(&self, name: &str, change: &AgentChange, saving: Saving) -> Result<Value, Failure>;
    /// Changes keys of the user's file. With [`Saving::Write`] the file is written, if it loads with them.
    fn edit_settings(&self, edits: &[KeyEdit], saving: Saving) -> Result<Value, Failure>;
    /// Restores the user's file as it was before a save, by the id that the save returned.
    fn undo_save(&self, id: &str) -> Result<Value, Failure>;
    /// What the user trusts, or its revocation.
    fn trust<'a>(&'a self, request: TrustRequest<'a>) -> BoxFuture<'a, Result<Value, Failure>>;
    /// Asks a provider of models once.
    fn test_provider<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Value, Failure>>;
    /// Those of the past calls that these rules would have covered.
    fn filter_covered(&self, rules: &[String], calls: Vec<CallRecord>) -> Result<Vec<CallRecord>, Failure>;
    /// Every setting with its source.
    fn settings(&self) -> Result<Value, Failure>;
    /// The checks of the doctor.
    fn doctor(&self) -> BoxFuture<'_, Result<Value, Failure>>;
    /// Every tool with every step of the policy.
    fn policy<'a>(&'a self, agent: Option<&'a str>) -> BoxFuture<'a, Result<Value, Failure>>;
    /// What past calls would become with other settings.
    fn simulate<'a>(&'a self, config: &'a str, calls: usize) -> BoxFuture<'a, Result<Value, Failure>>;
    /// What commands wrote and could not stay.
    fn quarantine(&self, request: QuarantineRequest<'_>) -> Result<Value, Failure>;
    /// Staged changes of commands.
    fn changes<'a>(&'a self, request: ChangeRequest<'a>) -> BoxFuture<'a, Result<Value, Failure>>;
    /// Drops some paths of a change set and applies the others, as one call; `None` if none is left to apply.
    fn decide_changes<'a>(
        &'a self,
        decision: &'a ChangeDecision,
        call_id: &'a str,
    ) -> BoxFuture<'a, Result<Option<haft_contract::ToolResult>, Failure>>;
    /// Background jobs.
    fn jobs(&self) -> BoxFuture<'_, Result<Value, Failure>>;
    /// Ends a background job.
    fn kill_job<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), Failure>>;
    /// The notes that agents remember.
    fn memory<'a>(&'a self, request: MemoryRequest<'a>) -> BoxFuture<'a, Result<Value, Failure>>;
    /// A part of the whole of an output that was cut, from this byte on.
    fn spill<'a>(&'a self, path: &'a str, offset: u64) -> BoxFuture<'a, Result<Value, Failure>>;
    /// Starts an MCP server and shows what it offers, or approves that.
    fn server<'a>(&'a self, name: &'a str, request: ServerRequest<'a>) -> BoxFuture<'a, Result<Value, Failure>>;
    /// MCP servers and providers.
    fn connections(&self) -> BoxFuture<'_, Result<Value, Failure>>;
    /// Scheduled jobs.
    fn automation(&self) -> Result<Arc<dyn Automation>, Failure>;
    /// The budget, as far as it is set, in dollars.
    fn budget(&self) -> Value;
    /// The prices of models.
    fn prices(&self) -> haft_agent::Prices {
        haft_agent::Prices::shipped()
    }
    /// The quotas, with what is used of each.
    fn quotas(&self) -> BoxFuture<'_, Value> {
        Box::pin(async { serde_json::json!([]) })
    }
    /// What runs turns in other processes; without it they run in this one.
    fn remote(&self) -> Option<Arc<dyn RemoteTurns>> {
        None
    }
    /// The steps of the browser of a session.
    fn recording(&self, session: &str) -> Result<Value, Failure> {
        let _ = session;
        Ok(serde_json::json!({ "steps": [] }))
    }
    /// The picture of such a step, in JPEG.
    fn recorded_picture(&self, session: &str, number: u64) -> Option<Vec<u8>> {
        let _ = (session, number);
        None
    }
    /// A request of a service to a channel: the status and the body of the answer.
    fn hook<'a>(&'a self, channel: &'a str, request: HookDelivery) -> BoxFuture<'a, (u16, String)> {
        let _ = (channel, request);
        Box::pin(async { (404, "{\"error\":\"This server has no channels.\"}".to_owned()) })
    }
}

/// An HTTP request of a service to a channel. Nothing of it was checked.
#[derive(Debug, Clone)]
pub struct HookDelivery {
    /// Headers that are text; the names are in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// When it came.
    pub at: std::time::SystemTime,
}

/// Counters that grow with each change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct BackendVersions {
    /// Of the configuration, also when another program changed its files.
    pub config: u64,
    /// Of the registered tools.
    pub tools: u64,
}

impl BackendVersions {
    /// Of the configuration, and of the tools.
    pub fn new(config: u64, tools: u64) -> Self {
        Self { config, tools }
    }
}

/// A request about memory. Changes are calls of the file tools, which are recorded and can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryRequest<'a> {
    /// All files.
    List,
    /// What fits these words, at most so many.
    Search(&'a str, usize),
    /// One file with who wrote each part.
    Show(&'a str),
    /// Adds a note to a file.
    Add {
        /// The note.
        text: &'a str,
        /// The file.
        file: &'a str,
    },
    /// Replaces the text of a file.
    Write {
        /// The file.
        file: &'a str,
        /// Its text.
        text: &'a str,
    },
    /// Removes lines, or a whole file: `MEMORY.md#L3-L5`.
    Forget(&'a str),
}

/// A request about an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerRequest<'a> {
    /// Start it, and show its tools that wait for the user.
    Review,
    /// Approve the tools with this fingerprint, which a review gave.
    Approve(&'a str),
}

/// A request about what the user trusts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustRequest<'a> {
    /// Everything that is trusted.
    List,
    /// Trust it no more.
    Revoke(TrustKind, &'a str),
}

/// A kind of things that a user trusts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrustKind {
    /// The folder of a project, with its file and its plugins.
    Folder,
    /// A plugin.
    Plugin,
    /// The tools of an MCP server.
    McpServer,
}

/// Whether a change is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saving {
    /// Only shown.
    Preview,
    /// Written to the user's file.
    Write,
}

/// What is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoRequest<'a> {
    /// Look at the files of a call.
    PreviewCall(&'a str),
    /// Look at the files of a session.
    PreviewSession(&'a str),
    /// Undo a call.
    Call(&'a str, LaterChanges),
    /// Undo a session.
    Session(&'a str, LaterChanges),
}

/// What an undo does with files that something else changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaterChanges {
    /// Nothing is undone.
    Keep,
    /// They are overwritten, and a copy is kept.
    Overwrite,
}

/// A request about the quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuarantineRequest<'a> {
    /// All entries.
    List,
    /// One entry with its content.
    Show(&'a str),
    /// Move it back.
    Restore(&'a str, LaterChanges),
    /// Remove it for good.
    Remove(&'a str),
}

/// A request about staged changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeRequest<'a> {
    /// All sets of the workspace.
    List,
    /// One set with its paths.
    Show(&'a str),
    /// The difference in one path of a set.
    Diff(&'a str, &'a str),
}

/// What becomes of each path of a change set.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangeDecision {
    /// The set.
    pub id: String,
    /// Paths that are put in place.
    pub apply: Vec<String>,
    /// Paths that are forgotten.
    pub drop: Vec<String>,
}

impl ChangeDecision {
    /// Every path of the set has to be in one of the lists.
    pub fn new(id: impl Into<String>, apply: Vec<String>, drop: Vec<String>) -> Self {
        Self { id: id.into(), apply, drop }
    }
}

/// A change of one key of the user's file, as the advice on a refusal has it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(tag = "edit", rename_all = "snake_case")]
#[non_exhaustive]
pub enum KeyEdit {
    /// Put an entry into a list.
    Add {
        /// The list: `rules.allow`.
        key: String,
        /// The entry.
        entry: String,
    },
    /// Take an entry out of a list.
    Remove {
        /// The list.
        key: String,
        /// The entry.
        entry: String,
    },
    /// Give a key a value.
    Set {
        /// The key.
        key: String,
        /// A word, or a list of words.
        value: Value,
    },
}
