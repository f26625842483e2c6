//! The changes between two states of a root, with the pre-images that take them back.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use haft_contract::{
    ChangeKind, EntryKind, FileChange,
    ports::{FileSystem, PreImage},
};
use haft_host::LocalFiles;
use haft_text::display;

use super::objects::KeptContent;
use super::snapshot::{Entry, Snapshot};

/// More changes of one command are listed, but not kept for undo.
const MAX_IMAGES: usize = 20_000;
/// Paths with more folders are looked at before undo is promised for them.
const USUAL_DEPTH: usize = 100;
/// How many paths a note names.
const NAMED: usize = 5;
/// The permissions that the owner of a directory needs to work in it.
const OWNER_ACCESS: u32 = 0o700;

/// The changes of roots.
#[derive(Debug, Default)]
pub(super) struct RootChanges {
    /// Sorted by path.
    pub(super) changes: Vec<FileChange>,
    /// In the order in which a journal must keep them: undo restores them backwards.
    pub(super) images: Vec<PreImage>,
    /// What undo does not cover.
    pub(super) uncovered: Vec<String>,
    /// Whether the store misses content that it should have.
    pub(super) is_content_lost: bool,
}

/// A path with its states.
struct ChangedPath<'a> {
    path: &'a [u8],
    before: Option<&'a Entry>,
    after: Option<&'a Entry>,
}

impl ChangedPath<'_> {
    /// Whether only the permissions of a directory differ.
    fn is_directory_mode(&self) -> bool {
        self.before.zip(self.after).is_some_and(|(before, after)| before.kind == EntryKind::Directory && after.kind == EntryKind::Directory)
    }
    fn leaves_accessible(&self) -> bool {
        self.after.is_some_and(|after| after.mode & OWNER_ACCESS == OWNER_ACCESS)
    }
}

/// Compares two states of a root, whose contents are in the store of this folder.
pub(super) fn compare(root: &Path, before: &Snapshot, after: &Snapshot, store: &Path, files: &LocalFiles) -> RootChanges {
    let mut paths = changed_paths(root, before, after);
    paths.sort_by(|one, other| one.path.cmp(other.path));
    let (odd, plain): (Vec<_>, Vec<_>) = paths.into_iter().partition(|changed| is_odd(root, changed.path, files));
    let odd_names: Vec<&[u8]> = odd.iter().map(|changed| changed.path).collect();
    let around_odd = odd_names.iter().map(|path| parent(path)).collect();
    let mut images = ImageWriter { root, store, after, around_odd, unkept: Vec::new(), is_content_lost: false };
    let mut kept = images.all(&plain);
    // What is beyond the limit may have changed.
    kept.extend(before.is_cut.then(|| PreImage::unknown(root.to_owned())));
    let mut uncovered = coverage_notes(before, after);
    uncovered.extend(note_paths("the old content was not kept", &images.unkept));
    uncovered.extend(note_paths("no tool can name it", &odd_names));
    let is_content_lost = images.is_content_lost;
    let mut changes: Vec<FileChange> = plain.iter().chain(&odd).map(|changed| describe(root, changed, files)).collect();
    changes.sort_by(|one, other| one.path.as_os_str().cmp(other.path.as_os_str()));
    RootChanges { changes, images: kept, uncovered, is_content_lost }
}

/// Whether a path is one that undo cannot name, as one with control characters or very many folders: it must not keep the others from
/// being restored.
fn is_odd(root: &Path, path: &[u8], files: &LocalFiles) -> bool {
    let has_control = String::from_utf8_lossy(path).chars().any(char::is_control);
    let is_deep = path.split(|byte| *byte == b'/').nth(USUAL_DEPTH + 1).is_some();
    (has_control || is_deep) && files.locate_entry(&root.join(OsStr::from_bytes(path))).is_err()
}

fn changed_paths<'a>(root: &Path, before: &'a Snapshot, after: &'a Snapshot) -> Vec<ChangedPath<'a>> {
    let is_unlisted = |path: &[u8]| after.unlisted.iter().any(|folder| is_beneath(path, folder));
    // Beyond the limit, a path that was not seen may still be there.
    let is_left = |path: &[u8]| after.is_cut && fs::symlink_metadata(root.join(OsStr::from_bytes(path))).is_ok();
    let mut changed = Vec::new();
    for (path, was) in &before.entries {
        match after.entries.get(path) {
            Some(is) if was.differs_from(is) => changed.push(ChangedPath { path, before: Some(was), after: Some(is) }),
            Some(_) => {}
            None if is_unlisted(path) || is_left(path) => {}
            None => changed.push(ChangedPath { path, before: Some(was), after: None }),
        }
    }
    let created = after.entries.iter().filter(|(path, _)| !before.entries.contains_key(*path));
    changed.extend(created.map(|(path, is)| ChangedPath { path, before: None, after: Some(is) }));
    changed
}

fn is_beneath(path: &[u8], folder: &[u8]) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with(b"/"))
}

fn parent(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(&[], |slash| &path[..slash])
}

/// Names that were not covered and are gone, and limits that were met.
fn coverage_notes(before: &Snapshot, after: &Snapshot) -> Vec<String> {
    let is_there = |path: &[u8]| {
        after.excluded.contains(path) || after.entries.contains_key(path) || after.unlisted.iter().any(|folder| is_beneath(path, folder))
    };
    let mut gone: Vec<&[u8]> = before.excluded.iter().map(|path| &**path).filter(|path| !after.is_cut && !is_there(path)).collect();
    gone.sort_unstable();
    let mut notes: Vec<String> = note_paths("ignored by Git, and deleted", &gone).into_iter().collect();
    if before.is_cut {
        notes.push(format!("files beyond the first {}", before.entries.len()));
    }
    notes
}

/// A note on some paths; `None` if there are none.
fn note_paths(what: &str, paths: &[&[u8]]) -> Option<String> {
    let shown: Vec<String> = paths.iter().take(NAMED).map(|path| format!("'{}'", escape(path))).collect();
    let more = paths.len().checked_sub(NAMED + 1).map(|more| format!(" and {} more", more + 1)).unwrap_or_default();
    (!paths.is_empty()).then(|| format!("{}{more} ({what})", shown.join(", ")))
}

fn escape(path: &[u8]) -> String {
    display::escape_line(&String::from_utf8_lossy(path)).into_owned()
}

fn describe(root: &Path, changed: &ChangedPath<'_>, files: &LocalFiles) -> FileChange {
    let path = root.join(OsStr::from_bytes(changed.path));
    let kind = match (changed.before, changed.after) {
        (None, _) => ChangeKind::Created,
        (_, None) => ChangeKind::Deleted,
        _ => ChangeKind::Changed,
    };
    let entry = changed.after.or(changed.before);
    let mode_before = changed.before.zip(changed.after).filter(|(before, after)| before.kind == after.kind && before.mode != after.mode);
    let is_link = changed.after.is_some_and(|after| after.kind == EntryKind::Link);
    FileChange {
        kind,
        entry: entry.map_or(EntryKind::File, |entry| entry.kind),
        size: entry.filter(|entry| entry.kind == EntryKind::File).map_or(0, |entry| entry.stamp.size),
        mode: changed.after.filter(|after| after.kind != EntryKind::Link).map(|after| after.mode),
        mode_before: mode_before.map(|(before, _)| before.mode),
        target: is_link.then(|| fs::read_link(&path).ok()).flatten(),
        before: changed.before.and_then(Entry::state),
        // A path that cannot be resolved is not shown either.
        hidden: files.locate_entry(&path).map_or(true, |at| at.no_read().is_some()),
        is_checked: false,
        path,
    }
}

/// Makes the pre-images.
struct ImageWriter<'a> {
    root: &'a Path,
    store: &'a Path,
    after: &'a Snapshot,
    /// Folders in which something stays that undo cannot name.
    around_odd: HashSet<&'a [u8]>,
    /// Paths that undo does not cover.
    unkept: Vec<&'a [u8]>,
    is_content_lost: bool,
}

impl<'a> ImageWriter<'a> {
    /// Undo restores backwards: directories become accessible, then new entries go, innermost first, then what was deleted comes
    /// back, outermost first. Directories that were less accessible get their mode last.
    fn all(&mut self, changed: &[ChangedPath<'a>]) -> Vec<PreImage> {
        if changed.len() > MAX_IMAGES {
            return vec![PreImage::unknown(self.root.to_owned())];
        }
        let (modes, others): (Vec<_>, Vec<_>) = changed.iter().partition(|changed| changed.is_directory_mode());
        let (deleted, written): (Vec<_>, Vec<_>) = others.into_iter().partition(|changed| changed.after.is_none());
        let (accessible, inaccessible): (Vec<_>, Vec<_>) = modes.into_iter().partition(|changed| changed.leaves_accessible());
        let mut images: Vec<PreImage> = accessible.iter().map(|changed| self.replaced(changed)).collect();
        images.extend(deleted.iter().rev().map(|changed| self.replaced(changed)));
        self.add_written(&written, &mut images);
        images.extend(inaccessible.iter().rev().map(|changed| self.replaced(changed)));
        images
    }

    fn add_written(&mut self, written: &[&ChangedPath<'a>], images: &mut Vec<PreImage>) {
        let created = || written.iter().filter(|changed| changed.before.is_none());
        let parents: HashSet<&[u8]> = created().map(|changed| parent(changed.path)).collect();
        let is_directory = |changed: &ChangedPath<'_>| changed.after.is_some_and(|after| after.kind == EntryKind::Directory);
        let mut directories: HashSet<&[u8]> = created().filter(|changed| is_directory(changed)).map(|changed| changed.path).collect();
        let mut leftovers: HashSet<&[u8]> = self.after.excluded.iter().map(|path| parent(path)).collect();
        leftovers.extend(&self.around_odd);
        for changed in written {
            match changed.before {
                Some(_) => images.push(self.replaced(changed)),
                // It goes with the first entry in it.
                None if is_directory(changed) && parents.contains(changed.path) => {}
                // It stays, because undo does not cover what is in it.
                None if is_directory(changed) && leftovers.contains(changed.path) => self.unkept.push(changed.path),
                None => images.push(self.created(changed, &mut directories)),
            }
        }
    }

    /// A created entry, and the created directories above it that no earlier one has.
    fn created(&mut self, changed: &ChangedPath<'a>, directories: &mut HashSet<&[u8]>) -> PreImage {
        let Some(after) = changed.after.and_then(Entry::state) else { return self.unknown(changed) };
        let mut above = Vec::new();
        let mut folder = parent(changed.path);
        while directories.remove(folder) {
            above.push(self.absolute(folder));
            folder = parent(folder);
        }
        above.reverse();
        directories.remove(changed.path);
        PreImage {
            path: self.absolute(changed.path),
            content: None,
            mode: None,
            after: Some(after),
            created_directories: above,
            metadata_from: None,
            modified: None,
        }
    }

    /// An entry that was changed or deleted.
    fn replaced(&mut self, changed: &ChangedPath<'a>) -> PreImage {
        let after = changed.after.map(Entry::state);
        let (Some(before), false) = (changed.before.filter(|before| before.is_kept()), after == Some(None)) else {
            return self.unknown(changed);
        };
        let content = match before.hash.map(|hash| KeptContent::find(self.store, &hash)) {
            Some(None) => {
                self.is_content_lost = true;
                return self.unknown(changed);
            }
            content => content.flatten().map(|content| Box::new(content) as Box<dyn Read + Send>),
        };
        // What was in a deleted directory must be restored before the directory is closed, and a path is restored once.
        let access = if before.kind == EntryKind::Directory && changed.after.is_none() { OWNER_ACCESS } else { 0 };
        PreImage {
            path: self.absolute(changed.path),
            content,
            mode: Some(before.image_mode() | access),
            metadata_from: None,
            modified: None,
            after: after.flatten(),
            created_directories: Vec::new(),
        }
    }

    fn unknown(&mut self, changed: &ChangedPath<'a>) -> PreImage {
        self.unkept.push(changed.path);
        PreImage::unknown(self.absolute(changed.path))
    }

    fn absolute(&self, path: &[u8]) -> PathBuf {
        self.root.join(OsStr::from_bytes(path))
    }
}
