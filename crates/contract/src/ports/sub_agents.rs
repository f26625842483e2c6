//! Port for sub-agents: conversations that a conversation starts, each with at most its rights.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use tokio_util::sync::CancellationToken;

use crate::settings::named_enum;
use crate::{Access, BoxFuture, ToolError};

named_enum! {
    /// The state of a sub-agent. The first two are passing, the others final.
    SubAgentState {
        /// It waits for others to end.
        Pending = "pending",
        /// It works.
        Running = "running",
        /// It has answered.
        Done = "done",
        /// It ended without an answer; its error says why.
        Failed = "failed",
        /// Its time was up.
        TimedOut = "timed_out",
        /// It was ended by its parent, by the user, or with its parent.
        Killed = "killed",
    }
}

impl SubAgentState {
    /// Whether it has not ended.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Pending | Self::Running)
    }
}

/// A sub-agent: what it was asked, how it is, and what it answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubAgentStatus {
    /// The id of its session; its conversation is kept under it.
    pub id: String,
    /// The session that started it.
    pub parent: String,
    /// How many agents are between it and the user.
    pub depth: u32,
    /// Its name for people and models; not unique.
    pub label: String,
    /// The configured agent that it runs as.
    pub agent: String,
    /// Its type.
    pub agent_type: String,
    /// What it was asked to do.
    pub task: String,
    /// Its model, as `provider/model`.
    pub model: String,
    /// Its state.
    pub state: SubAgentState,
    /// Whether its parent continued without waiting for it.
    pub background: bool,
    /// When it was requested.
    pub created: SystemTime,
    /// When it began to work.
    pub started: Option<SystemTime>,
    /// When it ended.
    pub ended: Option<SystemTime>,
    /// How often its model was asked.
    pub rounds: u32,
    /// How many tools it called.
    pub calls: u32,
    /// Tokens that its model read.
    pub input: u64,
    /// Tokens that its model wrote.
    pub output: u64,
    /// Its cost in millionths of a dollar, if that is known.
    pub cost_micros: Option<i64>,
    /// Its last text: the answer, once it is done.
    pub answer: Option<String>,
    /// Why it has no answer, or not a whole one.
    pub error: Option<String>,
    /// Whether its end was reported to its parent.
    pub reported: bool,
    /// Whether a message of its parent after its end continues it.
    pub is_open: bool,
    /// Where its commands run.
    pub sandbox: SandboxDemand,
    /// The folder that its commands start in; the workspace, if absent.
    pub cwd: Option<PathBuf>,
    /// How much its model thinks before it answers; as the provider decides, if absent.
    pub thinking: Option<ThinkingLevel>,
}

named_enum! {
    /// How much a model thinks before it answers.
    ThinkingLevel {
        /// Not at all.
        Off = "off",
        /// As little as it can.
        Minimal = "minimal",
        /// A little.
        Low = "low",
        /// Some.
        Medium = "medium",
        /// Much.
        High = "high",
        /// As much as it can.
        Max = "xhigh" | "max",
    }
}

named_enum! {
    /// Where the commands of a sub-agent run.
    #[derive(Default)]
    SandboxDemand {
        /// Where those of its parent run.
        #[default]
        Inherit = "inherit",
        /// In the sandbox, or not at all.
        Require = "require",
    }
}

/// A file that a sub-agent gets with its task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentAttachment {
    /// Its file name.
    pub name: String,
    /// Its media type, if the parent said so.
    pub mime_type: Option<String>,
    /// Its content.
    pub content: Vec<u8>,
}

/// A file that a sub-agent got with its task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAttachment {
    /// Its file name.
    pub name: String,
    /// Its media type, if the parent said so.
    pub mime_type: Option<String>,
    /// Where the sub-agent reads it.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: usize,
    /// SHA-256 of its content, in hexadecimal digits.
    pub sha256: String,
}

/// A sub-agent that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedAgent {
    /// Its state.
    pub status: SubAgentStatus,
    /// The files that it got.
    pub attachments: Vec<StoredAttachment>,
    /// The tools that it has: those that the policy offers to it.
    pub tools: Vec<String>,
}

/// A sub-agent that is to be started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubAgentRequest {
    /// What it is to do; all that it knows.
    pub task: String,
    /// Its name; made from the task, if absent.
    pub label: Option<String>,
    /// Its type; general-purpose, if absent.
    pub agent_type: Option<String>,
    /// The configured agent to run as; that of the parent, if absent.
    pub agent: Option<String>,
    /// Its model, as `provider/model`; that of the type or the parent, if absent.
    pub model: Option<String>,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// Whether its parent continues without waiting for it.
    pub background: bool,
    /// Whether its session is removed when its end was reported.
    pub forget: bool,
    /// Whether a message after its end continues it.
    pub is_open: bool,
    /// Where its commands run.
    pub sandbox: SandboxDemand,
    /// Files that it gets with its task.
    pub attachments: Vec<AgentAttachment>,
    /// The folder that the task calls theirs, if it does.
    pub attached_as: Option<String>,
    /// The folder that its commands start in; the workspace, if absent.
    pub cwd: Option<PathBuf>,
    /// How much its model thinks.
    pub thinking: Option<ThinkingLevel>,
}

/// A kind of sub-agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentType {
    /// Its name.
    pub name: String,
    /// Other names that mean it.
    pub aliases: Vec<String>,
    /// When to use it.
    pub description: String,
    /// Its instructions.
    pub prompt: String,
    /// The tools that it has at most; `None` for all of its parent. With a rule's content in parentheses, only calls that it covers:
    /// `exec(git *)`.
    pub tools: Option<Vec<String>>,
    /// The most that it may do; as its parent, if absent.
    pub access: Option<Access>,
    /// Its model; that of its parent, if absent.
    pub model: Option<String>,
    /// The file that defines it; absent for those that come with Haft.
    pub file: Option<PathBuf>,
}

impl AgentType {
    /// The names of its tools; `None` for all of its parent.
    pub fn tool_names(&self) -> Option<impl Iterator<Item = &str>> {
        let name = |entry: &'_ String| entry.find('(').unwrap_or(entry.len());
        self.tools.as_ref().map(|tools| tools.iter().map(move |entry| entry[..name(entry)].trim()))
    }
    /// Whether this is one of its names, whatever the case.
    pub fn is_named(&self, name: &str) -> bool {
        std::iter::once(&self.name).chain(&self.aliases).any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// An agent of the configuration, as which a sub-agent may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownAgent {
    /// Its name in the configuration.
    pub id: String,
    /// Whether it has a table of its own.
    pub configured: bool,
}

/// Starts and manages the sub-agents of one conversation.
pub trait SubAgents: Send + Sync {
    /// The types that can be started.
    fn types(&self) -> Vec<AgentType>;
    /// The agents that a sub-agent can run as; first the one that asks.
    fn agents(&self) -> Vec<KnownAgent>;
    /// Checks a request without starting anything; returns the names that rules know the sub-agent by: its type, and the configured
    /// agent if it runs as another one than its parent.
    fn check(&self, request: &SubAgentRequest) -> Result<Vec<String>, ToolError>;
    /// Starts a sub-agent; it continues without the caller. One that is not in the background ends with `call`.
    fn spawn(&self, request: SubAgentRequest, call: CancellationToken) -> BoxFuture<'_, Result<StartedAgent, ToolError>>;
    /// Waits until a sub-agent of this conversation has ended, or is not any more as it was `seen`.
    fn wait<'a>(&'a self, id: &'a str, seen: Option<&'a SubAgentStatus>) -> BoxFuture<'a, Result<SubAgentStatus, ToolError>>;
    /// The sub-agents of this conversation, oldest first.
    fn list(&self) -> BoxFuture<'_, Result<Vec<SubAgentStatus>, ToolError>>;
    /// Sends a message to a running sub-agent of this conversation, which reads it with its next results; or continues one with it that
    /// has ended and is open.
    fn steer<'a>(&'a self, id: &'a str, message: &'a str) -> BoxFuture<'a, Result<SubAgentStatus, ToolError>>;
    /// Ends sub-agents of this conversation with all that they started; returns those that had not ended before.
    fn kill<'a>(&'a self, ids: &'a [String], why: &'a str) -> BoxFuture<'a, Result<Vec<SubAgentStatus>, ToolError>>;
    /// Background sub-agents that have ended and were not reported yet; each is returned once.
    fn end_notices(&self) -> Vec<SubAgentStatus>;
    /// Waits until the end of a background sub-agent can be reported; `false` if none runs and none is to be reported.
    fn next_end(&self) -> BoxFuture<'_, bool>;
    /// Resolves when a background sub-agent has ended and its end was not reported yet; without one it never resolves.
    fn unreported_end(&self) -> BoxFuture<'_, SubAgentStatus>;
}
