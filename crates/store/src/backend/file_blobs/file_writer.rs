//! A blob that is being written.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::BoxFuture;

use crate::backend::blocking::blocking;
use crate::backend::folder::PrivateFolder;
use crate::{BlobWriter, StoreError};

/// How the name of a blob ends while it is written.
pub(in crate::backend) const UNFINISHED: &str = ".part";
/// Small writes are gathered: each trip to the disk's thread costs more than it writes.
const GATHERED: usize = 64 << 10;

/// A file under a temporary name; it is removed unless it is finished.
pub(super) struct Temporary {
    folder: Arc<PrivateFolder>,
    name: String,
    finished: bool,
}

impl Temporary {
    /// Creates the file that is to be called `name` in the end.
    pub(super) fn create(folder: Arc<PrivateFolder>, name: String) -> Result<(Self, File), StoreError> {
        let file = folder.create(&format!("{name}{UNFINISHED}")).map_err(|error| StoreError::io(&folder.path().join(&name), error))?;
        Ok((Self { folder, name, finished: false }, file))
    }

    /// Gives it its own name.
    pub(super) fn finish(mut self) -> Result<Arc<PrivateFolder>, StoreError> {
        self.folder.rename(&self.temporary_name(), &self.name).map_err(|error| self.failed(error))?;
        self.finished = true;
        Ok(Arc::clone(&self.folder))
    }

    pub(super) fn failed(&self, error: io::Error) -> StoreError {
        StoreError::io(&self.path(), error)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    fn temporary_name(&self) -> String {
        format!("{}{UNFINISHED}", self.name)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.finished {
            // What cannot be removed now is removed by pruning.
            self.folder.remove(&self.temporary_name()).ok();
        }
    }
}

/// A spill that is being written.
pub(super) struct FileWriter {
    temporary: Temporary,
    gathered: Vec<u8>,
    /// `None` while a write is under way, and after one that was given up.
    file: Option<File>,
}

impl FileWriter {
    pub(super) fn create(folder: Arc<PrivateFolder>, name: String) -> Result<Self, StoreError> {
        let (temporary, file) = Temporary::create(folder, name)?;
        Ok(Self { temporary, gathered: Vec::new(), file: Some(file) })
    }

    fn take_file(&mut self) -> Result<File, StoreError> {
        let given_up = || StoreError::Closed("an earlier write to this spill failed or was given up".into());
        self.file.take().ok_or_else(given_up)
    }

    async fn add(&mut self, mut bytes: &[u8]) -> Result<(), StoreError> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(GATHERED - self.gathered.len()));
            self.gathered.extend_from_slice(now);
            bytes = later;
            if self.gathered.len() == GATHERED {
                self.write_gathered().await?;
            }
        }
        Ok(())
    }

    async fn write_gathered(&mut self) -> Result<(), StoreError> {
        let mut file = self.take_file()?;
        let mut gathered = std::mem::take(&mut self.gathered);
        let path = self.temporary.path();
        let work = move || {
            file.write_all(&gathered).map_err(|error| StoreError::io(&path, error))?;
            gathered.clear();
            Ok((file, gathered))
        };
        let (file, gathered) = blocking(work).await?;
        self.file = Some(file);
        self.gathered = gathered;
        Ok(())
    }
}

impl BlobWriter for FileWriter {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.add(bytes))
    }

    fn finish(mut self: Box<Self>) -> BoxFuture<'static, Result<PathBuf, StoreError>> {
        Box::pin(blocking(move || {
            let mut file = self.take_file()?;
            file.write_all(&self.gathered).map_err(|error| self.temporary.failed(error))?;
            let path = self.temporary.path();
            self.temporary.finish()?;
            Ok(path)
        }))
    }
}
