//! Walks through trees of files: the host walks on its own threads, a tool visits.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

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

/// Something in a tree that may be read.
pub trait TreeEntry {
    /// Its path beneath the tree's root; the root's own, if that is a file, is its name.
    fn path(&self) -> &Path;
    /// Whether it is a directory.
    fn is_directory(&self) -> bool;
    /// Its size in bytes, and when it was changed last; looked up when it is asked for.
    fn facts(&self) -> io::Result<(u64, Option<SystemTime>)>;
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
