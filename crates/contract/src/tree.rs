//! Walks through trees of files: the host walks on its own threads, a tool visits.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::BoxFuture;

/// Which files of a tree are visited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeOptions {
    /// Also entries that `.gitignore` and its like exclude.
    pub ignored: bool,
    /// Also what begins with a dot.
    pub hidden: bool,
    /// Also directories, before what is in them.
    pub directories: bool,
    /// How many names deep; `None` is all of it.
    pub depth: Option<usize>,
}

impl TreeOptions {
    /// With entries that ignore files exclude.
    #[must_use]
    pub fn with_ignored(mut self, ignored: bool) -> Self {
        self.ignored = ignored;
        self
    }
    /// With what begins with a dot.
    #[must_use]
    pub fn with_hidden(mut self, hidden: bool) -> Self {
        self.hidden = hidden;
        self
    }
    /// With directories themselves.
    #[must_use]
    pub fn with_directories(mut self, directories: bool) -> Self {
        self.directories = directories;
        self
    }
    /// No deeper than this.
    #[must_use]
    pub fn to_depth(mut self, depth: usize) -> Self {
        self.depth = Some(depth);
        self
    }
}

/// What tells that a file has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryStamp {
    /// Its size in bytes.
    pub size: u64,
    /// When its content was changed last; programs can set this time.
    pub modified: Option<SystemTime>,
    /// When anything of it was changed last. No program can set this time; absent where the system does not keep it.
    pub changed: Option<SystemTime>,
    /// How many names it has: what changes it through another one changes nothing in the directory of this one.
    pub names: u64,
}

/// Something in a tree that may be read.
pub trait TreeEntry {
    /// Its path beneath the tree's root; the root's own, if that is a file, is its name.
    fn path(&self) -> &Path;
    /// Whether it is a directory.
    fn is_directory(&self) -> bool;
    /// Its size in bytes, and when it was changed last; looked up when it is asked for.
    fn facts(&self) -> io::Result<(u64, Option<SystemTime>)>;
    /// What tells that it has changed; looked up when it is asked for.
    fn stamp(&self) -> io::Result<EntryStamp> {
        let (size, modified) = self.facts()?;
        Ok(EntryStamp { size, modified, changed: None, names: 1 })
    }
    /// Opens an ordinary file. What was swapped for a link or a device meanwhile is an error.
    fn open(&self) -> io::Result<Box<dyn Read + Send>>;
    /// Opens it as [`open`](Self::open) does, from a byte on.
    fn open_from(&self, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        let mut content = self.open()?;
        io::copy(&mut content.by_ref().take(offset), &mut io::sink())?;
        Ok(content)
    }
}

/// Whether a walk continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    /// Continue.
    On,
    /// Stop as soon as possible.
    Enough,
}

/// Visits the entries of a walk, from several threads at once, in no order. It may block; the walk waits.
pub trait TreeVisitor: Send + Sync {
    /// Called once for each entry.
    fn visit(&self, entry: &dyn TreeEntry) -> Visit;
}

/// The summary of a walk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WalkSummary {
    /// How many entries were visited.
    pub entries: u64,
    /// How many unreadable files and directories were skipped silently.
    pub denied: u64,
    /// Entries that could not be read, the first few: path and reason.
    pub troubles: Vec<(String, String)>,
    /// Whether the walk ended early.
    pub stopped: bool,
}

/// What changed in watched directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeChanges {
    /// These entries that are no directories, by their whole paths, and nothing else.
    Entries(BTreeSet<PathBuf>),
    /// Perhaps anything: directories, more than is kept, or changes that the system does not report here.
    Anything,
}

/// Watches directories. A change that ended before it is asked is in the answer, but for one through another name of a file that is not
/// watched itself, and one of a file that is mapped into memory and still open.
pub trait TreeWatch: Send + Sync {
    /// Watches a directory, without those beneath it. To miss nothing, it is added before it is listed.
    fn add_directory(&self, path: &Path);
    /// Watches a file itself, by whatever name it is changed.
    fn add_file(&self, path: &Path);
    /// Watches what is at a path, if only that something comes to be there: it is looked at whenever changes are taken.
    fn add_path(&self, path: &Path);
    /// The changes since it was asked last. After [`TreeChanges::Anything`] it is of no more use.
    fn take(&self) -> TreeChanges;
    /// Resolves when there may be changes to take.
    fn wait(&self) -> BoxFuture<'_, ()>;
}

/// Lets a visitor see the names of entries, and not their content.
pub(crate) struct NamesOnly(pub(crate) Arc<dyn TreeVisitor>);

impl TreeVisitor for NamesOnly {
    fn visit(&self, entry: &dyn TreeEntry) -> Visit {
        self.0.visit(&UnreadableEntry(entry))
    }
}

struct UnreadableEntry<'a>(&'a dyn TreeEntry);

impl TreeEntry for UnreadableEntry<'_> {
    fn path(&self) -> &Path {
        self.0.path()
    }
    fn is_directory(&self) -> bool {
        self.0.is_directory()
    }
    fn facts(&self) -> io::Result<(u64, Option<SystemTime>)> {
        self.0.facts()
    }
    fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "the plan names the directory alone, not what is in it"))
    }
}
