//! Ports for planning: the to-do list of a session, finding tools, and waiting.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{BoxFuture, ToolError};

/// How far an item of a to-do list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Begun; several may be.
    InProgress,
    /// Done.
    Completed,
}

/// An item of a to-do list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// What is to be done.
    pub content: String,
    /// The same, as it is shown while it is done: "Running the tests".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// How far it is.
    pub status: TodoStatus,
    /// A name that is unique in the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl Todo {
    /// The text for its status: what is done now, or what is to be done.
    pub fn text(&self) -> &str {
        match (self.status, &self.active_form) {
            (TodoStatus::InProgress, Some(text)) => text,
            _ => &self.content,
        }
    }
}

/// Stores to-do lists, with every earlier version.
pub trait TodoStore: Send + Sync {
    /// The current list of a session.
    fn list<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<Todo>, ToolError>>;
    /// Replaces the list of a session, for this call; returns the list before. A list whose items are all completed is stored as an
    /// empty one, and its last version stays in the history.
    fn replace<'a>(&'a self, session: &'a str, call: &'a str, todos: &'a [Todo]) -> BoxFuture<'a, Result<Vec<Todo>, ToolError>>;
}

/// Finds tools that a session may use.
pub trait ToolIndex: Send + Sync {
    /// Finds tools of a session, loads them, and describes them as its model knows them. The error says what is wrong with the query.
    fn search(&self, session: &str, query: &str, most: usize) -> Result<Value, ToolError>;
    /// Checks a query before the call runs.
    fn check(&self, query: &str) -> Result<(), ToolError>;
}

/// What ended a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WakeReason {
    /// The user has sent a message, which the model gets with the result.
    Message,
    /// Something of the session that ran in the background has ended, in words.
    Ended(String),
}

/// Wakes calls that wait.
pub trait WakeSource: Send + Sync {
    /// Resolves at the next event of a session for which a waiting call should return; at once if there was one that the model does
    /// not know yet.
    fn wake<'a>(&'a self, session: &'a str) -> BoxFuture<'a, WakeReason>;
}

/// Receives the structured output of a turn, which the caller described by a schema.
pub trait OutputSink: Send + Sync {
    /// Whether a value fits the schema; the error names the paths that do not.
    fn check(&self, value: &Value) -> Result<(), ToolError>;
    /// Takes the value, which ends the turn.
    fn accept(&self, value: Value);
}
