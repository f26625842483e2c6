//! Port for other conversations: those that this one may see.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::settings::named_enum;
use crate::{BoxFuture, SubAgentState, ToolError};

named_enum! {
    /// Which conversations an agent sees.
    SessionVisibility {
        /// Its own.
        Own = "self",
        /// Also those that it started, and those that they started.
        Tree = "tree",
        /// Also all others of the same agent in the same folder.
        Agent = "agent",
        /// All.
        All = "all",
    }
}

named_enum! {
    /// What a conversation is.
    SessionKind {
        /// One with a user.
        Main = "main",
        /// One of a sub-agent.
        SubAgent = "subagent",
    }
}

/// A conversation in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    /// Its id.
    pub id: String,
    /// What it is.
    pub kind: SessionKind,
    /// Its title, or the label of the sub-agent.
    pub title: Option<String>,
    /// Its agent.
    pub agent: String,
    /// Its model, as `provider/model`.
    pub model: Option<String>,
    /// The folder it works in.
    pub workspace: PathBuf,
    /// The conversation that started it.
    pub parent: Option<String>,
    /// The state of the sub-agent.
    pub state: Option<SubAgentState>,
    /// When it began.
    pub created: SystemTime,
    /// When its newest message was made.
    pub updated: SystemTime,
    /// How many entries it has.
    pub messages: u64,
    /// Tokens that its model read.
    pub input: u64,
    /// Tokens that its model wrote.
    pub output: u64,
    /// What it cost in millionths of a dollar, as far as that is known.
    pub cost_micros: i64,
    /// Its newest messages, if they were wanted.
    pub newest: Vec<SessionMessage>,
    /// Whether it has seen untrusted content.
    pub is_tainted: bool,
}

/// A message of a conversation, for reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionMessage {
    /// `user`, `assistant`, `tool` or `summary`.
    pub role: &'static str,
    /// Its text, bounded and without secrets.
    pub text: String,
    /// When it was made.
    pub created: SystemTime,
}

/// Which conversations to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionQuery {
    /// Only these kinds; empty for all.
    pub kinds: Vec<SessionKind>,
    /// At most this many.
    pub limit: usize,
    /// Only those with a message in this time.
    pub active: Option<Duration>,
    /// How many of the newest messages of each are wanted.
    pub messages: usize,
}

/// The end of a conversation, for reading.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionPage {
    /// Its id.
    pub id: String,
    /// Messages, oldest first.
    pub messages: Vec<SessionMessage>,
    /// How many older messages are not in it.
    pub dropped: u64,
    /// Whether a text in it was cut.
    pub is_cut: bool,
    /// Whether something in it was redacted.
    pub is_redacted: bool,
    /// Whether the conversation has seen untrusted content.
    pub is_tainted: bool,
}

/// The state of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionState {
    /// As it is listed.
    pub summary: SessionSummary,
    /// Whether it is the conversation of the call.
    pub is_current: bool,
    /// Its access level, if it is the conversation of the call.
    pub access: Option<crate::Access>,
    /// About how many tokens it fills of the window of its model, and the window, if it is the conversation of the call.
    pub context: Option<(u64, u64)>,
    /// How many sub-agents run for it.
    pub running: usize,
}

/// What became of a message to another conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionDelivery {
    /// The agent there answered.
    Answered {
        /// The session.
        id: String,
        /// The answer.
        reply: String,
    },
    /// It was delivered, and there is no answer yet.
    Delivered {
        /// The session.
        id: String,
        /// When the message is read, in words.
        when: &'static str,
        /// Whether an answer was waited for.
        is_late: bool,
    },
}

/// Another model for a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChange {
    /// The session.
    pub id: String,
    /// The model, as `provider/model`.
    pub model: String,
    /// When it answers, in words.
    pub when: &'static str,
}

/// The conversations that a conversation sees.
pub trait SessionDirectory: Send + Sync {
    /// Lists conversations, the one updated last first.
    fn list(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionSummary>, ToolError>>;
    /// The newest messages of a conversation: `main`, `current`, an id, or the beginning of one.
    fn history<'a>(&'a self, session: &'a str, limit: usize, with_tools: bool) -> BoxFuture<'a, Result<SessionPage, ToolError>>;
    /// The state of a conversation; of the current one, if none is named.
    fn status<'a>(&'a self, session: Option<&'a str>) -> BoxFuture<'a, Result<SessionState, ToolError>>;
    /// Gives a conversation another model, as `provider/model`, or with `default` the configured one; the current one, if none is named.
    fn set_model<'a>(&'a self, session: Option<&'a str>, model: &'a str) -> BoxFuture<'a, Result<ModelChange, ToolError>>;
    /// Sends a message to a conversation by its id or label, and waits for the answer of its agent.
    fn send<'a>(&'a self, to: &'a str, message: &'a str, wait: Duration) -> BoxFuture<'a, Result<SessionDelivery, ToolError>>;
}
