//! What an embedding program, and later a configured command, may do around every call.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use haft_contract::{BoxFuture, CallInfo, ErrorKind, ToolError, ToolOutput, ToolResult};
use serde_json::Value;

use crate::stop::within;

/// A call, as a hook sees it.
#[derive(Debug, Clone, Copy)]
pub struct HookCall<'a> {
    /// Who and what it is.
    pub call: &'a CallInfo,
    /// Its arguments; they were validated.
    pub arguments: &'a Value,
}

/// What a hook wants before a call.
#[derive(Debug)]
#[non_exhaustive]
pub enum Before {
    /// Go on.
    Continue,
    /// Go on with these arguments; they are validated again.
    Rewrite(Value),
    /// Stop, for this reason.
    Block(String),
    /// The tool need not run: this is the answer.
    Answer(ToolOutput),
}

/// Around every call of every tool. All methods have a default that does nothing.
pub trait Hook: Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;
    /// Before the call is planned. An `Err` means the hook could not run; the call is then blocked.
    fn before<'a>(&'a self, call: HookCall<'a>) -> BoxFuture<'a, Result<Before, String>> {
        let _ = call;
        Box::pin(async { Ok(Before::Continue) })
    }
    /// After the call: observes, changes nothing.
    fn after<'a>(&'a self, call: HookCall<'a>, result: &'a ToolResult) -> BoxFuture<'a, ()> {
        let _ = (call, result);
        Box::pin(async {})
    }
    /// May rewrite the text that history keeps.
    fn persist<'a>(&'a self, call: HookCall<'a>, stored: String) -> BoxFuture<'a, String> {
        let _ = call;
        Box::pin(async move { stored })
    }
}

/// Asks one hook; one that fails, panics or takes too long blocks the call, because nobody knows what it would have said.
pub(crate) async fn before(hook: &dyn Hook, call: HookCall<'_>, limit: Duration) -> Result<Before, ToolError> {
    let answer = within(limit, AssertUnwindSafe(async { hook.before(call).await }).catch_unwind()).await;
    let failure = match answer {
        Some(Ok(Ok(before))) => return Ok(before),
        Some(Ok(Err(why))) => why,
        Some(Err(_)) => "it panicked".to_owned(),
        None => format!("it took longer than {} s", limit.as_secs_f64()),
    };
    Err(ToolError::new(
        ErrorKind::Blocked,
        format!("The hook '{}' could not run, so the call was not made: {failure}. Tell the person.", hook.name()),
    ))
}

/// Tells one hook about a result; its failure is its own.
pub(crate) async fn after(hook: &dyn Hook, call: HookCall<'_>, result: &ToolResult, limit: Duration) {
    // Observers cannot change the result, so neither can their panic or their slowness.
    within(limit, AssertUnwindSafe(async { hook.after(call, result).await }).catch_unwind()).await;
}

/// Lets one hook rewrite what is stored; if it panics or takes too long, nothing of the text is stored.
pub(crate) async fn persist(hook: &dyn Hook, call: HookCall<'_>, stored: String, limit: Duration) -> String {
    match within(limit, AssertUnwindSafe(async { hook.persist(call, stored).await }).catch_unwind()).await {
        Some(Ok(rewritten)) => rewritten,
        Some(Err(_)) => format!("[withheld: the hook '{}' panicked]", hook.name()),
        None => format!("[withheld: the hook '{}' took too long]", hook.name()),
    }
}
