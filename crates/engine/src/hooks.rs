//! What an embedding program, or a configured command, may do around every call of every tool.

mod command;
mod input;
mod matcher;
mod reply;
mod turn;

use std::time::Duration;

use haft_contract::{BoxFuture, CallInfo, Effect, HookEvent, OnFailure, ToolOutput, ToolResult};
use haft_policy::Candidate;
use serde_json::Value;

pub use self::command::{CommandHook, CommandHookSpec};
pub(crate) use self::turn::{Asked, Hooks};
use crate::redact::redact;

/// A call, as a hook sees it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct HookCall<'a> {
    /// Who and what it is.
    pub call: &'a CallInfo,
    /// Its arguments. They were validated, unless that is what the call failed for.
    pub arguments: &'a Value,
    /// The tool; `None` if there is none of that name.
    pub tool: Option<&'a Candidate<'a>>,
    /// What it will do, or was to do; `None` if that is not known, see [`Hook::needs_effects`].
    pub effects: Option<&'a [Effect]>,
}

/// What a hook wants before a call.
#[derive(Debug)]
#[non_exhaustive]
pub enum Before {
    /// Go on.
    Continue,
    /// Go on with these arguments; they are validated again.
    Rewrite(Value),
    /// Go on if a person says yes, whatever else allows it.
    Ask {
        /// Why.
        reason: String,
        /// The arguments to go on with, as in [`Before::Rewrite`].
        arguments: Option<Value>,
    },
    /// Stop, for this reason.
    Block(String),
    /// The tool need not run: this is the answer.
    Answer(ToolOutput),
}

/// What a hook wants stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Persist {
    /// The text as it is.
    Keep,
    /// This text.
    Replace(String),
    /// Nothing of it, for this reason.
    Withhold(String),
}

/// Around every call of every tool, wherever the tool comes from. All methods but the name have a default that does nothing.
///
/// An `Err` says that the hook could not run, which is not the same as a refusal: [`Hook::on_failure`] decides what follows.
/// A panic and a hook that takes too long are such failures too.
pub trait Hook: Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;
    /// Those with a higher number are asked first; among equals, those that were added first.
    fn priority(&self) -> i64 {
        0
    }
    /// How long it may take; without a limit of its own it has [`Limits::hook`](crate::Limits::hook).
    fn time_limit(&self) -> Option<Duration> {
        None
    }
    /// What follows when it cannot run. After a call there is nothing left to block.
    fn on_failure(&self, event: HookEvent) -> OnFailure {
        event.default_failure()
    }
    /// Whether it must know a call's effects before the call: then the call is planned before it is asked.
    fn needs_effects(&self) -> bool {
        false
    }
    /// Whether it wants to be asked about this call at all.
    fn wants(&self, call: &HookCall<'_>, event: HookEvent) -> bool {
        let _ = (call, event);
        true
    }
    /// Before the call is permitted.
    fn before<'a>(&'a self, call: HookCall<'a>) -> BoxFuture<'a, Result<Before, String>> {
        let _ = call;
        Box::pin(async { Ok(Before::Continue) })
    }
    /// After the call: observes, changes nothing.
    fn after<'a>(&'a self, call: HookCall<'a>, result: &'a ToolResult) -> BoxFuture<'a, Result<(), String>> {
        let _ = (call, result);
        Box::pin(async { Ok(()) })
    }
    /// May rewrite or withhold the text that history keeps.
    fn persist<'a>(&'a self, call: HookCall<'a>, stored: &'a str) -> BoxFuture<'a, Result<Persist, String>> {
        let _ = (call, stored);
        Box::pin(async { Ok(Persist::Keep) })
    }
}

/// How much of a hook's own words is passed on.
const WORDS: usize = 2_000;

/// A hook's own words, fit to be passed on: without secrets, and not too many.
fn in_short(words: &str) -> String {
    // More than enough to fill the limit, and little enough to search.
    let head = &words[..words.floor_char_boundary(32 * WORDS)];
    let clean = redact(head);
    let clean = clean.trim();
    match clean.char_indices().nth(WORDS) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean.to_owned(),
    }
}
