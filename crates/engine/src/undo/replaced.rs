//! What an undo replaces, kept as a call's changes are.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_contract::{BoxFuture, Journal, PreImage, SpillWriter, ToolError};
use haft_store::{Blobs, PreImageRecord, StoreError};

/// Keeps what is replaced: content with the pre-images, the rest in memory for as long as the undo lasts.
pub(super) struct Replaced<'a> {
    record: &'a str,
    blobs: &'a dyn Blobs,
    images: Mutex<Vec<PreImageRecord>>,
}

impl<'a> Replaced<'a> {
    pub(super) fn new(record: &'a str, blobs: &'a dyn Blobs) -> Self {
        Self { record, blobs, images: Mutex::default() }
    }
    /// What was replaced so far.
    pub(super) fn images(&self) -> Vec<PreImageRecord> {
        self.lock().clone()
    }
    fn lock(&self) -> MutexGuard<'_, Vec<PreImageRecord>> {
        self.images.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for Replaced<'_> {
    fn keep(&self, image: PreImage) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            let PreImage { path, content, mode, after, created_directories } = image;
            let content = match content {
                Some(content) => Some(self.blobs.keep(content).await.map_err(not_kept)?),
                None => None,
            };
            self.lock().push(PreImageRecord { record: self.record.to_owned(), path, content, mode, after, created_directories });
            Ok(())
        })
    }
    fn withdraw<'b>(&'b self, path: &'b Path, after: Option<&'b str>) -> BoxFuture<'b, Result<(), ToolError>> {
        self.lock().retain(|image| image.path != path || image.after.as_deref() != after);
        Box::pin(async { Ok(()) })
    }
    fn spill(&self, _extension: &'static str) -> BoxFuture<'_, Result<Box<dyn SpillWriter>, ToolError>> {
        no_spills()
    }
}

/// Keeps nothing: for returning what was put back, of which everything is kept already.
pub(super) struct Unkept;

impl Journal for Unkept {
    fn keep(&self, _image: PreImage) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }
    fn withdraw<'a>(&'a self, _path: &'a Path, _after: Option<&'a str>) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }
    fn spill(&self, _extension: &'static str) -> BoxFuture<'_, Result<Box<dyn SpillWriter>, ToolError>> {
        no_spills()
    }
}

fn no_spills() -> BoxFuture<'static, Result<Box<dyn SpillWriter>, ToolError>> {
    Box::pin(async { Err(ToolError::execution("An undo has no output that could be too large.")) })
}

fn not_kept(error: StoreError) -> ToolError {
    ToolError::execution(format!("What is there could not be kept before it was replaced: {error}")).with_source(error)
}
