//! What the tools of memory share: the plan of a search, and who wrote a note.

use haft_contract::ports::{MemoryAuthor, MemoryWriter};
use haft_contract::{Plan, PlanContext, ToolError};
use serde_json::{Value, json};

/// Reads every root that may be read, and other conversations if memory has them.
pub(crate) fn plan(cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
    let plan = cx.memory_roots()?.into_iter().fold(Plan::nothing(), Plan::read_tree);
    let has_sessions = cx.services().memory.as_ref().is_some_and(|memory| memory.searches_sessions());
    Ok(if has_sessions && cx.services().sessions.is_some() { plan.read_sessions() } else { plan })
}

/// Who wrote it, in a few words for the model.
pub(crate) fn describe(writer: &MemoryWriter) -> String {
    match (writer.author(), &writer.call) {
        (MemoryAuthor::User, None) => "written by the user".to_owned(),
        (MemoryAuthor::User, Some(call)) => format!("written by the user with call {call}"),
        (MemoryAuthor::Agent, _) => {
            let call = writer.call.as_deref().map(|call| format!(", call {call}")).unwrap_or_default();
            let session = writer.session.as_deref().unwrap_or_default();
            let taint = if writer.is_tainted { "; TAINTED: that session had seen untrusted content" } else { "" };
            format!("written by an agent in session {session}{call}{taint}")
        }
    }
}

/// Who wrote it, for programs.
pub(crate) fn writer_json(writer: &MemoryWriter) -> Value {
    json!({
        "author": writer.author(),
        "agent": writer.agent,
        "session": writer.session,
        "call": writer.call,
        "edited_since": writer.is_mixed,
    })
}
