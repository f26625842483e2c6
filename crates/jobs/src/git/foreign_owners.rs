//! Git folders with entries of another user or group, as in a project that a group shares, or one that `sudo` made.
//!
//! The sandbox of a user who is not root knows the ids of that user alone, and the kernel copies nothing with other ids into the upper
//! layer of an overlay. So the folders, and the files that Git changes in place, are put there before the command starts.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{getegid, geteuid};

use super::tree::Tree;

/// Git replaces these by renames, or never changes them.
const REPLACED: [&str; 3] = ["index", "packed-refs", "config"];
/// A file beyond this is not put there; Git cannot change it then.
const MAX_BYTES: u64 = 64 << 20;
const MAX_FOLDERS: usize = 20_000;

/// Puts folders and files into the upper layer that the kernel would refuse to copy there. What cannot be put there stays away: Git fails
/// to change it, as it would without.
pub(super) fn fill_upper(lower: &Tree, upper: &Path) {
    if geteuid().is_root() || !has_foreign_entries(lower) {
        return;
    }
    let Ok(upper) = Tree::open(upper) else { return };
    let mut filler = Filler { lower, upper: &upper, folders: 0 };
    filler.folder(Path::new(""), Part::Files).ok();
}

/// Whether the folder or one of its direct entries has an owner whom the sandbox does not know.
fn has_foreign_entries(lower: &Tree) -> bool {
    let names = lower.names(Path::new("")).unwrap_or_default();
    let entries = names.iter().filter_map(|name| lower.entry(Path::new(name)).ok().flatten());
    entries.chain(lower.metadata()).any(|entry| is_foreign(&entry))
}

/// Whether the sandbox of this user does not know the owner or the group of an entry.
pub(crate) fn is_foreign(entry: &Metadata) -> bool {
    entry.uid() != geteuid().as_raw() || entry.gid() != getegid().as_raw()
}

/// What is needed of a folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Folders and files: logs, settings and the state of operations.
    Files,
    /// Folders: the files in them are replaced by renames.
    Folders,
    /// The folders in it, of which nothing is needed: each has many objects, and no folders.
    Objects,
}

impl Part {
    /// What is needed of a folder in it; `None` if nothing is.
    fn below(self, folder: &Path, name: &OsStr) -> Option<Self> {
        let is_log = name == "logs" || folder.components().any(|part| part.as_os_str() == "logs");
        match (self, name.to_str()) {
            _ if is_log => Some(Self::Files),
            (Self::Files, Some("objects")) => Some(Self::Objects),
            (Self::Files, Some("refs" | "lfs")) => Some(Self::Folders),
            // Git runs hooks, and copies would have other permissions.
            (Self::Files, Some("hooks")) | (Self::Objects, _) => None,
            (part, _) => Some(part),
        }
    }
}

struct Filler<'a> {
    lower: &'a Tree,
    upper: &'a Tree,
    folders: usize,
}

impl Filler<'_> {
    fn folder(&mut self, path: &Path, part: Part) -> io::Result<()> {
        for name in self.lower.names(path)? {
            let inside = path.join(&name);
            let Some(entry) = self.lower.entry(&inside)? else { continue };
            if entry.is_dir() {
                self.folders += 1;
                if self.folders > MAX_FOLDERS {
                    return Err(io::Error::other("it has too many folders"));
                }
                self.upper.make_folder(&inside)?;
                if let Some(part) = part.below(path, &name) {
                    self.folder(&inside, part)?;
                }
            } else if part == Part::Files && entry.is_file() && is_foreign(&entry) && is_changed_in_place(&name) {
                self.copy(&inside)?;
            }
        }
        Ok(())
    }

    /// The upper layer is private, and no command runs yet.
    fn copy(&self, path: &Path) -> io::Result<()> {
        let (Ok(bytes), Some(upper)) = (self.lower.read(path, MAX_BYTES), self.upper.path()) else { return Ok(()) };
        fs::write(upper.join(path), bytes)
    }
}

fn is_changed_in_place(name: &OsString) -> bool {
    !REPLACED.iter().any(|replaced| name == replaced) && !name.as_encoded_bytes().starts_with(b"sharedindex.")
}
