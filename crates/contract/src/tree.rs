//! Trees of files: walked by the host on its own threads, looked at by a tool.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// Which files of a tree are visited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeOptions {
    /// Also what `.gitignore` and its like leave out.
    pub ignored: bool,
    /// Also what begins with a dot.
    pub hidden: bool,
    /// Also directories, before what is in them.
    pub directories: bool,
    /// How many names deep; `None` is all of it.
    pub depth: Option<usize>,
}

impl TreeOptions {
    /// With what ignore files leave out.
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

/// Whether a walk goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    /// It does.
    On,
    /// Enough was seen: the walk ends as soon as it can.
    Enough,
}

/// Looks at what a walk finds: from several threads at once, in no order. It may take its time; the walk waits.
pub trait TreeVisitor: Send + Sync {
    /// Called once for each entry.
    fn visit(&self, entry: &dyn TreeEntry) -> Visit;
}

/// What a walk came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Walked {
    /// How many entries were visited.
    pub entries: u64,
    /// How many files and directories may not be read, and were passed over without a word about them.
    pub denied: u64,
    /// What could not be looked into, the first few: path and reason.
    pub troubles: Vec<(String, String)>,
    /// Whether the walk was ended before it had seen everything.
    pub stopped: bool,
}

/// Lets a visitor see what entries are called, and not what they hold.
pub(crate) struct NamesOnly(pub(crate) Arc<dyn TreeVisitor>);

impl TreeVisitor for NamesOnly {
    fn visit(&self, entry: &dyn TreeEntry) -> Visit {
        self.0.visit(&Closed(entry))
    }
}

struct Closed<'a>(&'a dyn TreeEntry);

impl TreeEntry for Closed<'_> {
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
