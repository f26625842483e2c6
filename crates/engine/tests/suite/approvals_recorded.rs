//! What was allowed is on disk before it happens.

use std::sync::{Arc, Mutex};

use haft_contract::AskMode;
use haft_contract::{BoxFuture, ToolCall, ToolOutput, ToolSource, ports::ApprovalAnswer};
use haft_engine::{Engine, Registry, Session};
use haft_store::{CallFilter, CallLog, CallRecord, CallStatus, FileBlobs, InMemoryCallLog, PreImageRecord, StoreError};
use haft_testkit::{FakeHost, ScriptedTool};
use serde_json::json;

use crate::asking::{ScriptedUser, policy, unguarded};

/// A history that knows what was on disk when.
#[derive(Default)]
struct Disk {
    log: InMemoryCallLog,
    queued: Mutex<Vec<CallRecord>>,
    safe: Mutex<Vec<CallRecord>>,
}

impl CallLog for Disk {
    fn append(&self, record: CallRecord) -> Result<(), StoreError> {
        self.queued.lock().unwrap().push(record.clone());
        self.log.append(record)
    }
    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.safe.lock().unwrap().append(&mut self.queued.lock().unwrap());
        self.log.flush()
    }
    fn keep(&self, image: PreImageRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        self.log.keep(image)
    }
    fn withdraw<'a>(&'a self, record: &'a str, path: &'a std::path::Path, after: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>> {
        self.log.withdraw(record, path, after)
    }
    fn list(&self, filter: CallFilter) -> BoxFuture<'_, Result<Vec<CallRecord>, StoreError>> {
        self.log.list(filter)
    }
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<CallRecord, StoreError>> {
        self.log.get(id)
    }
    fn newest_undoable(&self) -> BoxFuture<'_, Result<Option<CallRecord>, StoreError>> {
        self.log.newest_undoable()
    }
    fn pre_images<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<Vec<PreImageRecord>, StoreError>> {
        self.log.pre_images(record)
    }
    fn session_images<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<PreImageRecord>, StoreError>> {
        self.log.session_images(session)
    }
    fn mark_undone<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.log.mark_undone(record)
    }
}

#[tokio::test]
async fn an_approval_is_on_disk_before_the_tool_runs_even_if_it_only_reads() {
    let disk = Arc::new(Disk::default());
    let seen: Arc<Mutex<Vec<CallRecord>>> = Arc::default();
    let (watched, noted) = (Arc::clone(&disk), Arc::clone(&seen));
    let tool = ScriptedTool::new("read_file").plans_read().body(move |_, _| {
        noted.lock().unwrap().extend(watched.safe.lock().unwrap().clone());
        std::future::ready(Ok(ToolOutput::text("read")))
    });
    let registry = Registry::new();
    registry.register(tool.shared(), ToolSource::BuiltIn).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let blobs = Arc::new(FileBlobs::open(folder.path()).unwrap());
    let engine = Engine::builder(Arc::new(registry), disk, blobs).policy(Arc::new(policy(AskMode::Always, &[], &[]))).build();
    let session = unguarded(Session::builder(FakeHost::new())).approver(ScriptedUser::saying([ApprovalAnswer::Session])).build();
    assert!(engine.run(ToolCall::new("1", "read_file", json!({"path": "a"})), &session).await.is_success());

    let before: Vec<CallRecord> = std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!(before.len(), 1);
    assert_eq!(before[0].status, CallStatus::Begun);
    let approval = before[0].decision["trace"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(approval, json!({"step": "approval", "outcome": "pass", "entry": "for this session: read_file(/workspace/a)"}));

    assert!(engine.run(ToolCall::new("2", "read_file", json!({"path": "a"})), &session).await.is_success());
    let ids: Vec<String> = seen.lock().unwrap().iter().map(|record| record.call_id.clone()).collect();
    assert_eq!(ids, ["1"], "a read without approval is written behind the call");
}
