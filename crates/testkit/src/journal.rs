//! Pre-images and spills, kept in memory.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use haft_contract::{
    BoxFuture, ErrorKind, SpillFile, SpillWriter, ToolError,
    ports::{Journal, PreImage},
};

use crate::FakeFiles;
use crate::files::read_out;
use crate::sync::lock;

/// A pre-image with its content read out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptImage {
    /// Where the file is.
    pub path: PathBuf,
    /// Its content, or `None` if it did not exist.
    pub content: Option<Vec<u8>>,
    /// Its permission bits.
    pub mode: Option<u32>,
    /// The fingerprint of what the change leaves behind.
    pub after: Option<String>,
    /// Directories the change creates, outermost first.
    pub created_directories: Vec<PathBuf>,
}

impl From<KeptImage> for PreImage {
    fn from(image: KeptImage) -> Self {
        let KeptImage { path, content, mode, after, created_directories } = image;
        let content = content.map(|content| Box::new(std::io::Cursor::new(content)) as Box<dyn std::io::Read + Send>);
        Self { path, content, mode, after, created_directories, metadata_from: None, modified: None }
    }
}

/// Pre-images and spills, kept in memory. A finished spill is the file `/spills/1.txt`, `/spills/2.json`, ….
#[derive(Debug)]
pub struct FakeJournal {
    files: Arc<FakeFiles>,
    kept: Mutex<Vec<KeptImage>>,
    opened: Mutex<usize>,
    failure: Mutex<Option<(ErrorKind, String)>>,
}

impl FakeJournal {
    /// A journal whose spills become files here.
    pub fn new(files: Arc<FakeFiles>) -> Self {
        Self { files, kept: Mutex::default(), opened: Mutex::default(), failure: Mutex::default() }
    }
    /// The pre-images kept so far.
    pub fn kept(&self) -> Vec<KeptImage> {
        lock(&self.kept).clone()
    }
    /// How many spills were opened, finished or not.
    pub fn spills_opened(&self) -> usize {
        *lock(&self.opened)
    }
    /// Makes keeping and spilling fail.
    pub fn fail(&self, kind: ErrorKind, message: impl Into<String>) {
        *lock(&self.failure) = Some((kind, message.into()));
    }
    fn check(&self) -> Result<(), ToolError> {
        match lock(&self.failure).clone() {
            Some((kind, message)) => Err(ToolError::new(kind, message)),
            None => Ok(()),
        }
    }
}

impl Journal for FakeJournal {
    fn keep(&self, image: PreImage) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            self.check()?;
            let PreImage { path, content, mode, after, created_directories, .. } = image;
            let content = content.map(read_out).transpose()?;
            lock(&self.kept).push(KeptImage { path, content, mode, after, created_directories });
            Ok(())
        })
    }

    fn withdraw<'a>(&'a self, path: &'a Path, after: Option<&'a str>) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            let mut kept = lock(&self.kept);
            if let Some(place) = kept.iter().rposition(|image| image.path == path && image.after.as_deref() == after) {
                kept.remove(place);
            }
            Ok(())
        })
    }

    fn spill(&self, extension: &'static str) -> BoxFuture<'_, Result<Box<dyn SpillWriter>, ToolError>> {
        Box::pin(async move {
            self.check()?;
            let mut opened = lock(&self.opened);
            *opened += 1;
            let path = PathBuf::from(format!("{}/{opened}.{extension}", FakeFiles::SPILLS));
            Ok(Box::new(FakeSpill { files: Arc::clone(&self.files), path, content: Vec::new() }) as Box<dyn SpillWriter>)
        })
    }
}

struct FakeSpill {
    files: Arc<FakeFiles>,
    path: PathBuf,
    content: Vec<u8>,
}

impl SpillWriter for FakeSpill {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            self.content.extend_from_slice(bytes);
            Ok(())
        })
    }
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<SpillFile, ToolError>> {
        Box::pin(async move {
            let bytes = self.content.len() as u64;
            self.files.put(&self.path, self.content);
            Ok(SpillFile { path: self.path, bytes })
        })
    }
}
