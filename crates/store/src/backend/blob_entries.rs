//! Pre-images and spills that may be removed: files of this machine, and objects that several machines have.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use haft_contract::{BoxFuture, Prunable, StoredEntry};

use super::sqlite::BlobFiles;
use crate::{BlobObject, BlobObjects, StoreError};

/// Removes pre-images or spills.
pub(in crate::backend) struct BlobEntries {
    files: BlobFiles,
    objects: Option<Arc<dyn BlobObjects>>,
}

/// One of them: where it is on this machine, or would be, and its key if it is an object.
pub(in crate::backend) struct BlobKey {
    file: PathBuf,
    object: Option<String>,
}

impl BlobEntries {
    pub(in crate::backend) fn new(files: BlobFiles, objects: Option<Arc<dyn BlobObjects>>) -> Self {
        Self { files, objects }
    }

    /// The entry of an object; absent for a key that is none of ours.
    fn entry(&self, object: &BlobObject) -> Option<StoredEntry<BlobKey>> {
        let path = Path::new(&object.key);
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        let below = path.strip_prefix(self.files.folder().file_name()?).ok().filter(|_| is_plain)?;
        let in_use = below.iter().any(|name| self.files.is_in_use(&name.to_string_lossy()));
        let key = BlobKey { file: self.files.folder().join(below), object: Some(object.key.clone()) };
        Some(StoredEntry { key, written: object.written, bytes: object.bytes, in_use })
    }
}

impl Prunable for BlobEntries {
    type Key = BlobKey;
    type Error = StoreError;

    /// A file and its object are one entry.
    fn entries(&self) -> Result<Vec<StoredEntry<BlobKey>>, StoreError> {
        let files = self.files.entries()?.into_iter().map(|StoredEntry { key, written, bytes, in_use }| {
            (key.clone(), StoredEntry { key: BlobKey { file: key, object: None }, written, bytes, in_use })
        });
        let mut entries: HashMap<PathBuf, StoredEntry<BlobKey>> = files.collect();
        if let Some(objects) = &self.objects {
            let kind = self.files.folder().file_name().unwrap_or_default().to_string_lossy().into_owned();
            let listing = Arc::clone(objects);
            let listed = waited(move || Box::pin(async move { listing.list(&format!("{kind}/"), usize::MAX).await }))?;
            entries.extend(listed.into_iter().filter_map(|object| self.entry(&object)).map(|entry| (entry.key.file.clone(), entry)));
        }
        Ok(entries.into_values().collect())
    }

    /// The object first: a file alone is found again.
    fn remove(&self, keys: Vec<BlobKey>) -> Result<(), StoreError> {
        let (files, objects): (Vec<PathBuf>, Vec<Option<String>>) = keys.into_iter().map(|key| (key.file, key.object)).unzip();
        let objects: Vec<String> = objects.into_iter().flatten().collect();
        if let Some(store) = self.objects.clone().filter(|_| !objects.is_empty()) {
            waited(move || Box::pin(async move { store.remove(objects).await }))?;
        }
        self.files.remove(files)
    }
}

/// Waits on a thread of its own: the caller may be on one of a runtime.
pub(crate) fn waited<T: Send + 'static>(
    work: impl FnOnce() -> BoxFuture<'static, Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(|error| StoreError::Closed(format!("blobs cannot be read: {error}")))?.block_on(work())
    });
    thread.join().unwrap_or_else(|_| Err(StoreError::Closed("blobs could not be read".into())))
}
