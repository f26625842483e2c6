//! rewrite: before-hooks may change the arguments, block, or answer. From here on the arguments are frozen.

use std::sync::Arc;

use haft_contract::{Arguments, CallInfo, ErrorKind, Prepared, ToolError};
use serde_json::Value;

use super::arguments::{self, Checked};
use super::plan::plan;
use crate::engine::Early;
use crate::events::EventSink;
use crate::hooks::{Asked, Before, HookCall, Hooks};
use crate::stop::Stop;
use crate::workers::Workers;
use crate::{Entry, Limits, Session};

/// What the stage looks at.
#[derive(Clone, Copy)]
pub(crate) struct Rewriting<'a> {
    pub(crate) hooks: &'a Hooks,
    pub(crate) events: Option<&'a dyn EventSink>,
    pub(crate) limits: &'a Limits,
    pub(crate) workers: &'a Workers,
    pub(crate) entry: &'a Arc<Entry>,
    pub(crate) call: &'a CallInfo,
    pub(crate) session: &'a Session,
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

impl Draft {
    /// A hook that is asked again may want so again, for the same reason.
    fn want_a_person(&mut self, why: String) {
        if !self.asks.contains(&why) {
            self.asks.push(why);
        }
    }
}

/// How often the hooks may change each other's arguments.
const ROUNDS: usize = 4;

/// Asks every hook, and again whoever has not seen the arguments as they are: what runs is what all of them agreed to.
/// However it ends, the draft holds what is known of the call.
pub(crate) async fn rewrite(stage: Rewriting<'_>, draft: &mut Draft) -> Result<(), Early> {
    let mut agreed = vec![false; stage.hooks.len()];
    let mut last = "";
    for _ in 0..ROUNDS {
        for (place, hook) in stage.hooks.iter().enumerate() {
            if agreed[place] {
                continue;
            }
            if ask(stage, draft, hook).await? {
                // Whoever changed them must say that this is what it wants, too.
                agreed.fill(false);
                last = hook.name();
            } else {
                agreed[place] = true;
            }
        }
        if agreed.iter().all(|agreed| *agreed) {
            return Ok(());
        }
    }
    Err(disagreement(last).into())
}

/// Asks one hook; says whether it changed the arguments.
async fn ask(stage: Rewriting<'_>, draft: &mut Draft, hook: &Asked) -> Result<bool, Early> {
    if hook.needs_effects() && draft.prepared.is_none() {
        let arguments = draft.checked.value.clone();
        draft.prepared = Some(plan(stage.workers, stage.entry, arguments, stage.session, stage.stop).await?);
    }
    let candidate = stage.entry.candidate();
    let effects = draft.prepared.as_ref().map(|prepared| prepared.plan().effects());
    let call = HookCall { call: stage.call, arguments: &draft.checked.value, tool: Some(&candidate), effects };
    match hook.before(call, stage.events).await? {
        Before::Continue => Ok(false),
        Before::Rewrite(arguments) => Ok(replace(stage, draft, hook.name(), arguments)?),
        Before::Ask { reason, arguments } => {
            draft.want_a_person(format!("the hook '{}' wants a person to decide: {reason}", hook.name()));
            Ok(arguments.map(|arguments| replace(stage, draft, hook.name(), arguments)).transpose()?.unwrap_or(false))
        }
        Before::Block(reason) => Err(blocked(hook.name(), &reason).into()),
        Before::Answer(output) => Err(Early::Answered(output)),
    }
}

/// Takes over arguments that a hook wrote: they are checked like any others, and a plan of the old ones is worth nothing.
/// Says whether they are others than before.
fn replace(stage: Rewriting<'_>, draft: &mut Draft, hook: &str, arguments: Value) -> Result<bool, ToolError> {
    let rewritten = arguments::check(stage.entry, &mut Arguments::Json(arguments), stage.limits.argument_bytes)
        .map_err(|error| invalid(hook, &error))?;
    let changed = rewritten.value != draft.checked.value;
    if changed {
        let before = std::mem::replace(&mut draft.checked, rewritten);
        draft.original.get_or_insert(before.value);
        draft.prepared = None;
    }
    Ok(changed)
}

fn disagreement(hook: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Blocked,
        format!(
            "The hooks do not agree on the arguments; '{hook}' still changes them when it is asked the {ROUNDS}th time, so the call was not \
             made. Tell the person: a hook must leave arguments alone that are as it wants them."
        ),
    )
}

fn blocked(hook: &str, reason: &str) -> ToolError {
    ToolError::new(ErrorKind::Blocked, format!("Blocked by the hook '{hook}': {reason}"))
}

fn invalid(hook: &str, error: &ToolError) -> ToolError {
    ToolError::new(ErrorKind::Blocked, format!("The hook '{hook}' rewrote the arguments into something invalid: {error} Tell the person."))
}
