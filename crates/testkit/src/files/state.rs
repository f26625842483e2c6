//! What the fake disk holds, and what it was told to refuse.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{ErrorKind, Location, ToolError, WriteMode, ports::PreImage};

use super::FakeFiles;

/// What can be made to fail at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileOperation {
    /// Opening it.
    Open,
    /// Reading from it once it is open.
    Read,
    /// Writing it.
    Write,
    /// Removing it.
    Delete,
    /// The last step of any change to it, when the journal has the pre-image.
    Finish,
}

/// One read of an open file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRecord {
    /// Which file.
    pub path: PathBuf,
    /// From which byte.
    pub offset: u64,
    /// How many bytes were asked for.
    pub length: usize,
}

pub(super) type Content = Arc<Vec<u8>>;

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) files: BTreeMap<PathBuf, Content>,
    pub(super) directories: BTreeSet<PathBuf>,
    pub(super) failures: BTreeMap<(FileOperation, PathBuf), (ErrorKind, String)>,
    pub(super) no_read: BTreeMap<PathBuf, String>,
    pub(super) no_write: BTreeMap<PathBuf, String>,
    pub(super) reads: Vec<ReadRecord>,
    /// What another program puts in place of a file as soon as it is opened.
    pub(super) after_open: BTreeMap<PathBuf, Content>,
}

impl State {
    pub(super) fn check(&self, operation: FileOperation, path: &Path) -> Result<(), ToolError> {
        match self.failures.get(&(operation, path.to_owned())) {
            Some((kind, message)) => Err(ToolError::new(*kind, message.clone())),
            None => Ok(()),
        }
    }
    /// Why a path may not be read, and why not written.
    pub(super) fn refusals(&self, path: &Path) -> (Option<String>, Option<String>) {
        let why = |rules: &BTreeMap<PathBuf, String>| rules.iter().find(|(root, _)| path.starts_with(root)).map(|(_, why)| why.clone());
        (why(&self.no_read), why(&self.no_write))
    }
    pub(super) fn is_directory(&self, path: &Path) -> bool {
        let below = |entry: &PathBuf| entry != path && entry.starts_with(path);
        Path::new(FakeFiles::WORKSPACE).starts_with(path)
            || self.directories.iter().any(|directory| directory.starts_with(path))
            || self.files.keys().any(below)
    }
    pub(super) fn file(&self, at: &Location) -> Result<Content, ToolError> {
        if let Some(content) = self.files.get(at.path()) {
            return Ok(Arc::clone(content));
        }
        Err(if self.is_directory(at.path()) { is_directory(at) } else { not_found(at) })
    }
    fn missing_parents(&self, path: &Path) -> Vec<PathBuf> {
        let mut missing: Vec<_> = path.ancestors().skip(1).filter(|parent| !self.is_directory(parent)).map(Path::to_owned).collect();
        missing.reverse();
        missing
    }

    /// What a write is about to do: the whole new content, and the pre-image that allows taking it back.
    pub(super) fn prepare(&self, at: &Location, content: Vec<u8>, mode: WriteMode) -> Result<(Vec<u8>, PreImage), ToolError> {
        self.check(FileOperation::Write, at.path())?;
        if self.is_directory(at.path()) {
            return Err(is_directory(at));
        }
        let new = match (mode, self.files.get(at.path())) {
            (WriteMode::Append, Some(old)) => [old.as_slice(), &content].concat(),
            _ => content,
        };
        let image = self.image(at, Some(fingerprint(&new)));
        Ok((new, image))
    }
    /// The pre-image of a removal.
    pub(super) fn prepare_removal(&self, at: &Location) -> Result<PreImage, ToolError> {
        self.check(FileOperation::Delete, at.path())?;
        self.file(at)?;
        Ok(self.image(at, None))
    }
    /// The pre-image of putting a file back that still is what a change left.
    pub(super) fn prepare_return(&self, at: &Location, new: Option<&[u8]>, left: Option<&str>) -> Result<PreImage, ToolError> {
        let now = self.files.get(at.path()).map(|content| fingerprint(content));
        if now.as_deref() != left {
            return Err(ToolError::execution(format!("'{}' was changed since, so it was not put back", at.display())));
        }
        Ok(self.image(at, new.map(fingerprint)))
    }
    fn image(&self, at: &Location, after: Option<String>) -> PreImage {
        let old = self.files.get(at.path()).map(|content| content.to_vec());
        let mode = old.is_some().then_some(0o644);
        let content = old.map(|old| Box::new(Cursor::new(old)) as Box<dyn Read + Send>);
        let created_directories = if after.is_some() { self.missing_parents(at.path()) } else { Vec::new() };
        PreImage { path: at.path().to_owned(), content, mode, after, created_directories, metadata_from: None, modified: None }
    }

    /// The last step of a change.
    pub(super) fn finish(&mut self, path: &Path, new: Option<Vec<u8>>) -> Result<(), ToolError> {
        self.check(FileOperation::Finish, path)?;
        match new {
            Some(content) => self.files.insert(path.to_owned(), Arc::new(content)),
            None => self.files.remove(path),
        };
        Ok(())
    }
}

pub(super) fn not_found(at: &Location) -> ToolError {
    ToolError::new(ErrorKind::FileNotFound, format!("File not found: {}", at.requested().display()))
}

fn is_directory(at: &Location) -> ToolError {
    ToolError::validation(format!("Path is a directory, not a file: {}", at.requested().display()))
}

/// A fake SHA-256: 64 hex digits, the same for the same content (FNV-1a), and no more than that.
pub(super) fn fingerprint(content: &[u8]) -> String {
    let hash = content.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:064x}")
}
