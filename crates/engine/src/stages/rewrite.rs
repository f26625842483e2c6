//! rewrite: before-hooks may change the arguments, block, or answer. From here on the arguments are frozen.

use std::sync::Arc;

use haft_contract::{Arguments, CallInfo, ErrorKind, ToolError, ToolOutput};
use serde_json::Value;

use super::arguments::{self, Checked};
use crate::hooks::{self, Before, Hook, HookCall};
use crate::{Entry, Limits};

/// What the hooks made of a call.
#[derive(Debug)]
pub(crate) enum Rewritten {
    /// It goes on with these arguments; the original is kept if they differ.
    Go { arguments: Checked, original: Option<Value> },
    /// A hook answered it.
    Answered(ToolOutput),
}

pub(crate) async fn rewrite(
    hooks: &[Arc<dyn Hook>],
    entry: &Entry,
    call: &CallInfo,
    mut checked: Checked,
    limits: &Limits,
) -> Result<Rewritten, ToolError> {
    let mut original = None;
    for hook in hooks {
        match hooks::before(&**hook, HookCall { call, arguments: &checked.value }, limits.hook).await? {
            Before::Continue => {}
            Before::Rewrite(value) => {
                let rewritten = arguments::check(entry, &mut Arguments::Json(value), limits.argument_bytes)
                    .map_err(|error| invalid(hook.name(), &error))?;
                let before = std::mem::replace(&mut checked, rewritten);
                original.get_or_insert(before.value);
            }
            Before::Block(reason) => return Err(blocked(hook.name(), &reason)),
            Before::Answer(output) => return Ok(Rewritten::Answered(output)),
        }
    }
    Ok(Rewritten::Go { arguments: checked, original })
}

fn blocked(hook: &str, reason: &str) -> ToolError {
    ToolError::new(ErrorKind::Blocked, format!("Blocked by the hook '{hook}': {reason}"))
}

fn invalid(hook: &str, error: &ToolError) -> ToolError {
    ToolError::new(ErrorKind::Blocked, format!("The hook '{hook}' rewrote the arguments into something invalid: {error} Tell the person."))
}
