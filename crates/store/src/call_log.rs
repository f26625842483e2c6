//! The history of calls, and what is needed to take one back.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use haft_contract::BoxFuture;
use serde_json::Value;

use crate::{BlobId, CallRow, StoreError};

/// Where a call stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallStatus {
    /// It was recorded before its side effects; if nothing follows, the process died in between.
    Begun,
    /// It worked.
    Success,
    /// It failed, with this `error_type`.
    Error(String),
}

/// One call, as history keeps it. Secrets were redacted before it got here.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRecord {
    /// Unique in the store and sorted by time (UUID v7).
    pub id: String,
    /// The provider's id of the call.
    pub call_id: String,
    /// The session it belongs to.
    pub session: String,
    /// The agent that asked.
    pub agent: String,
    /// The canonical name of the tool, or the model's spelling if there is none.
    pub tool: String,
    /// The folder the session worked in.
    pub workspace: PathBuf,
    /// The arguments as they ran.
    pub arguments: Value,
    /// The arguments as they came, if a hook rewrote them.
    pub original_arguments: Option<Value>,
    /// The plan's effects.
    pub effects: Value,
    /// The decision: verdict and trace.
    pub decision: Value,
    /// When it began.
    pub started: SystemTime,
    /// How long it took.
    pub elapsed: Duration,
    /// Where it stands.
    pub status: CallStatus,
    /// The result's text or the error's message, bounded.
    pub summary: String,
    /// Whether it was taken back.
    pub undone: bool,
}

/// Which calls to list.
#[derive(Debug, Clone, Default)]
pub struct CallFilter {
    /// At most this many; `None` means all.
    pub limit: Option<usize>,
    /// Only of this tool.
    pub tool: Option<String>,
    /// Only of this session.
    pub session: Option<String>,
    /// Only those that failed.
    pub failed: bool,
}

/// What ids of calls since a time begin with, or are greater than: they are sorted by time.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) fn first_id(since: SystemTime) -> String {
    let milliseconds = since.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let digits = format!("{milliseconds:012x}");
    format!("{}-{}", &digits[..8], &digits[8..])
}

/// What one file was before one call changed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreImageRecord {
    /// The [`CallRecord::id`] of the call.
    pub record: String,
    /// Absolute path of the file.
    pub path: PathBuf,
    /// Its content, or `None` if it did not exist.
    pub content: Option<BlobId>,
    /// Its permission bits.
    pub mode: Option<u32>,
    /// SHA-256 of what the change left, as hex; `None` if it removed the file.
    pub after: Option<String>,
    /// Directories the change created, outermost first.
    pub created_directories: Vec<PathBuf>,
    /// When its content was last changed before.
    pub modified: Option<SystemTime>,
}

/// The history of calls.
///
/// What is safe when: [`append`](Self::append) promises order and that nothing is dropped silently, but not yet that it
/// is on disk. When [`flush`](Self::flush), [`keep`](Self::keep), [`withdraw`](Self::withdraw) or
/// [`mark_undone`](Self::mark_undone) resolves with `Ok`, that change and everything queued before it survive the end of
/// the process and of the machine.
pub trait CallLog: Send + Sync {
    /// Queues a record; one with the same id replaces it, but what was marked as taken back stays so. Returns at once:
    /// records are written in groups, behind the calls. Calls of one process are written in the order they were queued.
    ///
    /// With [`StoreError::Full`] or [`StoreError::Closed`] this record was not queued. Any other error is about records
    /// queued earlier, and is reported here so that it is not lost: this one was queued all the same.
    fn append(&self, record: CallRecord) -> Result<(), StoreError>;
    /// As [`append`](Self::append) for a record that is still to be made: a backend with a thread of its own makes it
    /// there, so that the call does not wait for it. `texts` is about what its texts take, by which a queue is bounded.
    fn append_with(&self, texts: usize, make: Box<dyn FnOnce() -> CallRow + Send>) -> Result<(), StoreError> {
        let _ = texts;
        self.append(make().into())
    }
    /// Resolves when everything queued so far is safe on disk; an error says that it is not. What could not be written
    /// because the database was locked or the disk full is kept and tried again.
    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>>;
    /// Keeps a pre-image of a call that was queued before; resolves when it is safe on disk.
    fn keep(&self, image: PreImageRecord) -> BoxFuture<'_, Result<(), StoreError>>;
    /// Keeps several pre-images of a call, in this order, all or none; resolves when they are safe on disk.
    fn keep_all(&self, images: Vec<PreImageRecord>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            for image in images {
                self.keep(image).await?;
            }
            Ok(())
        })
    }
    /// Forgets the newest pre-image of a call with this path and [`after`](PreImageRecord::after), if there is one: that
    /// change did not happen. Resolves when that is safe on disk.
    fn withdraw<'a>(&'a self, record: &'a str, path: &'a Path, after: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Calls, newest first. Sees everything queued before.
    fn list(&self, filter: CallFilter) -> BoxFuture<'_, Result<Vec<CallRecord>, StoreError>>;
    /// How many calls that no hook blocked began at this time or later. Sees everything queued before.
    fn count_since(&self, since: SystemTime) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            let all = self.list(CallFilter::default()).await?;
            let counts =
                |call: &&CallRecord| call.started >= since && !matches!(&call.status, CallStatus::Error(kind) if kind == "blocked");
            Ok(all.iter().filter(counts).count() as u64)
        })
    }
    /// The call with this record id, or else this provider's call id (the newest), or else the only one whose record id
    /// begins or ends with this (4 characters or more).
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<CallRecord, StoreError>>;
    /// The newest call that has pre-images and is not undone yet.
    fn newest_undoable(&self) -> BoxFuture<'_, Result<Option<CallRecord>, StoreError>>;
    /// The pre-images of a call, in the order they were kept.
    fn pre_images<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<Vec<PreImageRecord>, StoreError>>;
    /// The pre-images of all calls of a session that are not undone yet, in the order they were kept.
    fn session_images<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<PreImageRecord>, StoreError>>;
    /// The pre-images of one path by all calls, those that are undone too, in the order they were kept.
    fn path_images<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Vec<PreImageRecord>, StoreError>> {
        let _ = path;
        Box::pin(async { Ok(Vec::new()) })
    }
    /// Every path that has a pre-image.
    fn changed_paths(&self) -> BoxFuture<'_, Result<HashSet<PathBuf>, StoreError>> {
        Box::pin(async { Ok(HashSet::new()) })
    }
    /// Calls whose process ended without recording an outcome, the oldest first. They are this process's own from now on: no other
    /// process gets them as long as it lives, and none at all once an outcome is [appended](Self::append) or they are
    /// [marked as undone](Self::mark_undone).
    fn take_interrupted(&self) -> BoxFuture<'_, Result<Vec<CallRecord>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
    /// Leaves an interrupted call as it is: nothing more is to be done about it.
    fn settle_interrupted<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let _ = record;
        Box::pin(async { Ok(()) })
    }
    /// Marks a call as taken back; resolves when that is safe on disk.
    fn mark_undone<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;
}
