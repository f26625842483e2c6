//! What cannot be undone: commands, requests and messages. Also finds the call that `/undo` undoes.

use std::sync::Arc;

use haft_store::{CallFilter, CallLog, CallRecord, CallStatus};

use crate::effects;
use crate::failure::Failure;

/// How many calls of a conversation are searched.
const MOST_CALLS: usize = 1_000;
/// How many effects are listed.
const MOST_LISTED: usize = 20;

/// Errors of calls whose tool did not run.
const NOT_RUN: [&str; 9] = [
    "tool_not_found",
    "tool_not_available",
    "tool_globally_disabled",
    "validation_error",
    "permission_denied",
    "approval_timeout",
    "blocked",
    "path_not_allowed",
    "loop_blocked",
];

/// The call to undo, and the irreversible effects since then.
pub(crate) struct UndoTarget {
    pub(crate) call: CallRecord,
    pub(crate) irreversible: Vec<String>,
}

/// The named call, or the last one of the session that changed files.
pub(crate) async fn find_undo_target(log: &Arc<dyn CallLog>, session: &str, named: Option<&str>) -> Result<UndoTarget, Failure> {
    let calls = calls_of(log, session).await?;
    let call = match named {
        Some(id) => log.get(id).await?,
        None => last(log, &calls).await?,
    };
    let since = calls.iter().take_while(|other| other.id >= call.id);
    let irreversible = since.flat_map(effects_of).collect();
    Ok(UndoTarget { call, irreversible })
}

/// The newest calls of a session.
pub async fn calls_of(log: &Arc<dyn CallLog>, session: &str) -> Result<Vec<CallRecord>, Failure> {
    Ok(log.list(CallFilter { limit: Some(MOST_CALLS), session: Some(session.to_owned()), ..CallFilter::default() }).await?)
}

async fn last(log: &Arc<dyn CallLog>, calls: &[CallRecord]) -> Result<CallRecord, Failure> {
    for call in calls.iter().filter(|call| !call.undone) {
        if !log.pre_images(&call.id).await?.is_empty() {
            return Ok(call.clone());
        }
    }
    let effects: Vec<String> = calls.iter().flat_map(effects_of).collect();
    let message = "no call of this conversation changed files".to_owned();
    let message = describe(&effects).map_or_else(|| message.clone(), |text| format!("{message}; {text}"));
    Err(Failure::failed("not_undone", message).help("`haft undo last` looks at every conversation in this folder"))
}

/// The irreversible effects of a call.
pub fn effects_of(call: &CallRecord) -> Vec<String> {
    let ran = !matches!(&call.status, CallStatus::Error(kind) if NOT_RUN.contains(&kind.as_str()));
    let all = effects::all(&call.effects).iter().filter(|effect| ran && is_irreversible(effect));
    all.map(|effect| in_words(call, effects::describe(effect, &call.workspace))).collect()
}

fn is_irreversible(effect: &serde_json::Value) -> bool {
    match effect["effect"].as_str().unwrap_or_default() {
        "read" | "write" | "delete" | "read_job" => false,
        // Its files are covered by a checkpoint, and each connection is an effect of its own.
        "exec" => !matches!(effect["host"].as_str(), Some("sandbox" | "container")),
        "connect" => !matches!(effect["method"].as_str(), Some("GET" | "HEAD" | "OPTIONS")),
        _ => true,
    }
}

fn in_words(call: &CallRecord, (kind, target): (String, String)) -> String {
    format!("{} ({kind} {target})", call.tool)
}

/// A sentence with irreversible effects; `None` if there are none.
pub fn describe(effects: &[String]) -> Option<String> {
    let listed = &effects[..effects.len().min(MOST_LISTED)];
    let more = if effects.len() > listed.len() { format!("; and {} more", effects.len() - listed.len()) } else { String::new() };
    (!effects.is_empty()).then(|| format!("this cannot be undone: {}{more}", listed.join("; ")))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use serde_json::{Value, json};

    use super::*;

    fn call(tool: &str, effects: Value, status: CallStatus) -> CallRecord {
        CallRecord {
            id: "1".into(),
            call_id: "c".into(),
            session: "s".into(),
            agent: "main".into(),
            tool: tool.into(),
            workspace: "/w".into(),
            arguments: Value::Null,
            original_arguments: None,
            effects,
            decision: Value::Null,
            started: SystemTime::UNIX_EPOCH,
            elapsed: Duration::ZERO,
            status,
            summary: String::new(),
            undone: false,
        }
    }

    #[test]
    fn irreversible_effects_are_listed_and_reads_are_not() {
        let post = json!([{"effect": "connect", "host": "example.org", "port": 443, "method": "POST"}]);
        let exec = json!([{"effect": "write", "path": "/w/a"}, {"effect": "exec", "program": "/bin/make", "arguments": ["all"]}]);
        for (tool, effects, status, expected) in [
            ("http_request", post.clone(), CallStatus::Success, &["http_request (connect POST example.org:443)"][..]),
            ("http_request", post, CallStatus::Error("permission_denied".into()), &[]),
            ("http_request", json!([{"effect": "connect", "method": "GET"}]), CallStatus::Success, &[]),
            ("exec", exec, CallStatus::Begun, &["exec (exec /bin/make all)"]),
            ("read_file", json!([{"effect": "read", "path": "/w/a"}]), CallStatus::Success, &[]),
        ] {
            assert_eq!(effects_of(&call(tool, effects, status)), expected, "{tool}");
        }
        assert_eq!(describe(&[]), None);
        let two = ["a (send x)".to_owned(), "b (exec y)".to_owned()];
        assert_eq!(describe(&two).as_deref(), Some("this cannot be undone: a (send x); b (exec y)"));
        let many = describe(&vec!["a (send x)".to_owned(); MOST_LISTED + 3]).unwrap();
        assert!(many.matches("send x").count() == MOST_LISTED && many.ends_with("; and 3 more"), "{many}");
    }
}
