//! A blob that is being written.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::BoxFuture;

use crate::backend::blocking::{Begun, blocking};
use crate::backend::folder::PrivateFolder;
use crate::{BlobWriter, StoreError};

/// How the name of a blob ends while it is written.
pub(in crate::backend) const UNFINISHED: &str = ".part";
/// Small writes are gathered: each trip to the disk's thread costs more than it writes.
const GATHERED: usize = 64 << 10;

/// A file under a temporary name; it is removed unless it is finished.
pub(in crate::backend) struct Temporary {
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
    pub(in crate::backend) fn finish(mut self) -> Result<(), StoreError> {
        self.folder.rename(&self.temporary_name(), &self.name).map_err(|error| self.failed(error))?;
        self.finished = true;
        Ok(())
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

/// A spill that is being written. One piece is on its way to the disk while the next is gathered.
pub(super) struct FileWriter {
    temporary: Temporary,
    gathered: Vec<u8>,
    /// `None` after a write that failed or was given up.
    file: Option<SpillTarget>,
}

/// Where the next piece goes.
enum SpillTarget {
    /// Nothing is under way.
    Idle(File),
    /// A write is under way, and gives back the file and the emptied piece.
    Writing(Begun<(File, Vec<u8>)>),
}

impl FileWriter {
    pub(super) fn create(folder: Arc<PrivateFolder>, name: String) -> Result<Self, StoreError> {
        let (temporary, file) = Temporary::create(folder, name)?;
        Ok(Self { temporary, gathered: Vec::new(), file: Some(SpillTarget::Idle(file)) })
    }

    /// The file, when nothing is on its way to it any more, and a piece to use again. It is given up if this is dropped meanwhile.
    async fn take_file(&mut self) -> Result<(File, Vec<u8>), StoreError> {
        match self.file.take() {
            Some(SpillTarget::Idle(file)) => Ok((file, Vec::new())),
            Some(SpillTarget::Writing(mut writing)) => writing.end().await,
            None => Err(StoreError::Closed("an earlier write to this spill failed or was given up".into())),
        }
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
        let (mut file, empty) = self.take_file().await?;
        let mut gathered = std::mem::replace(&mut self.gathered, empty);
        let path = self.temporary.path();
        let work = move || {
            file.write_all(&gathered).map_err(|error| StoreError::io(&path, error))?;
            gathered.clear();
            Ok((file, gathered))
        };
        self.file = Some(SpillTarget::Writing(Begun::begin(work)));
        Ok(())
    }
}

impl BlobWriter for FileWriter {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.add(bytes))
    }

    fn finish(mut self: Box<Self>) -> BoxFuture<'static, Result<PathBuf, StoreError>> {
        Box::pin(async move {
            let (mut file, _) = self.take_file().await?;
            blocking(move || {
                file.write_all(&self.gathered).map_err(|error| self.temporary.failed(error))?;
                let path = self.temporary.path();
                self.temporary.finish()?;
                Ok(path)
            })
            .await
        })
    }
}
