//! What several test binaries need.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use haft_store::{CallFilter, CallLog, CallRecord, CallStatus, MessageRecord, NewMessage, NewSession, SessionStore};
use serde_json::json;

/// A record with something in every field; the path is not text.
pub(crate) fn record(id: &str) -> CallRecord {
    CallRecord {
        id: id.into(),
        call_id: format!("toolu_{id}"),
        session: "s1".into(),
        agent: "coder".into(),
        tool: "write_file".into(),
        workspace: Path::new(OsStr::from_bytes(b"/home/\xff\xfe/w")).into(),
        arguments: json!({"path": "a.txt", "z": 1, "a": [null, true, 1.5, "ü\u{0}"]}),
        original_arguments: Some(json!({"path": "b.txt"})),
        effects: json!([{"write": "/w/a.txt"}]),
        decision: json!({"verdict": "allow", "trace": []}),
        started: SystemTime::UNIX_EPOCH + Duration::new(1_763_000_000, 123_456_789),
        elapsed: Duration::from_nanos(1_234_567),
        status: CallStatus::Success,
        summary: "wrote 3 bytes".into(),
        undone: false,
    }
}

/// The ids in the log, newest first.
pub(crate) async fn ids(log: &dyn CallLog) -> Vec<String> {
    log.list(CallFilter::default()).await.unwrap().into_iter().map(|call| call.id).collect()
}

/// A whole second since 1970.
pub(crate) fn second(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// A session with something in every field; the path is not text.
pub(crate) fn new_session(id: &str) -> NewSession {
    NewSession {
        id: id.into(),
        title: Some("Fix the test".into()),
        agent: "coder".into(),
        model: Some("work/qwen3".into()),
        workspace: Path::new(OsStr::from_bytes(b"/home/\xff\xfe/w")).into(),
        created: SystemTime::UNIX_EPOCH + Duration::new(1_763_000_000, 123_456_789),
    }
}

/// A message made a number of seconds after 1970.
pub(crate) fn message(seconds: u64, body: &str) -> NewMessage {
    NewMessage { kind: "user".into(), body: body.into(), created: second(seconds) }
}

/// All messages of a session.
pub(crate) async fn messages(store: &dyn SessionStore, session: &str) -> Vec<MessageRecord> {
    store.messages(session, 0, usize::MAX).await.unwrap()
}
