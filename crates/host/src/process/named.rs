//! A job under the name by which its session knows it.

use std::sync::Arc;

use haft_contract::{BoxFuture, Job, JobEnd, JobStatus, ToolError};

use super::jobs::Entry;

/// A job with a name and a session of its own.
pub(super) struct Named {
    pub(super) inner: Arc<dyn Job>,
    id: String,
    session: String,
}

impl Named {
    pub(super) fn new(inner: Arc<dyn Job>, id: String, session: String) -> Self {
        Self { inner, id, session }
    }
    pub(super) fn id(&self) -> &str {
        &self.id
    }
    pub(super) fn session(&self) -> &str {
        &self.session
    }
    pub(super) fn status(&self) -> JobStatus {
        JobStatus { id: self.id.clone(), session: self.session.clone(), ..self.inner.status() }
    }
}

impl Job for Entry {
    fn status(&self) -> JobStatus {
        self.job.status()
    }
    fn changed(&self, seen: u64) -> BoxFuture<'_, ()> {
        self.job.inner.changed(seen)
    }
    fn ended(&self) -> BoxFuture<'_, JobEnd> {
        Box::pin(Entry::ended(self))
    }
    fn head(&self) -> Vec<u8> {
        self.job.inner.head()
    }
    fn output(&self, from: u64, most: usize) -> (u64, Vec<u8>) {
        self.job.inner.output(from, most)
    }
    fn write<'a>(&'a self, input: &'a [u8], end: bool) -> BoxFuture<'a, Result<(), ToolError>> {
        self.job.inner.write(input, end)
    }
    fn kill(&self) -> BoxFuture<'_, ()> {
        self.job.inner.kill()
    }
    fn has_terminal(&self) -> bool {
        self.job.inner.has_terminal()
    }
    fn acknowledge(&self) {
        Entry::acknowledge(self);
    }
}
