//! A change set in the order in which it can be put in place.

use std::fs;
use std::io::{self, Cursor, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::SystemTime;

use haft_contract::{ChangeDeed, EntryKind, FileChange, PreImage};

use super::{Stored, entries};

/// What the owner of a directory needs to work in it.
const OPEN: u32 = 0o700;

/// What is done first: directories are opened, what goes is gone from the bottom up, directories come from the top down, and only
/// then what is in them. Directories that are shut are shut last.
pub(super) fn of(stored: &Stored) -> Vec<(usize, PreImage)> {
    let changes: Vec<(usize, &FileChange)> = stored.set.changes.iter().enumerate().filter(|(_, change)| change.applies()).collect();
    let is = |deed, entry| {
        move |(_, change): &&(usize, &FileChange)| {
            (change.deed == ChangeDeed::Deleted) == deed && (change.entry == EntryKind::Directory) == entry
        }
    };
    let folders: Vec<_> = changes.iter().filter(is(false, true)).collect();
    let was_folder = |change: &FileChange| change.before.as_deref().is_some_and(|before| PreImage::kind_of(before) == EntryKind::Directory);
    let mut steps = Vec::new();
    for (index, change) in folders.iter().filter(|(_, change)| was_folder(change)) {
        steps.push((*index, folder(change, change.before.clone(), change.mode.unwrap_or(OPEN) | OPEN)));
    }
    for (index, change) in changes.iter().rev().filter(|(_, change)| change.deed == ChangeDeed::Deleted) {
        steps.push((*index, PreImage { after: change.before.clone(), ..nothing(change) }));
    }
    // What a file or link takes the place of goes before its own content comes: a directory is empty by now.
    for (index, change) in folders.iter().filter(|(_, change)| !was_folder(change)) {
        steps.push((*index, folder(change, change.before.clone(), change.mode.unwrap_or(OPEN) | OPEN)));
    }
    let mut rest: Vec<_> =
        changes.iter().filter(is(false, false)).map(|(index, change)| (written(stored, change), *index, *change)).collect();
    // By age, so that what was made from something else stays younger than it.
    rest.sort_by_key(|(written, index, _)| (*written, *index));
    steps.extend(rest.into_iter().map(|(_, index, change)| (index, entry(stored, change))));
    for (index, change) in folders.iter().rev() {
        let mode = change.mode.unwrap_or(OPEN);
        if mode & OPEN != OPEN {
            steps.push((*index, folder(change, crate::files::directory_state(mode | OPEN), mode)));
        }
    }
    steps
}

fn nothing(change: &FileChange) -> PreImage {
    PreImage { path: change.path.clone(), content: None, mode: None, after: None, created_directories: Vec::new() }
}

fn folder(change: &FileChange, after: Option<String>, mode: u32) -> PreImage {
    PreImage { mode: Some(PreImage::DIRECTORY | mode), after, ..nothing(change) }
}

fn entry(stored: &Stored, change: &FileChange) -> PreImage {
    let (content, mode): (Box<dyn Read + Send>, _) = match &change.target {
        Some(target) => (Box::new(Cursor::new(target.clone().into_os_string().into_vec())), Some(PreImage::LINK)),
        None => (Box::new(Late { path: stored.above(change), file: None }), change.mode),
    };
    PreImage { content: Some(content), mode, after: change.before.clone(), ..nothing(change) }
}

fn written(stored: &Stored, change: &FileChange) -> SystemTime {
    fs::symlink_metadata(stored.above(change)).and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Opened when it is read: a set may have more files than may be open at once.
struct Late {
    path: PathBuf,
    file: Option<fs::File>,
}

impl Read for Late {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(entries::open(&self.path)?),
        };
        file.read(buffer)
    }
}
