//! Port for approvals.

use std::time::Duration;

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
    /// What [`ApprovalAnswer::AlwaysAs`] can save, from narrow to wide; empty if nothing can be saved.
    pub widths: Vec<GrantWidth>,
    /// How long the engine waits for the answer.
    pub time_limit: Option<Duration>,
    /// Why the last edit of the arguments, or the rules that the user wrote, were not accepted.
    pub edit_fault: Option<String>,
    /// Whether the session has seen untrusted content.
    pub is_tainted: bool,
    /// Past calls like this one; `None` where no rule tells them.
    pub similar: Option<GrantWidth>,
}

/// One width at which a call can be allowed for good.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct GrantWidth {
    /// What it covers, in a few words: `this host`.
    pub name: String,
    /// The rules that are saved.
    pub rules: Vec<String>,
    /// Past calls that they would have covered, newest first, each once.
    pub past: Vec<String>,
    /// How many past calls they would have covered.
    pub past_calls: usize,
    /// How many of those of the last [`SIMILAR_DAYS`] days were allowed.
    pub allowed: usize,
    /// How many of those of the last [`SIMILAR_DAYS`] days were denied.
    pub denied: usize,
}

/// The days of which a question counts similar calls.
pub const SIMILAR_DAYS: u64 = 30;

impl GrantWidth {
    /// For the policy; without past calls.
    pub fn new(name: impl Into<String>, rules: Vec<String>) -> Self {
        Self { name: name.into(), rules, ..Self::default() }
    }
}

impl ApprovalRequest {
    /// For the engine.
    pub fn new(call: CallInfo, arguments: Value, effects: Vec<Effect>, reason: String) -> Self {
        Self {
            id: String::new(),
            call,
            arguments,
            effects,
            reason,
            fingerprint: String::new(),
            rules: Err(String::new()),
            widths: Vec::new(),
            time_limit: None,
            edit_fault: None,
            is_tainted: false,
            similar: None,
        }
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
    /// Yes, and the rules of the width at this index of [`ApprovalRequest::widths`] are saved.
    AlwaysAs(usize),
    /// Yes, and these rules are saved, which the user wrote. They may say what a width may, and must cover the call; otherwise the
    /// question comes again, with [`ApprovalRequest::edit_fault`].
    AlwaysBy(Vec<String>),
    /// Make the call with these arguments instead: they are validated, planned and decided on like any others, so the question may
    /// come again.
    Edit(Value),
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
    /// Whether someone can answer now; while it is `false`, calls that need approval are refused at once.
    fn can_ask(&self) -> bool {
        true
    }
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
