//! Blobs of several machines: kept as objects, and in files here, where tools read them.
//!
//! What is written goes to a file first, as without other machines, and then to the objects; it is kept when both have it. What is read
//! and is not in a file comes from the objects, once.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_contract::BoxFuture;

use super::file_blobs::{FileBlobs, PRE_IMAGES, SPILLS};
use crate::{BlobId, BlobObjects, BlobWriter, Blobs, StoreError};

/// Spills of a session that are brought to this machine, at most.
const MOST_SPILLS: usize = 1_000;

/// [`Blobs`] that other machines have too.
pub struct SharedBlobs {
    files: FileBlobs,
    objects: Arc<dyn BlobObjects>,
}

haft_contract::opaque_debug!(SharedBlobs: files = files);

impl SharedBlobs {
    /// Keeps what these files keep in these objects as well.
    pub fn new(files: FileBlobs, objects: Arc<dyn BlobObjects>) -> Self {
        Self { files, objects }
    }

    /// Brings the spills of the session that this machine does not have, so that tools can read them.
    pub async fn bring_spills(&self) -> Result<usize, StoreError> {
        let prefix = format!("{SPILLS}/{}/", self.session_name());
        let mut brought = 0;
        for object in self.objects.list(&prefix, MOST_SPILLS).await? {
            let Some(name) = object.key.strip_prefix(&prefix).filter(|name| FileBlobs::is_spill_name(name)) else { continue };
            if self.spill_folder().join(name).exists() {
                continue;
            }
            let (temporary, mut file) = self.files.new_spill_file(name)?;
            if self.objects.get(&object.key, &mut file).await? {
                temporary.finish()?;
                brought += 1;
            }
        }
        Ok(brought)
    }

    fn session_name(&self) -> String {
        self.spill_folder().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    fn spill_key(&self, path: &Path) -> String {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        format!("{SPILLS}/{}/{name}", self.session_name())
    }

    async fn keep_object(&self, id: &BlobId) -> Result<(), StoreError> {
        self.objects.put(&image_key(id), &self.files.path(id)).await
    }
}

fn image_key(id: &BlobId) -> String {
    format!("{PRE_IMAGES}/{}", id.0)
}

/// A spill that is uploaded when it is whole.
struct SharedWriter {
    file: Box<dyn BlobWriter>,
    objects: Arc<dyn BlobObjects>,
    folder: String,
}

impl BlobWriter for SharedWriter {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>> {
        self.file.write(bytes)
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<PathBuf, StoreError>> {
        Box::pin(async move {
            let path = self.file.finish().await?;
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            self.objects.put(&format!("{}{name}", self.folder), &path).await?;
            Ok(path)
        })
    }
}

impl Blobs for SharedBlobs {
    fn spill_folder(&self) -> &Path {
        self.files.spill_folder()
    }

    fn spill(&self, extension: &'static str) -> BoxFuture<'_, Result<Box<dyn BlobWriter>, StoreError>> {
        Box::pin(async move {
            let file = self.files.spill(extension).await?;
            let (objects, folder) = (Arc::clone(&self.objects), format!("{SPILLS}/{}/", self.session_name()));
            Ok(Box::new(SharedWriter { file, objects, folder }) as Box<dyn BlobWriter>)
        })
    }

    fn replace_spill<'a>(&'a self, path: &'a Path, content: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let key = self.spill_key(path);
            let replaced = match self.files.replace_spill(path, content).await {
                Ok(()) => self.objects.put(&key, path).await,
                Err(error) => Err(error),
            };
            if replaced.is_err() {
                // What was to be replaced may be a secret.
                self.objects.remove(vec![key]).await?;
            }
            replaced
        })
    }

    fn keep(&self, content: Box<dyn Read + Send>) -> BoxFuture<'_, Result<BlobId, StoreError>> {
        Box::pin(async move {
            let id = self.files.keep(content).await?;
            self.keep_object(&id).await?;
            Ok(id)
        })
    }

    fn keep_all(&self, contents: Vec<Box<dyn Read + Send>>) -> BoxFuture<'_, Result<Vec<BlobId>, StoreError>> {
        Box::pin(async move {
            let ids = self.files.keep_all(contents).await?;
            for id in &ids {
                self.keep_object(id).await?;
            }
            Ok(ids)
        })
    }

    fn open<'a>(&'a self, id: &'a BlobId) -> BoxFuture<'a, Result<Box<dyn Read + Send>, StoreError>> {
        Box::pin(async move {
            match self.files.open(id).await {
                Err(StoreError::Missing { what, id: name }) if FileBlobs::is_image_name(&name) => {
                    let (temporary, mut file) = self.files.new_image_file(&name)?;
                    if !self.objects.get(&image_key(id), &mut file).await? {
                        return Err(StoreError::Missing { what, id: name });
                    }
                    temporary.finish()?;
                    self.files.open(id).await
                }
                opened => opened,
            }
        })
    }

    fn path(&self, id: &BlobId) -> PathBuf {
        self.files.path(id)
    }

    fn prune(&self, age: Duration) -> BoxFuture<'_, Result<usize, StoreError>> {
        Box::pin(async move {
            let limit = std::time::SystemTime::now().checked_sub(age);
            let old = self.objects.list(&format!("{SPILLS}/"), usize::MAX).await?.into_iter();
            let old: Vec<String> =
                old.filter(|object| limit.is_some_and(|limit| object.written < limit)).map(|object| object.key).collect();
            self.objects.remove(old).await?;
            self.files.prune(age).await
        })
    }
}
