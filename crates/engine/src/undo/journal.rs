//! The journal of an undo: what it replaces, so that an undo that fails is itself reverted.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_contract::{
    BoxFuture, SpillWriter, ToolError,
    ports::{Journal, PreImage},
};
use haft_store::{Blobs, PreImageRecord};

use crate::journal::store_image;

/// Stores replaced content with the pre-images, and the rest in memory for as long as the undo lasts.
pub(super) struct UndoJournal<'a> {
    record: &'a str,
    /// `None` stores nothing: to revert an undo, of which everything is stored already.
    blobs: Option<&'a dyn Blobs>,
    images: Mutex<Vec<PreImageRecord>>,
}

impl<'a> UndoJournal<'a> {
    pub(super) fn new(record: &'a str, blobs: Option<&'a dyn Blobs>) -> Self {
        Self { record, blobs, images: Mutex::default() }
    }
    /// The pre-images of everything that was replaced so far.
    pub(super) fn images(&self) -> Vec<PreImageRecord> {
        self.lock().clone()
    }
    fn lock(&self) -> MutexGuard<'_, Vec<PreImageRecord>> {
        self.images.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for UndoJournal<'_> {
    fn keep(&self, image: PreImage) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            let Some(blobs) = self.blobs else { return Ok(()) };
            let image = store_image(blobs, self.record.to_owned(), image).await.map_err(|error| {
                ToolError::execution(format!("The file could not be stored before it was replaced: {error}")).with_source(error)
            })?;
            self.lock().push(image);
            Ok(())
        })
    }
    fn withdraw<'b>(&'b self, path: &'b Path, after: Option<&'b str>) -> BoxFuture<'b, Result<(), ToolError>> {
        self.lock().retain(|image| image.path != path || image.after.as_deref() != after);
        Box::pin(async { Ok(()) })
    }
    fn spill(&self, _extension: &'static str) -> BoxFuture<'_, Result<Box<dyn SpillWriter>, ToolError>> {
        Box::pin(async { Err(ToolError::execution("An undo has no output that could be too large.")) })
    }
}
