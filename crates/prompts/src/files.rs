//! Reads text files of the user and of a project: no path leads out of the roots, and memory is bounded.

use std::path::Path;
use std::sync::Arc;

use haft_contract::ports::FileSystem;
use haft_contract::{ErrorKind, Location, Zone};
use haft_text::numbers;

/// Why a file was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PromptFileError {
    /// There is none.
    #[error("it is not there")]
    Missing,
    /// A link leads out of its folder.
    #[error("it leads out of its folder, to '{0}': put the file itself there")]
    Outside(String),
    /// It is too large.
    #[error("it has {}, and at most {} are read: move parts of it into files beside it", numbers::size(*.size), numbers::size(*.most))]
    TooLarge {
        /// Its bytes.
        size: u64,
        /// The most.
        most: u64,
    },
    /// It is not text.
    #[error("it is not UTF-8 text")]
    NotText,
    /// The file system refused it.
    #[error("{0}")]
    Refused(String),
}

/// Text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileText {
    pub(crate) text: String,
    /// Bytes of the whole file.
    pub(crate) size: u64,
}

/// Files, as far as the roots reach.
#[derive(Clone)]
pub struct PromptFiles {
    files: Arc<dyn FileSystem>,
}

haft_contract::opaque_debug!(PromptFiles);

impl PromptFiles {
    /// Files of this file system, in its workspace and roots.
    pub fn new(files: Arc<dyn FileSystem>) -> Self {
        Self { files }
    }

    /// The location of a path that lies beneath a folder, with every link followed.
    pub(crate) fn locate(&self, path: &Path, beneath: &Path) -> Result<Location, PromptFileError> {
        let location = self.files.locate(path).map_err(|error| PromptFileError::Refused(error.message().to_owned()))?;
        let folder = self.files.locate(beneath).map_err(|error| PromptFileError::Refused(error.message().to_owned()))?;
        if !location.path().starts_with(folder.path()) {
            return Err(PromptFileError::Outside(location.path().display().to_string()));
        }
        // A folder that was not there when the roots were opened is none of them.
        if location.zone() == Zone::Outside {
            return Err(PromptFileError::Missing);
        }
        match location.no_read() {
            Some(why) => Err(PromptFileError::Refused(why.to_owned())),
            None => Ok(location),
        }
    }

    /// The whole text of a file.
    pub(crate) async fn read(&self, at: &Location, most: u64) -> Result<String, PromptFileError> {
        let FileText { text, size } = self.read_start(at, most).await?;
        if size > most { Err(PromptFileError::TooLarge { size, most }) } else { Ok(text) }
    }

    /// The beginning of a file.
    pub(crate) async fn read_start(&self, at: &Location, most: u64) -> Result<FileText, PromptFileError> {
        let failed = |error: haft_contract::ToolError| match error.kind() {
            ErrorKind::FileNotFound => PromptFileError::Missing,
            _ => PromptFileError::Refused(error.message().to_owned()),
        };
        let file = self.files.open(at).await.map_err(failed)?;
        let size = file.size();
        let bytes = file.read_at(0, usize::try_from(most).unwrap_or(usize::MAX)).await.map_err(failed)?;
        let is_cut = (bytes.len() as u64) < size;
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            // The cut may fall into a character.
            Err(error) if is_cut && error.utf8_error().error_len().is_none() => {
                let valid = error.utf8_error().valid_up_to();
                String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned()
            }
            Err(_) => return Err(PromptFileError::NotText),
        };
        if text.contains('\0') { Err(PromptFileError::NotText) } else { Ok(FileText { text, size }) }
    }
}
