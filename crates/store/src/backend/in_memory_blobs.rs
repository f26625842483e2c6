//! Pre-images in memory: for tests, and for embedding programs that want no file. They are gone with the process.

use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_contract::BoxFuture;

use crate::{BlobId, BlobWriter, Blobs, StoreError, new_uuid};

/// The default of [`InMemoryBlobs::with_limit`].
const LIMIT: u64 = 64 << 20;

/// [`Blobs`] without a file. Pre-images are kept up to a limit. Output that is too large for a model is cut and not kept: no tool
/// could read it.
#[derive(Debug)]
pub struct InMemoryBlobs {
    limit: u64,
    state: Mutex<BlobState>,
}

#[derive(Debug, Default)]
struct BlobState {
    images: HashMap<String, Arc<[u8]>>,
    bytes: u64,
}

impl Default for InMemoryBlobs {
    fn default() -> Self {
        Self::with_limit(LIMIT)
    }
}

impl InMemoryBlobs {
    /// Keeps this many bytes of pre-images, 64 MiB unless it is set. A file whose pre-image does not fit is not changed.
    pub fn with_limit(bytes: u64) -> Self {
        Self { limit: bytes, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, BlobState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, content: Box<dyn Read + Send>) -> Result<BlobId, StoreError> {
        let space = self.limit.saturating_sub(self.state().bytes);
        let mut bytes = Vec::new();
        let read = content.take(space.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|source| StoreError::Io { path: PathBuf::from("(memory)"), source })?;
        let mut state = self.state();
        if state.bytes.saturating_add(bytes.len() as u64) > self.limit {
            return Err(StoreError::Unsupported("the pre-images in memory have reached their limit: raise it, or keep them in files"));
        }
        state.bytes += bytes.len() as u64;
        let id = new_uuid().to_string();
        state.images.insert(id.clone(), bytes.into());
        Ok(BlobId(id))
    }
}

impl Blobs for InMemoryBlobs {
    fn spill_folder(&self) -> &Path {
        Path::new("")
    }

    fn spill(&self, _extension: &'static str) -> BoxFuture<'_, Result<Box<dyn BlobWriter>, StoreError>> {
        Box::pin(async { Err(StoreError::Unsupported("this program keeps nothing in files; ask for less output")) })
    }

    fn replace_spill<'a>(&'a self, _path: &'a Path, _content: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    fn keep(&self, content: Box<dyn Read + Send>) -> BoxFuture<'_, Result<BlobId, StoreError>> {
        Box::pin(async move { self.put(content) })
    }

    fn open<'a>(&'a self, id: &'a BlobId) -> BoxFuture<'a, Result<Box<dyn Read + Send>, StoreError>> {
        Box::pin(async move {
            let found = self.state().images.get(&id.0).cloned();
            let content = found.ok_or_else(|| StoreError::Missing { what: "pre-image", id: id.0.clone() })?;
            Ok(Box::new(Cursor::new(content)) as Box<dyn Read + Send>)
        })
    }

    fn path(&self, id: &BlobId) -> PathBuf {
        PathBuf::from(format!("(memory)/{}", id.0))
    }

    fn prune(&self, _age: Duration) -> BoxFuture<'_, Result<usize, StoreError>> {
        Box::pin(async { Ok(0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(blobs: &InMemoryBlobs, id: &BlobId) -> Vec<u8> {
        let mut bytes = Vec::new();
        blobs.open(id).await.unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[tokio::test]
    async fn pre_images_are_kept_up_to_the_limit_and_spills_are_not() {
        let blobs = InMemoryBlobs::with_limit(10);
        let keep = |text: &'static str| blobs.keep(Box::new(text.as_bytes()));
        let (one, empty) = (keep("12345").await.unwrap(), keep("").await.unwrap());
        assert!(keep("123456").await.unwrap_err().to_string().contains("have reached their limit"));
        let other = keep("67890").await.unwrap();
        assert_eq!([read(&blobs, &one).await, read(&blobs, &empty).await, read(&blobs, &other).await], [&b"12345"[..], b"", b"67890"]);
        assert!(keep("1").await.is_err(), "it is full");
        assert!(blobs.open(&BlobId("no".into())).await.is_err());
        assert!(blobs.spill("txt").await.err().unwrap().to_string().contains("keeps nothing in files"));
    }
}
