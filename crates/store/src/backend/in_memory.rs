//! The history in memory: for tests, and for embedding programs that want no file. It is gone with the process.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_contract::BoxFuture;

use crate::{CallFilter, CallLog, CallRecord, CallStatus, PreImageRecord, StoreError, short_id};

/// A [`CallLog`] without a file.
#[derive(Debug, Default)]
pub struct InMemoryCallLog {
    state: Mutex<CallLogState>,
}

#[derive(Debug, Default)]
struct CallLogState {
    calls: BTreeMap<String, CallRecord>,
    images: Vec<PreImageRecord>,
}

impl InMemoryCallLog {
    fn state(&self) -> MutexGuard<'_, CallLogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallLogState {
    fn put(&mut self, mut record: CallRecord) {
        record.undone |= self.calls.get(&record.id).is_some_and(|earlier| earlier.undone);
        self.calls.insert(record.id.clone(), record);
    }

    fn keep(&mut self, image: PreImageRecord) -> Result<(), StoreError> {
        if !self.calls.contains_key(&image.record) {
            return Err(StoreError::no_call(&image.record));
        }
        self.images.push(image);
        Ok(())
    }

    fn withdraw(&mut self, record: &str, path: &Path, after: Option<&str>) {
        let is_meant = |image: &PreImageRecord| image.record == record && image.path == path && image.after.as_deref() == after;
        if let Some(place) = self.images.iter().rposition(is_meant) {
            self.images.remove(place);
        }
    }

    fn list(&self, filter: &CallFilter) -> Vec<CallRecord> {
        let calls = self.calls.values().rev().filter(|call| fits(call, filter));
        calls.take(filter.limit.unwrap_or(usize::MAX)).cloned().collect()
    }

    fn get(&self, id: &str) -> Result<CallRecord, StoreError> {
        let by_call_id = || self.calls.values().rev().find(|call| call.call_id == id);
        if let Some(call) = self.calls.get(id).or_else(by_call_id) {
            return Ok(call.clone());
        }
        let candidates = self.calls.keys().rev().filter(|known| short_id::fits(id, known)).take(short_id::MAX_CANDIDATES);
        let only = short_id::only("call", id, candidates.cloned().collect())?;
        self.calls.get(&only).cloned().ok_or_else(|| StoreError::no_call(id))
    }

    fn newest_undoable(&self) -> Option<CallRecord> {
        let changed_last = self.images.iter().rev().filter_map(|image| self.calls.get(&image.record));
        changed_last.into_iter().find(|call| !call.undone).cloned()
    }

    fn images_of(&self, record: &str) -> Vec<PreImageRecord> {
        self.images.iter().filter(|image| image.record == record).cloned().collect()
    }

    fn images_of_session(&self, session: &str) -> Vec<PreImageRecord> {
        let is_due = |image: &&PreImageRecord| self.calls.get(&image.record).is_some_and(|call| call.session == session && !call.undone);
        self.images.iter().filter(is_due).cloned().collect()
    }

    fn mark_undone(&mut self, record: &str) -> Result<(), StoreError> {
        self.calls.get_mut(record).ok_or_else(|| StoreError::no_call(record))?.undone = true;
        Ok(())
    }
}

fn fits(call: &CallRecord, filter: &CallFilter) -> bool {
    filter.tool.as_ref().is_none_or(|tool| *tool == call.tool)
        && filter.session.as_ref().is_none_or(|session| *session == call.session)
        && (!filter.failed || matches!(call.status, CallStatus::Error(_)))
}

impl CallLog for InMemoryCallLog {
    fn append(&self, record: CallRecord) -> Result<(), StoreError> {
        self.state().put(record);
        Ok(())
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { Ok(()) })
    }

    fn keep(&self, image: PreImageRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { self.state().keep(image) })
    }

    fn withdraw<'a>(&'a self, record: &'a str, path: &'a Path, after: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.state().withdraw(record, path, after);
            Ok(())
        })
    }

    fn list(&self, filter: CallFilter) -> BoxFuture<'_, Result<Vec<CallRecord>, StoreError>> {
        Box::pin(async move { Ok(self.state().list(&filter)) })
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<CallRecord, StoreError>> {
        Box::pin(async move { self.state().get(id) })
    }

    fn newest_undoable(&self) -> BoxFuture<'_, Result<Option<CallRecord>, StoreError>> {
        Box::pin(async move { Ok(self.state().newest_undoable()) })
    }

    fn pre_images<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<Vec<PreImageRecord>, StoreError>> {
        Box::pin(async move { Ok(self.state().images_of(record)) })
    }

    fn session_images<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<PreImageRecord>, StoreError>> {
        Box::pin(async move { Ok(self.state().images_of_session(session)) })
    }

    fn path_images<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Vec<PreImageRecord>, StoreError>> {
        Box::pin(async move { Ok(self.state().images.iter().filter(|image| image.path == path).cloned().collect()) })
    }

    fn changed_paths(&self) -> BoxFuture<'_, Result<HashSet<PathBuf>, StoreError>> {
        Box::pin(async { Ok(self.state().images.iter().map(|image| image.path.clone()).collect()) })
    }

    fn mark_undone<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.state().mark_undone(record) })
    }
}
