//! The files that a session changed, with what they were before it.

use std::collections::HashSet;
use std::path::PathBuf;

use haft_store::StoreError;

use crate::Engine;

/// A file that a session changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFile {
    /// Its absolute path.
    pub path: PathBuf,
    /// A copy of its content before the first change; `None` if there was no file.
    pub before: Option<PathBuf>,
}

impl Engine {
    /// The files that the calls of a session changed and that were not undone, in the order of their first change.
    pub async fn session_files(&self, session: &str) -> Result<Vec<SessionFile>, StoreError> {
        let images = self.inner.log.session_images(session).await?;
        let mut seen = HashSet::new();
        let first = images.into_iter().filter(|image| seen.insert(image.path.clone()));
        Ok(first
            .map(|image| SessionFile { before: image.content.as_ref().map(|id| self.inner.blobs.path(id)), path: image.path })
            .collect())
    }
}
