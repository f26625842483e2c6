//! What a command changed in a Git folder: the differences between the upper layer of its overlay and the folder below.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::tree::{Tree, is_missing, names_in};
use crate::changes::{is_opaque_handle, is_whiteout};

/// More changes are not evaluated.
const MAX_CHANGES: usize = 500_000;
const MAX_DEPTH: usize = 64;

/// What a path is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Now {
    /// An ordinary file, new or with other content.
    File,
    /// Gone.
    Deleted,
    /// A folder that is gone, after everything in it.
    DeletedFolder,
    /// A link, pipe or device.
    Special,
}

/// One path that differs, relative to the Git folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) path: PathBuf,
    pub(super) now: Now,
}

/// Lists the changes: deletions before what replaces them, folders after what was in them.
pub(super) fn read_changes(upper: &Tree, lower: &Tree) -> io::Result<Vec<Change>> {
    let mut reader = Reader { upper, lower, changes: Vec::new() };
    reader.folder(Path::new(""), 0)?;
    Ok(reader.changes)
}

struct Reader<'a> {
    upper: &'a Tree,
    lower: &'a Tree,
    changes: Vec<Change>,
}

impl Reader<'_> {
    fn folder(&mut self, path: &Path, depth: usize) -> io::Result<()> {
        if depth > MAX_DEPTH {
            return Err(io::Error::other("its folders are too deep"));
        }
        let folder = self.upper.listed_folder(path)?;
        let is_opaque = is_opaque_handle(folder.as_fd());
        let names = names_in(folder)?;
        if is_opaque {
            for name in self.lower_names(path).into_iter().filter(|name| names.binary_search(name).is_err()) {
                self.deleted(&path.join(name), depth)?;
            }
        }
        names.iter().try_for_each(|name| self.entry(&path.join(name), depth))
    }

    fn entry(&mut self, path: &Path, depth: usize) -> io::Result<()> {
        let Some(now) = self.upper.entry(path)? else { return Ok(()) };
        let before = self.lower.entry(path)?;
        let was_folder = before.as_ref().is_some_and(Metadata::is_dir);
        if is_whiteout(&now) {
            return if before.is_some() { self.deleted(path, depth) } else { Ok(()) };
        }
        if before.is_some() && was_folder != now.is_dir() {
            self.deleted(path, depth)?;
        }
        if now.is_dir() {
            return self.folder(path, depth + 1);
        }
        if !now.is_file() {
            return self.push(path, Now::Special);
        }
        if before.is_some_and(|before| before.is_file() && before.len() == now.len()) && self.is_same(path)? {
            return Ok(());
        }
        self.push(path, Now::File)
    }

    /// Adds the deletion of a path, and of everything beneath it.
    fn deleted(&mut self, path: &Path, depth: usize) -> io::Result<()> {
        if depth > MAX_DEPTH {
            return Err(io::Error::other("its folders are too deep"));
        }
        if !self.lower.entry(path)?.is_some_and(|before| before.is_dir()) {
            return self.push(path, Now::Deleted);
        }
        for name in self.lower_names(path) {
            self.deleted(&path.join(name), depth + 1)?;
        }
        self.push(path, Now::DeletedFolder)
    }

    fn lower_names(&self, path: &Path) -> Vec<OsString> {
        self.lower.names(path).unwrap_or_default()
    }

    fn push(&mut self, path: &Path, now: Now) -> io::Result<()> {
        if self.changes.len() >= MAX_CHANGES {
            return Err(io::Error::other(format!("more than {MAX_CHANGES} files differ")));
        }
        self.changes.push(Change { path: path.to_owned(), now });
        Ok(())
    }

    fn is_same(&self, path: &Path) -> io::Result<bool> {
        let below = match self.lower.open_file(path) {
            Err(error) if is_missing(&error) => return Ok(false),
            opened => opened?,
        };
        same_bytes(self.upper.open_file(path)?, below)
    }
}

fn same_bytes(mut one: File, mut other: File) -> io::Result<bool> {
    let (mut left, mut right) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let count = one.read(&mut left)?;
        if count == 0 {
            return Ok(other.read(&mut right)? == 0);
        }
        if other.read_exact(&mut right[..count]).is_err() || left[..count] != right[..count] {
            return Ok(false);
        }
    }
}
