//! The steps of a commit, in an order in which each can be applied.

use std::fs;
use std::io::{self, Cursor, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::SystemTime;

use haft_contract::{ChangeKind, EntryKind, FileChange, ports::PreImage};

use super::StoredChanges;
use super::overlay::open;

/// The permissions that the owner of a directory needs to work in it.
const OWNER_ACCESS: u32 = 0o700;

/// First existing directories become accessible, then deletions run bottom up, then new directories are created top down, then
/// files and links are written. Directories that end up inaccessible get their mode last.
pub(super) fn steps(stored: &StoredChanges) -> Vec<(usize, PreImage)> {
    let changes = || stored.set.changes.iter().enumerate().filter(|(_, change)| change.applies());
    let (deleted, written): (Vec<_>, Vec<_>) = changes().partition(|(_, change)| change.kind == ChangeKind::Deleted);
    let (directories, mut files): (Vec<_>, Vec<_>) = written.into_iter().partition(|(_, change)| change.entry == EntryKind::Directory);
    let was_directory =
        |change: &FileChange| change.before.as_deref().is_some_and(|before| PreImage::kind_of(before) == EntryKind::Directory);
    let accessible = |(index, change): &(usize, &FileChange)| {
        (*index, directory(change, change.before.clone(), change.mode.unwrap_or(OWNER_ACCESS) | OWNER_ACCESS))
    };
    let mut steps: Vec<_> = directories.iter().filter(|(_, change)| was_directory(change)).map(accessible).collect();
    steps.extend(deleted.iter().rev().map(|(index, change)| (*index, PreImage { after: change.before.clone(), ..nothing(change) })));
    steps.extend(directories.iter().filter(|(_, change)| !was_directory(change)).map(accessible));
    // By age, so that a file that was built from another one stays younger than it.
    files.sort_by_key(|(index, change)| (modified(stored, change), *index));
    steps.extend(files.into_iter().map(|(index, change)| (index, file(stored, change))));
    for (index, change) in directories.iter().rev() {
        let mode = change.mode.unwrap_or(OWNER_ACCESS);
        if mode & OWNER_ACCESS != OWNER_ACCESS {
            let accessible = PreImage::state(Some(PreImage::DIRECTORY | mode | OWNER_ACCESS), None);
            steps.push((*index, directory(change, accessible, mode)));
        }
    }
    steps
}

fn nothing(change: &FileChange) -> PreImage {
    PreImage {
        path: change.path.clone(),
        content: None,
        mode: None,
        after: None,
        created_directories: Vec::new(),
        metadata_from: None,
        modified: None,
    }
}

fn directory(change: &FileChange, after: Option<String>, mode: u32) -> PreImage {
    PreImage { mode: Some(PreImage::DIRECTORY | mode), after, ..nothing(change) }
}

fn file(stored: &StoredChanges, change: &FileChange) -> PreImage {
    let (content, mode): (Box<dyn Read + Send>, _) = match &change.target {
        Some(target) => (Box::new(Cursor::new(target.clone().into_os_string().into_vec())), Some(PreImage::LINK)),
        None => (Box::new(LazyFile { path: stored.staged_path(change), file: None }), change.mode),
    };
    let metadata_from = change.target.is_none().then(|| stored.staged_path(change));
    PreImage { content: Some(content), mode, after: change.before.clone(), metadata_from, ..nothing(change) }
}

fn modified(stored: &StoredChanges, change: &FileChange) -> SystemTime {
    fs::symlink_metadata(stored.staged_path(change)).and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// A file that is opened at the first read: a set may have more files than can be open at once.
struct LazyFile {
    path: PathBuf,
    file: Option<fs::File>,
}

impl Read for LazyFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(open(&self.path)?),
        };
        file.read(buffer)
    }
}
