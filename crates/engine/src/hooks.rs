//! Hooks: code of an embedding program, or configured commands, that runs around every call.

mod command;
mod input;
mod matcher;
mod registered;
mod reply;
mod withheld;

use std::time::Duration;

use haft_contract::{BoxFuture, CallInfo, Effect, HookEvent, OnFailure, ToolOutput, ToolResult};
use haft_policy::Candidate;
use haft_redact::redact;
use haft_text::truncate::{ellipsize, first_bytes};
use serde_json::Value;

pub use self::command::{CommandHook, CommandHookSpec};
pub(crate) use self::registered::{Hooks, RegisteredHook};
pub use self::withheld::WithheldHook;

/// A call, as a hook sees it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct HookCall<'a> {
    /// The ids of the call, its tool, session and agent.
    pub call: &'a CallInfo,
    /// Its arguments; they are valid unless the call failed for them.
    pub arguments: &'a Value,
    /// The tool; `None` if there is none of that name.
    pub tool: Option<&'a Candidate<'a>>,
    /// Its planned effects; `None` if there is no plan, see [`Hook::needs_effects`].
    pub effects: Option<&'a [Effect]>,
}

/// The decision of a hook before a call.
#[derive(Debug)]
#[non_exhaustive]
pub enum HookDecision {
    /// The call continues.
    Continue,
    /// The call continues with these arguments; they are validated again.
    Rewrite(Value),
    /// The call needs approval, whatever else allows it.
    Ask {
        /// Why.
        reason: String,
        /// New arguments, as in [`HookDecision::Rewrite`].
        arguments: Option<Value>,
    },
    /// Stop, for this reason.
    Block(String),
    /// The tool does not run; this is its output.
    Answer(ToolOutput),
}

/// The decision of a hook on the stored text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PersistDecision {
    /// The text as it is.
    Keep,
    /// This text.
    Replace(String),
    /// Nothing of it, for this reason.
    Withhold(String),
}

/// Runs around every call of every tool. All methods but the name have a default that does nothing.
///
/// An `Err` means that the hook could not run, which is not a refusal: [`Hook::on_failure`] decides what follows. A panic and
/// a timeout are such failures too.
pub trait Hook: Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;
    /// Hooks with a higher number run first; equal ones in the order in which they were added.
    fn priority(&self) -> i64 {
        0
    }
    /// How long it may take; without a limit of its own it has [`CallLimits::hook`](crate::CallLimits::hook).
    fn time_limit(&self) -> Option<Duration> {
        None
    }
    /// What follows when it cannot run. After a call there is nothing left to block.
    fn on_failure(&self, event: HookEvent) -> OnFailure {
        event.default_failure()
    }
    /// Whether it reads the effects of a call before the call: then the call is planned before the hook runs.
    fn needs_effects(&self) -> bool {
        false
    }
    /// Whether it runs for this call at all.
    fn wants(&self, call: &HookCall<'_>, event: HookEvent) -> bool {
        let _ = (call, event);
        true
    }
    /// Before the call is permitted.
    fn before<'a>(&'a self, call: HookCall<'a>) -> BoxFuture<'a, Result<HookDecision, String>> {
        let _ = call;
        Box::pin(async { Ok(HookDecision::Continue) })
    }
    /// After the call: observes the whole result, also where the model gets a part of it, and changes nothing.
    fn after<'a>(&'a self, call: HookCall<'a>, result: &'a ToolResult) -> BoxFuture<'a, Result<(), String>> {
        let _ = (call, result);
        Box::pin(async { Ok(()) })
    }
    /// May rewrite or withhold the text that is stored: in history, in spills, in the transcript of the session. It gets the whole
    /// text; the model has the original until the session is resumed.
    fn persist<'a>(&'a self, call: HookCall<'a>, stored: &'a str) -> BoxFuture<'a, Result<PersistDecision, String>> {
        let _ = (call, stored);
        Box::pin(async { Ok(PersistDecision::Keep) })
    }
}

/// How many characters of a hook's message are passed on.
const MESSAGE_CHARS: usize = 2_000;

/// The message of a hook, without secrets and cut to a limit.
fn shorten(words: &str) -> String {
    // More than enough to fill the limit, and little enough to search.
    let clean = redact(first_bytes(words, 32 * MESSAGE_CHARS));
    ellipsize(clean.trim(), MESSAGE_CHARS).into_owned()
}
