//! rewrite: before-hooks may change the arguments, block, or answer. From here on the arguments are frozen.

use std::sync::Arc;

use haft_contract::{Arguments, CallInfo, ErrorKind, Host, Prepared, ToolError};
use serde_json::Value;

use super::arguments::{self, Checked};
use super::plan::plan;
use crate::engine::Early;
use crate::events::EventSink;
use crate::hooks::{Before, HookCall, Hooks};
use crate::stop::Stop;
use crate::workers::Workers;
use crate::{Entry, Limits};

/// What the stage looks at.
#[derive(Clone, Copy)]
pub(crate) struct Rewriting<'a> {
    pub(crate) hooks: &'a Hooks,
    pub(crate) events: Option<&'a dyn EventSink>,
    pub(crate) limits: &'a Limits,
    pub(crate) workers: &'a Workers,
    pub(crate) entry: &'a Arc<Entry>,
    pub(crate) call: &'a CallInfo,
    pub(crate) host: &'a Arc<dyn Host>,
    pub(crate) stop: &'a Stop<'a>,
}

/// A call while the hooks have it.
pub(crate) struct Draft {
    pub(crate) checked: Checked,
    /// What the arguments were before the first hook that changed them.
    pub(crate) original: Option<Value>,
    /// The plan of these arguments, if a hook had to know the effects.
    pub(crate) prepared: Option<Prepared>,
    /// Why a person is to decide, for each hook that wants it.
    pub(crate) asks: Vec<String>,
}

impl From<Checked> for Draft {
    fn from(checked: Checked) -> Self {
        Self { checked, original: None, prepared: None, asks: Vec::new() }
    }
}

/// Asks every hook. However it ends, the draft holds what is known of the call.
pub(crate) async fn rewrite(stage: Rewriting<'_>, draft: &mut Draft) -> Result<(), Early> {
    let candidate = stage.entry.candidate();
    for hook in stage.hooks.iter() {
        if hook.needs_effects() && draft.prepared.is_none() {
            let arguments = draft.checked.value.clone();
            draft.prepared = Some(plan(stage.workers, stage.entry, arguments, stage.host, stage.stop).await?);
        }
        let effects = draft.prepared.as_ref().map(|prepared| prepared.plan().effects());
        let call = HookCall { call: stage.call, arguments: &draft.checked.value, tool: Some(&candidate), effects };
        match hook.before(call, stage.events).await? {
            Before::Continue => {}
            Before::Rewrite(arguments) => replace(stage, draft, hook.name(), arguments)?,
            Before::Ask { reason, arguments } => {
                draft.asks.push(format!("the hook '{}' wants a person to decide: {reason}", hook.name()));
                if let Some(arguments) = arguments {
                    replace(stage, draft, hook.name(), arguments)?;
                }
            }
            Before::Block(reason) => return Err(blocked(hook.name(), &reason).into()),
            Before::Answer(output) => return Err(Early::Answered(output)),
        }
    }
    Ok(())
}

/// Takes over arguments that a hook wrote: they are checked like any others, and a plan of the old ones is worth nothing.
fn replace(stage: Rewriting<'_>, draft: &mut Draft, hook: &str, arguments: Value) -> Result<(), ToolError> {
    let rewritten = arguments::check(stage.entry, &mut Arguments::Json(arguments), stage.limits.argument_bytes)
        .map_err(|error| invalid(hook, &error))?;
    if rewritten.value != draft.checked.value {
        let before = std::mem::replace(&mut draft.checked, rewritten);
        draft.original.get_or_insert(before.value);
        draft.prepared = None;
    }
    Ok(())
}

fn blocked(hook: &str, reason: &str) -> ToolError {
    ToolError::new(ErrorKind::Blocked, format!("Blocked by the hook '{hook}': {reason}"))
}

fn invalid(hook: &str, error: &ToolError) -> ToolError {
    ToolError::new(ErrorKind::Blocked, format!("The hook '{hook}' rewrote the arguments into something invalid: {error} Tell the person."))
}
