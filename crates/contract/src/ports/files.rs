//! Port for files.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::Journal;
use crate::{BoxFuture, EntryKind, Location, ToolError, TreeOptions, TreeVisitor, TreeWatch, WalkSummary};

/// The type of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// An ordinary file.
    File,
    /// A directory.
    Directory,
    /// A pipe, device, socket: never opened.
    Special,
}

/// Metadata of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileInfo {
    /// Its type.
    pub kind: FileKind,
    /// Its size in bytes.
    pub size: u64,
    /// When it was changed last.
    pub modified: Option<SystemTime>,
}

/// How a write treats an existing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    /// Replace the file.
    Overwrite,
    /// Add to its end.
    Append,
}

/// The outcome of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOutcome {
    /// Bytes of content that were written.
    pub bytes: u64,
    /// Whether the file is new.
    pub created: bool,
    /// SHA-256 of the whole file as it is now, as hex.
    pub fingerprint: String,
}

/// A pre-image: a file as it was before a change, so that the change can be undone.
pub struct PreImage {
    /// Where the file is.
    pub path: PathBuf,
    /// Its content, or `None` if it did not exist.
    pub content: Option<Box<dyn Read + Send>>,
    /// Its permission bits; with [`LINK`](Self::LINK) or [`DIRECTORY`](Self::DIRECTORY) if it was no file.
    pub mode: Option<u32>,
    /// SHA-256 of the file after the change, as hex; `None` if the change removes it. Only a file in this state can be
    /// restored.
    pub after: Option<String>,
    /// Directories the change creates, outermost first.
    pub created_directories: Vec<PathBuf>,
    /// A file whose modification time and extended attributes the file gets; for staged changes.
    pub metadata_from: Option<PathBuf>,
    /// When its content was last changed, if that is to be restored.
    pub modified: Option<SystemTime>,
}

impl PreImage {
    /// Type bits of `mode`: a symbolic link; its content is its target.
    pub const LINK: u32 = 0o12_0000;
    /// Type bits of `mode`: a directory, without content.
    pub const DIRECTORY: u32 = 0o4_0000;
    /// Mask of the type bits.
    pub const KIND: u32 = 0o17_0000;
    /// Mask of a directory's permission bits.
    pub const PERMISSIONS: u32 = 0o3777;
    /// Type bits of `mode`: the former state was not kept, so it cannot be restored.
    pub const UNKNOWN: u32 = 0o17_0000;

    /// A path that was or may have been changed, and whose former state is not known.
    pub fn unknown(path: PathBuf) -> Self {
        Self {
            path,
            content: None,
            mode: Some(Self::UNKNOWN),
            after: None,
            created_directories: Vec::new(),
            metadata_from: None,
            modified: None,
        }
    }

    /// The [`state`](FileSystem::state) of a path with this mode and content fingerprint.
    pub fn state(mode: Option<u32>, fingerprint: Option<String>) -> Option<String> {
        match mode.map(|mode| mode & Self::KIND) {
            Some(Self::LINK) => fingerprint.map(|fingerprint| format!("link:{fingerprint}")),
            Some(Self::DIRECTORY) => mode.map(|mode| format!("directory:{:04o}", mode & Self::PERMISSIONS)),
            _ => fingerprint,
        }
    }
    /// The type of a path in this state.
    pub fn kind_of(state: &str) -> EntryKind {
        match state.split_once(':') {
            Some(("link", _)) => EntryKind::Link,
            Some(_) => EntryKind::Directory,
            None => EntryKind::File,
        }
    }
}

impl std::fmt::Debug for PreImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreImage").field("path", &self.path).field("existed", &self.content.is_some()).finish_non_exhaustive()
    }
}

/// A new entry that lies in a private folder, with everything in it.
#[derive(Debug, Clone)]
pub struct StagedEntry {
    /// Where it goes.
    pub location: Location,
    /// Where it is.
    pub source: PathBuf,
    /// The paths in it, relative to it, folders before what is in them.
    pub inside: Vec<PathBuf>,
}

/// Files, resolved beneath open directory handles.
pub trait FileSystem: Send + Sync {
    /// Resolves a path with every link and `..`, so that the checked path is the opened one. Missing parts are accepted, and
    /// so is a file where a directory should be: opening it fails. Fails for invalid paths alone (empty, NUL, control bytes, a
    /// loop of links).
    fn locate(&self, path: &Path) -> Result<Location, ToolError>;
    /// The same for the path itself, even if it is a link: to create or remove it. No link is followed; an operation that meets one
    /// on the way fails.
    fn locate_entry(&self, path: &Path) -> Result<Location, ToolError> {
        self.locate(path)
    }
    /// The link itself, if the last name of a path is one that leads to a place inside; links before it are followed.
    fn locate_link(&self, _path: &Path) -> Result<Option<Location>, ToolError> {
        Ok(None)
    }
    /// Lets the session and its commands read a folder of the user that is none of its roots. Without roots there is nothing to do.
    fn show_folder(&self, _folder: &Path) -> Result<(), ToolError> {
        Ok(())
    }
    /// The folders that were shown, for a session that continues this one.
    fn shown_folders(&self) -> Vec<PathBuf> {
        Vec::new()
    }
    /// A text that changes with the entry at a location: the [`fingerprint`](Self::fingerprint) of a file, a prefixed text for
    /// a link or directory; `None` if nothing is there.
    fn state<'a>(&'a self, at: &'a Location) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
        self.fingerprint(at)
    }
    /// Metadata of a location; `file_not_found` if nothing is there.
    fn info<'a>(&'a self, at: &'a Location) -> BoxFuture<'a, Result<FileInfo, ToolError>>;
    /// Opens an ordinary file for reading. Directories and special files are refused without blocking.
    fn open<'a>(&'a self, at: &'a Location) -> BoxFuture<'a, Result<Box<dyn FileReader>, ToolError>>;
    /// Writes atomically, creating parents. The journal gets the pre-image before anything changes; if the change fails, the
    /// pre-image is withdrawn.
    fn write<'a>(
        &'a self,
        at: &'a Location,
        content: Vec<u8>,
        mode: WriteMode,
        journal: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<WriteOutcome, ToolError>>;
    /// As [`write`](Self::write), but only over a file with this fingerprint, or where nothing is if it is `None`: a concurrent
    /// change is not overwritten.
    fn replace<'a>(
        &'a self,
        at: &'a Location,
        content: Vec<u8>,
        expected: Option<&'a str>,
        journal: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<WriteOutcome, ToolError>>;
    /// Writes a new file that takes the place of another one, with the permissions of that one.
    fn succeed<'a>(
        &'a self,
        at: &'a Location,
        other: &'a Location,
        content: Vec<u8>,
        journal: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<WriteOutcome, ToolError>> {
        let _ = other;
        self.replace(at, content, None, journal)
    }
    /// Removes an ordinary file, with the journal as in [`write`](Self::write).
    fn delete<'a>(&'a self, at: &'a Location, journal: &'a dyn Journal) -> BoxFuture<'a, Result<(), ToolError>>;
    /// Removes a link, not what it leads to, with the journal as in [`write`](Self::write).
    fn delete_link<'a>(&'a self, at: &'a Location, _journal: &'a dyn Journal) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move { Err(ToolError::execution(format!("'{}' is a link, and links are not kept here.", at.display()))) })
    }
    /// Makes a link as the one at `from`, where nothing is, with the journal as in [`write`](Self::write).
    fn copy_link<'a>(&'a self, from: &'a Location, _to: &'a Location, _journal: &'a dyn Journal) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move { Err(ToolError::execution(format!("'{}' is a link, and links are not kept here.", from.display()))) })
    }
    /// Visits all readable entries beneath a directory, or a single file. Links are not followed; unreadable entries are
    /// skipped. Resolves when no visitor runs any more; dropped, it stops soon.
    fn walk<'a>(
        &'a self,
        at: &'a Location,
        options: TreeOptions,
        visitor: Arc<dyn TreeVisitor>,
    ) -> BoxFuture<'a, Result<WalkSummary, ToolError>>;
    /// A number that changes with what may be read: what a walk showed holds for a later one with the same number, but for changes of
    /// the files. `None` if that is not known.
    fn view(&self) -> Option<u64> {
        None
    }
    /// A watch for changes, without directories yet; `None` where the system reports none.
    fn watch(&self) -> Option<Arc<dyn TreeWatch>> {
        None
    }
    /// SHA-256 of a file's content as hex; `None` if there is no file.
    fn fingerprint<'a>(&'a self, at: &'a Location) -> BoxFuture<'a, Result<Option<String>, ToolError>>;
    /// The same of content that is in no file.
    fn fingerprint_of(&self, content: Box<dyn Read + Send>) -> BoxFuture<'_, Result<String, ToolError>>;
    /// Restores a file from its pre-image, and removes created directories that are empty. A file that is not in the state
    /// `after` is refused. The journal gets the replaced content, as in [`write`](Self::write).
    fn restore<'a>(&'a self, at: &'a Location, image: PreImage, journal: &'a dyn Journal) -> BoxFuture<'a, Result<(), ToolError>>;
    /// Moves new entries from where they were staged to their places; returns the paths of those that were moved. The caller writes
    /// the others, as those on another file system. The journal gets a record of every path first.
    fn adopt<'a>(&'a self, entries: Vec<StagedEntry>, journal: &'a dyn Journal) -> BoxFuture<'a, Result<Vec<PathBuf>, ToolError>> {
        let _ = (entries, journal);
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// An open file, read at positions: memory does not depend on its size.
pub trait FileReader: Send + Sync {
    /// The file's size when it was opened.
    fn size(&self) -> u64;
    /// Up to `length` bytes from `offset`; fewer only at the end.
    fn read_at(&self, offset: u64, length: usize) -> BoxFuture<'_, Result<Vec<u8>, ToolError>>;
    /// SHA-256 of the open file's content as hex. Bytes that are read later are as new as those that it covers, or newer:
    /// a file that changes in between no longer has this fingerprint.
    fn fingerprint(&self) -> BoxFuture<'_, Result<String, ToolError>>;
}
