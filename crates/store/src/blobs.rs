//! Large things beside the database: spills and pre-images.

use std::io::Read;
use std::path::{Path, PathBuf};

use haft_contract::BoxFuture;

use crate::StoreError;

/// The name of a blob.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BlobId(pub String);

/// A blob that is being written; made by [`Blobs::spill`].
pub trait BlobWriter: Send {
    /// Adds to it.
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Ends it and returns its path. A writer that is dropped instead leaves no file.
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<PathBuf, StoreError>>;
}

/// Stores blobs under unpredictable names, private to the user.
///
/// `FileBlobs` keeps them in files, [`InMemoryBlobs`](crate::InMemoryBlobs) in memory.
pub trait Blobs: Send + Sync {
    /// The folder of the spills, which `read_file` may read.
    fn spill_folder(&self) -> &Path;
    /// Opens a spill with this file extension.
    fn spill(&self, extension: &'static str) -> BoxFuture<'_, Result<Box<dyn BlobWriter>, StoreError>>;
    /// Replaces the content of a finished spill; if that fails, the spill is removed.
    fn replace_spill<'a>(&'a self, path: &'a Path, content: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Keeps a pre-image's content; resolves when it is safe on disk.
    fn keep(&self, content: Box<dyn Read + Send>) -> BoxFuture<'_, Result<BlobId, StoreError>>;
    /// Keeps several contents, in this order; resolves when all of them are safe on disk.
    fn keep_all(&self, contents: Vec<Box<dyn Read + Send>>) -> BoxFuture<'_, Result<Vec<BlobId>, StoreError>> {
        Box::pin(async move {
            let mut ids = Vec::new();
            for content in contents {
                ids.push(self.keep(content).await?);
            }
            Ok(ids)
        })
    }
    /// Opens a pre-image's content.
    fn open<'a>(&'a self, id: &'a BlobId) -> BoxFuture<'a, Result<Box<dyn Read + Send>, StoreError>>;
    /// The path of a pre-image's content, for the user.
    fn path(&self, id: &BlobId) -> PathBuf;
    /// Removes spills older than `age`; says how many.
    fn prune(&self, age: std::time::Duration) -> BoxFuture<'_, Result<usize, StoreError>>;
}
