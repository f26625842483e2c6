//! Taking a call back: every file as it was before, or nothing at all.

use std::path::PathBuf;

use haft_contract::{Host, Location, PreImage, ToolError};
use haft_store::{CallRecord, PreImageRecord, StoreError};

use crate::engine::Engine;

/// What was taken back.
#[derive(Debug, Clone, PartialEq)]
pub struct Undone {
    /// The call.
    pub call: CallRecord,
    /// The files that were put back.
    pub files: Vec<PathBuf>,
}

/// Why a call was not taken back.
#[derive(Debug)]
#[non_exhaustive]
pub enum UndoError {
    /// There is no call left to take back.
    Nothing,
    /// It was taken back before.
    Already(Box<CallRecord>),
    /// It changed no files.
    NoFiles(Box<CallRecord>),
    /// A file was changed since; taking the call back would lose that.
    Changed(PathBuf),
    /// The path leads somewhere else now.
    Moved(PathBuf),
    /// History could not be read or written.
    Store(StoreError),
    /// A file could not be put back.
    File(ToolError),
}

impl std::fmt::Display for UndoError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nothing => f.write_str("there is no call left to undo"),
            Self::Already(call) => write!(f, "call {} was undone before", call.id),
            Self::NoFiles(call) => write!(f, "call {} ({}) changed no files, so there is nothing to put back", call.id, call.tool),
            Self::Changed(path) => {
                write!(f, "{} was changed after the call; undoing would lose that change (--force undoes it anyway)", path.display())
            }
            Self::Moved(path) => write!(f, "{} leads somewhere else now, through a symbolic link; nothing was touched", path.display()),
            Self::Store(error) => write!(f, "{error}"),
            Self::File(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for UndoError {}

impl From<StoreError> for UndoError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Engine {
    /// Takes a call back: the one with this id, or the newest that is not undone yet. With `force`, later changes to its
    /// files are lost; without, they stop the undo before anything is touched.
    pub async fn undo(&self, id: Option<&str>, host: &dyn Host, force: bool) -> Result<Undone, UndoError> {
        let log = &self.inner.log;
        let call = match id {
            Some(id) => log.get(id).await?,
            None => log.newest_undoable().await?.ok_or(UndoError::Nothing)?,
        };
        if call.undone {
            return Err(UndoError::Already(Box::new(call)));
        }
        let images = log.pre_images(&call.id).await?;
        if images.is_empty() {
            return Err(UndoError::NoFiles(Box::new(call)));
        }
        let places = check_all(&images, host, force).await?;
        let mut files = Vec::new();
        // Backwards, so that a file changed twice by one call ends as it began.
        for (image, at) in images.into_iter().zip(places).rev() {
            files.push(image.path.clone());
            let image = self.load(image).await?;
            host.files().restore(&at, image).await.map_err(UndoError::File)?;
        }
        log.mark_undone(&call.id).await?;
        Ok(Undone { call, files })
    }

    async fn load(&self, record: PreImageRecord) -> Result<PreImage, UndoError> {
        let content = match &record.content {
            Some(id) => Some(self.inner.blobs.open(id).await?),
            None => None,
        };
        let PreImageRecord { path, mode, after, created_directories, .. } = record;
        Ok(PreImage { path, content, mode, after, created_directories })
    }
}

/// Every file must still be what the call left, and where it left it, before the first one is touched.
async fn check_all(images: &[PreImageRecord], host: &dyn Host, force: bool) -> Result<Vec<Location>, UndoError> {
    let mut places = Vec::with_capacity(images.len());
    for (place, image) in images.iter().enumerate() {
        let at = host.files().locate(&image.path).map_err(UndoError::File)?;
        if at.path != image.path {
            return Err(UndoError::Moved(image.path.clone()));
        }
        let changed_again = images[place + 1..].iter().any(|later| later.path == image.path);
        if !force && !changed_again && host.files().fingerprint(&at).await.map_err(UndoError::File)? != image.after {
            return Err(UndoError::Changed(image.path.clone()));
        }
        places.push(at);
    }
    Ok(places)
}
