//! Tools that a page calls for the user.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use crate::api::CallView;

/// Tools that a request may not call: they start agents and commands, write to others, or change the gateway itself.
pub(crate) const DENIED: [&str; 12] = [
    "sessions_spawn",
    "sessions_send",
    "subagents",
    "agent",
    "exec",
    "process",
    "repl",
    "powershell",
    "cron",
    "gateway",
    "nodes",
    "message",
];

/// Requests whose results are remembered.
const MOST_REMEMBERED: usize = 256;

/// The result of a request; the same request again waits for it or gets it.
pub(crate) type InvocationResult = Arc<OnceCell<CallView>>;

/// Requests that were made, by token and the name that the client gave them.
#[derive(Debug, Default)]
pub(crate) struct Invocations(Mutex<VecDeque<(String, InvocationResult)>>);

impl Invocations {
    /// The result of a request with this name.
    pub(crate) fn result_of(&self, name: &str) -> InvocationResult {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, result)) = known.iter().find(|(other, _)| other == name) {
            return Arc::clone(result);
        }
        if known.len() >= MOST_REMEMBERED {
            known.pop_front();
        }
        let result = InvocationResult::default();
        known.push_back((name.to_owned(), Arc::clone(&result)));
        result
    }
}
