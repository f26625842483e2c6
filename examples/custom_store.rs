//! A store of the program's own: history goes to a list that the program prints, and is searched there for undo.
#![allow(clippy::print_stdout, reason = "a program prints")]

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use haft::store::{CallFilter, CallLog, CallRecord, InMemoryCallLog, PreImageRecord, StoreError};
use haft::{BoxFuture, Toolbox};

/// Prints each call on its way to the store below. A real one writes to a database of the program.
#[derive(Default)]
struct Audit {
    lines: Mutex<Vec<String>>,
    below: InMemoryCallLog,
}

impl CallLog for Audit {
    fn append(&self, record: CallRecord) -> Result<(), StoreError> {
        let line = format!("{} {:?}", record.tool, record.status);
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        self.below.append(record)
    }
    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.below.flush()
    }
    fn keep(&self, image: PreImageRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        self.below.keep(image)
    }
    fn withdraw<'a>(&'a self, record: &'a str, path: &'a Path, after: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>> {
        self.below.withdraw(record, path, after)
    }
    fn list(&self, filter: CallFilter) -> BoxFuture<'_, Result<Vec<CallRecord>, StoreError>> {
        self.below.list(filter)
    }
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<CallRecord, StoreError>> {
        self.below.get(id)
    }
    fn newest_undoable(&self) -> BoxFuture<'_, Result<Option<CallRecord>, StoreError>> {
        self.below.newest_undoable()
    }
    fn pre_images<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<Vec<PreImageRecord>, StoreError>> {
        self.below.pre_images(record)
    }
    fn session_images<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<PreImageRecord>, StoreError>> {
        self.below.session_images(session)
    }
    fn mark_undone<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.below.mark_undone(record)
    }
}

/// The lines of the audit.
pub(crate) async fn run() -> Result<String, Box<dyn std::error::Error>> {
    let (folder, audit) = (tempfile::tempdir()?, Arc::new(Audit::default()));
    let toolbox = Toolbox::builder().workspace(folder.path()).log(Arc::clone(&audit) as _).build()?;
    toolbox.call("write_file", serde_json::json!({"path": "a.txt", "content": "x"})).await.outcome?;
    toolbox.call("read_file", serde_json::json!({"path": "missing.txt"})).await;
    let lines = audit.lines.lock().unwrap_or_else(PoisonError::into_inner).join("\n");
    Ok(lines)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{}", run().await?);
    Ok(())
}
