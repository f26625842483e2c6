//! A history in which calls meet: it shows which changes are under way at once, without a clock.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft::BoxFuture;
use haft::store::{CallFilter, CallLog, CallRecord, InMemoryCallLog, PreImageRecord, StoreError};
use tokio::sync::Barrier;

/// How long a call waits for others before it is clear that they will not come.
const PATIENCE: Duration = Duration::from_secs(30);

/// Every change of a file passes here while its call holds the file. The first so many wait for each other, which calls that
/// run one after the other never get past.
pub(crate) struct Meeting {
    log: InMemoryCallLog,
    barrier: Barrier,
    expected: usize,
    arrived: AtomicUsize,
    /// Files that are being changed, and what two calls changed at once.
    busy: Mutex<HashSet<PathBuf>>,
    clashes: Mutex<Vec<PathBuf>>,
}

impl Meeting {
    pub(crate) fn of(expected: usize) -> Self {
        Self {
            log: InMemoryCallLog::default(),
            barrier: Barrier::new(expected),
            expected,
            arrived: AtomicUsize::new(0),
            busy: Mutex::default(),
            clashes: Mutex::default(),
        }
    }

    /// Whether all that were expected were there at once, and the files that two calls were changing at once.
    pub(crate) fn seen(&self) -> (bool, Vec<PathBuf>) {
        (self.arrived.load(Ordering::SeqCst) >= self.expected, self.clashes.lock().unwrap().clone())
    }

    async fn pass(&self, path: &Path) {
        if !self.busy.lock().unwrap().insert(path.to_owned()) {
            self.clashes.lock().unwrap().push(path.to_owned());
        }
        if self.arrived.fetch_add(1, Ordering::SeqCst) < self.expected {
            let met = tokio::time::timeout(PATIENCE, self.barrier.wait()).await;
            assert!(met.is_ok(), "{} of {} changes were under way at once", self.arrived.load(Ordering::SeqCst), self.expected);
        } else {
            // Lets every other runnable task run.
            tokio::task::yield_now().await;
        }
        self.busy.lock().unwrap().remove(path);
    }
}

impl CallLog for Meeting {
    fn append(&self, record: CallRecord) -> Result<(), StoreError> {
        self.log.append(record)
    }
    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.log.flush()
    }
    fn keep(&self, image: PreImageRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.pass(&image.path).await;
            self.log.keep(image).await
        })
    }
    fn withdraw<'a>(&'a self, record: &'a str, path: &'a Path, after: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>> {
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
