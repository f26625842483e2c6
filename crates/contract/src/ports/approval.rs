//! Port for approvals.

use serde_json::Value;

use crate::{BoxFuture, CallInfo, Effect};

/// A question to the user: whether a call may run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The id of the question; an answer that arrives elsewhere names it.
    pub id: String,
    /// The call.
    pub call: CallInfo,
    /// Its arguments, frozen: the approved call is the one that runs.
    pub arguments: Value,
    /// Its effects.
    pub effects: Vec<Effect>,
    /// Why it needs approval.
    pub reason: String,
    /// Hash of exactly this tool with these arguments and effects; an answer counts for nothing else.
    pub fingerprint: String,
    /// The rules that [`ApprovalAnswer::Session`] and [`ApprovalAnswer::Always`] add, or why neither is possible.
    pub rules: Result<Vec<String>, String>,
}

impl ApprovalRequest {
    /// For the engine.
    pub fn new(call: CallInfo, arguments: Value, effects: Vec<Effect>, reason: String) -> Self {
        Self { id: String::new(), call, arguments, effects, reason, fingerprint: String::new(), rules: Err(String::new()) }
    }
}

/// The answer of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApprovalAnswer {
    /// Yes, this once.
    Once,
    /// Yes, and the rules of the question hold for the rest of the session.
    Session,
    /// Yes, and the rules of the question are saved in the user's own file.
    Always,
    /// No; the comment is for the model.
    Deny {
        /// A comment of the user.
        comment: Option<String>,
    },
}

/// Asks the user: a terminal, a web page, a chat, a callback of the embedding program.
pub trait Approver: Send + Sync {
    /// Asks. The engine gives up after its own time limit, and then the answer counts for nothing.
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer>;
    /// Whether the engine asks one question after the other. A web page can show several at once, a terminal cannot.
    fn one_at_a_time(&self) -> bool {
        true
    }
}

/// Saves the rules of [`ApprovalAnswer::Always`] in the user's own file, never in a project's.
pub trait RuleStore: Send + Sync {
    /// Saves them; returns the file, or why not.
    fn keep<'a>(&'a self, rules: &'a [String]) -> BoxFuture<'a, Result<String, String>>;
}
