//! Where blobs are that several machines use: a table of the database, or a bucket.

use std::path::Path;
use std::time::SystemTime;

use haft_contract::BoxFuture;

use crate::StoreError;

/// One object, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobObject {
    /// Its key, such as `pre-images/ID`.
    pub key: String,
    /// When it was written.
    pub written: SystemTime,
    /// Its size.
    pub bytes: u64,
}

/// Keeps objects under keys. An object is whole or not there.
pub trait BlobObjects: Send + Sync {
    /// Stores the content of a file; resolves when it is safe.
    fn put<'a>(&'a self, key: &'a str, content: &'a Path) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Writes an object to a file that is empty; says whether there is such an object.
    fn get<'a>(&'a self, key: &'a str, file: &'a mut std::fs::File) -> BoxFuture<'a, Result<bool, StoreError>>;
    /// Removes objects; those that are not there are no error.
    fn remove(&self, keys: Vec<String>) -> BoxFuture<'_, Result<(), StoreError>>;
    /// The objects whose key begins with this, at most `limit`.
    fn list<'a>(&'a self, prefix: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<BlobObject>, StoreError>>;
}
