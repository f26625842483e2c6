//! rewrite: before-hooks may change the arguments, block, or answer. From here on the arguments are frozen.

use std::sync::Arc;

use haft_contract::{Arguments, CallInfo, ErrorKind, Prepared, ToolError};
use serde_json::Value;

use super::arguments::{self, CheckedArguments};
use super::plan::plan;
use crate::engine::ShortCircuit;
use crate::events::EventSink;
use crate::hooks::{HookCall, HookDecision, Hooks, RegisteredHook};
use crate::stop::StopSignal;
use crate::workers::Workers;
use crate::{CallLimits, Session, ToolEntry};

/// What the stage reads.
#[derive(Clone, Copy)]
pub(crate) struct RewriteContext<'a> {
    pub(crate) hooks: &'a Hooks,
    pub(crate) events: Option<&'a dyn EventSink>,
    pub(crate) limits: &'a CallLimits,
    pub(crate) workers: &'a Workers,
    pub(crate) entry: &'a Arc<ToolEntry>,
    pub(crate) call: &'a CallInfo,
    pub(crate) session: &'a Session,
    pub(crate) stop: &'a StopSignal,
}

/// A call while hooks rewrite it.
pub(crate) struct RewriteState {
    pub(crate) checked: CheckedArguments,
    /// The arguments before the first hook changed them.
    pub(crate) original: Option<Value>,
    /// The plan of these arguments, if a hook had to know the effects.
    pub(crate) prepared: Option<Prepared>,
    /// Reasons of hooks that want an approval.
    pub(crate) asks: Vec<String>,
}

impl From<CheckedArguments> for RewriteState {
    fn from(checked: CheckedArguments) -> Self {
        Self { checked, original: None, prepared: None, asks: Vec::new() }
    }
}

impl RewriteState {
    /// Adds a reason once: a hook that runs again may repeat it.
    fn require_approval(&mut self, why: String) {
        if !self.asks.contains(&why) {
            self.asks.push(why);
        }
    }
}

/// How many rounds the hooks have to agree on the arguments.
const ROUNDS: usize = 4;

/// Runs every hook, and again each one that has not seen the current arguments: all of them agree to what runs.
/// However it ends, the state holds what is known of the call.
pub(crate) async fn rewrite(context: RewriteContext<'_>, state: &mut RewriteState) -> Result<(), ShortCircuit> {
    let mut agreed = vec![false; context.hooks.len()];
    let mut last = "";
    for _ in 0..ROUNDS {
        for (index, hook) in context.hooks.iter().enumerate() {
            if agreed[index] {
                continue;
            }
            if ask(context, state, hook).await? {
                // The hook that changed them must accept the new ones too.
                agreed.fill(false);
                last = hook.name();
            } else {
                agreed[index] = true;
            }
        }
        if agreed.iter().all(|agreed| *agreed) {
            return Ok(());
        }
    }
    Err(disagreement(last).into())
}

/// Runs one hook; returns whether it changed the arguments.
async fn ask(context: RewriteContext<'_>, state: &mut RewriteState, hook: &RegisteredHook) -> Result<bool, ShortCircuit> {
    if hook.needs_effects() && state.prepared.is_none() {
        let arguments = state.checked.value.clone();
        state.prepared = Some(plan(context.workers, context.entry, arguments, context.session, context.stop).await?);
    }
    let candidate = context.entry.candidate();
    let effects = state.prepared.as_ref().map(|prepared| prepared.plan().effects());
    let call = HookCall { call: context.call, arguments: &state.checked.value, tool: Some(&candidate), effects };
    match hook.before(call, context.events).await? {
        HookDecision::Continue => Ok(false),
        HookDecision::Rewrite(arguments) => Ok(replace(context, state, hook.name(), arguments)?),
        HookDecision::Ask { reason, arguments } => {
            state.require_approval(format!("the hook '{}' requires approval: {reason}", hook.name()));
            Ok(arguments.map(|arguments| replace(context, state, hook.name(), arguments)).transpose()?.unwrap_or(false))
        }
        HookDecision::Block(reason) => Err(blocked(hook.name(), &reason).into()),
        HookDecision::Answer(output) => Err(ShortCircuit::Answered(Box::new(output))),
    }
}

/// Takes over arguments that a hook wrote: they are checked like any others, and the plan of the old ones is dropped.
/// Returns whether they differ from the old ones.
fn replace(context: RewriteContext<'_>, state: &mut RewriteState, hook: &str, arguments: Value) -> Result<bool, ToolError> {
    let rewritten = arguments::check(context.entry, &mut Arguments::Json(arguments), context.limits.argument_bytes)
        .map_err(|error| invalid(hook, &error))?;
    let changed = rewritten.value != state.checked.value;
    if changed {
        let before = std::mem::replace(&mut state.checked, rewritten);
        state.original.get_or_insert(before.value);
        state.prepared = None;
    }
    Ok(changed)
}

fn disagreement(hook: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Blocked,
        format!(
            "The call was not made: the hook '{hook}' still changes the arguments in round {ROUNDS}. Tell the user: a hook must leave \
             arguments alone that are already as it wants them."
        ),
    )
}

fn blocked(hook: &str, reason: &str) -> ToolError {
    ToolError::new(ErrorKind::Blocked, format!("Blocked by the hook '{hook}': {reason}"))
}

fn invalid(hook: &str, error: &ToolError) -> ToolError {
    ToolError::new(ErrorKind::Blocked, format!("The hook '{hook}' rewrote the arguments into something invalid: {error} Tell the user."))
}
