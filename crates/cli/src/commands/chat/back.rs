//! `/undo`: the last call of this conversation that changed files, and what cannot be put back; the latter for `haft undo` as well.

use std::sync::Arc;

use haft_store::{CallFilter, CallLog, CallRecord, CallStatus};

use crate::effects;
use crate::failure::Failure;

/// How many calls of a conversation are looked through.
const MOST_CALLS: usize = 1_000;
/// How many deeds that cannot be put back are told.
const MOST_TOLD: usize = 20;

/// A call that ended so did nothing; one that ended in another way may have.
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

/// The call that is to be undone, and what was done since that no undo reaches.
pub(super) struct Due {
    pub(super) call: CallRecord,
    pub(super) beyond: Vec<String>,
}

/// The named call, or the last one of the session with something to put back.
pub(super) async fn due(log: &Arc<dyn CallLog>, session: &str, named: Option<&str>) -> Result<Due, Failure> {
    let calls = calls_of(log, session).await?;
    let call = match named {
        Some(id) => log.get(id).await?,
        None => last(log, &calls).await?,
    };
    // What happened before it is not undone either way.
    let since = calls.iter().take_while(|other| other.id >= call.id);
    let beyond = since.flat_map(lasting).collect();
    Ok(Due { call, beyond })
}

/// The newest calls of a session.
pub(in crate::commands) async fn calls_of(log: &Arc<dyn CallLog>, session: &str) -> Result<Vec<CallRecord>, Failure> {
    Ok(log.list(CallFilter { limit: Some(MOST_CALLS), session: Some(session.to_owned()), ..CallFilter::default() }).await?)
}

async fn last(log: &Arc<dyn CallLog>, calls: &[CallRecord]) -> Result<CallRecord, Failure> {
    for call in calls.iter().filter(|call| !call.undone) {
        if !log.pre_images(&call.id).await?.is_empty() {
            return Ok(call.clone());
        }
    }
    let beyond: Vec<String> = calls.iter().flat_map(lasting).collect();
    let message = "no call of this conversation has files to put back".to_owned();
    let message = told(&beyond).map_or_else(|| message.clone(), |told| format!("{message}; and {told}"));
    Err(Failure::failed("not_undone", message).help("`haft undo last` looks at every conversation in this folder"))
}

/// What a call did beyond files, in words.
pub(in crate::commands) fn lasting(call: &CallRecord) -> Vec<String> {
    let happened = !matches!(&call.status, CallStatus::Error(kind) if NOT_RUN.contains(&kind.as_str()));
    let all = effects::all(&call.effects).iter().filter(|effect| happened && leaves_traces(effect));
    all.map(|effect| in_words(call, effects::describe(effect, &call.workspace))).collect()
}

fn leaves_traces(effect: &serde_json::Value) -> bool {
    match effect["effect"].as_str().unwrap_or_default() {
        "read" | "write" | "delete" => false,
        "connect" => !matches!(effect["method"].as_str(), Some("GET" | "HEAD" | "OPTIONS")),
        _ => true,
    }
}

fn in_words(call: &CallRecord, (kind, target): (String, String)) -> String {
    format!("{} ({kind} {target})", call.tool)
}

/// What no undo reaches, as a person reads it; nothing if there is nothing.
pub(in crate::commands) fn told(beyond: &[String]) -> Option<String> {
    let shown = &beyond[..beyond.len().min(MOST_TOLD)];
    let more = if beyond.len() > shown.len() { format!("; and {} more", beyond.len() - shown.len()) } else { String::new() };
    (!beyond.is_empty()).then(|| format!("this cannot be put back: {}{more}", shown.join("; ")))
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
    fn what_left_the_files_is_named_and_reads_are_not() {
        let post = json!([{"effect": "connect", "host": "example.org", "port": 443, "method": "POST"}]);
        let exec = json!([{"effect": "write", "path": "/w/a"}, {"effect": "exec", "program": "/bin/make", "arguments": ["all"]}]);
        for (tool, effects, status, expected) in [
            ("http_request", post.clone(), CallStatus::Success, &["http_request (connect POST example.org:443)"][..]),
            ("http_request", post, CallStatus::Error("permission_denied".into()), &[]),
            ("http_request", json!([{"effect": "connect", "method": "GET"}]), CallStatus::Success, &[]),
            ("exec", exec, CallStatus::Begun, &["exec (exec /bin/make all)"]),
            ("read_file", json!([{"effect": "read", "path": "/w/a"}]), CallStatus::Success, &[]),
        ] {
            assert_eq!(lasting(&call(tool, effects, status)), expected, "{tool}");
        }
        assert_eq!(told(&[]), None);
        let two = ["a (send x)".to_owned(), "b (exec y)".to_owned()];
        assert_eq!(told(&two).as_deref(), Some("this cannot be put back: a (send x); b (exec y)"));
        let many = told(&vec!["a (send x)".to_owned(); MOST_TOLD + 3]).unwrap();
        assert!(many.matches("send x").count() == MOST_TOLD && many.ends_with("; and 3 more"), "{many}");
    }
}
