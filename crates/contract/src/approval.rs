//! Asking a person whether a call may go on.

use serde_json::Value;

use crate::{BoxFuture, CallInfo, Effect};

/// What a person is asked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The call.
    pub call: CallInfo,
    /// Its arguments, frozen: what is approved is what runs.
    pub arguments: Value,
    /// What it will do.
    pub effects: Vec<Effect>,
    /// Why it is asked.
    pub reason: String,
}

impl ApprovalRequest {
    /// For the engine.
    pub fn new(call: CallInfo, arguments: Value, effects: Vec<Effect>, reason: String) -> Self {
        Self { call, arguments, effects, reason }
    }
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Yes, this once.
    Once,
    /// No; the comment is for the model.
    Deny {
        /// What the person says to the model.
        comment: Option<String>,
    },
}

/// Whoever answers an ask: a terminal, a page, a chat, a callback of the embedding program.
pub trait Approver: Send + Sync {
    /// Asks. The engine gives up after its own time limit, and then the answer counts for nothing.
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer>;
}
