//! What is on a disk, down to the byte, so that two looks can be compared.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Everything beneath a folder, and the folder itself.
pub(crate) type Snapshot = BTreeMap<PathBuf, Item>;

/// Something on the disk. The time of a folder is part of it: it tells of a file that came and went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    Link(PathBuf),
    Folder { mode: u32, changed: (i64, i64) },
    File { mode: u32, changed: (i64, i64), content: Vec<u8> },
    Special,
}

/// Looks at a folder; what `passed_over` names is not looked into.
pub(crate) fn of(folder: &Path, passed_over: &[PathBuf]) -> Snapshot {
    let mut found = Snapshot::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(path) = pending.pop() {
        let item = look(&path);
        if matches!(item, Item::Folder { .. }) {
            let within = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
            pending.extend(within.filter(|path| !passed_over.contains(path)));
        }
        found.insert(path, item);
    }
    found
}

fn look(path: &Path) -> Item {
    let facts = std::fs::symlink_metadata(path).unwrap();
    let (kind, mode, changed) = (facts.file_type(), facts.mode(), (facts.mtime(), facts.mtime_nsec()));
    if kind.is_symlink() {
        Item::Link(std::fs::read_link(path).unwrap())
    } else if kind.is_dir() {
        Item::Folder { mode, changed }
    } else if kind.is_file() {
        Item::File { mode, changed, content: std::fs::read(path).unwrap() }
    } else {
        Item::Special
    }
}

/// What differs, by name.
pub(crate) fn difference(before: &Snapshot, after: &Snapshot) -> Vec<PathBuf> {
    let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    names.filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}

/// When everything beneath a folder was changed last, and which file it is: no change leaves these as they were.
pub(crate) type Marks = BTreeMap<PathBuf, (u64, u64, i64, i64)>;

pub(crate) fn marks(folder: &Path) -> Marks {
    let (mut found, mut pending) = (Marks::new(), vec![folder.to_owned()]);
    while let Some(path) = pending.pop() {
        let facts = std::fs::symlink_metadata(&path).unwrap();
        // A folder that may not be looked into has nothing to show.
        if facts.is_dir()
            && let Ok(entries) = std::fs::read_dir(&path)
        {
            pending.extend(entries.map(|entry| entry.unwrap().path()));
        }
        found.insert(path, (facts.ino(), facts.size(), facts.ctime(), facts.ctime_nsec()));
    }
    found
}
