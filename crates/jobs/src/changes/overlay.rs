//! The changes in the upper layers of an overlay.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use haft_contract::{
    ChangeKind, EntryKind, FileChange,
    ports::{FileSystem, PreImage},
};
use haft_host::LocalFiles;
use haft_sandbox::OverlayLayer;
use ring::digest::{SHA256, digest};

/// A set with more paths cannot be committed.
const MAX_CHANGES: usize = 100_000;
/// A set with more content cannot be committed.
const MAX_BYTES: u64 = 4 << 30;
/// The state of a file that another program changed while the command ran: no file ever has it.
const RACED: &str = "changed while the command ran";
/// The extended attribute of a directory that hides the one below, as root and as other users write it.
const OPAQUE: [&str; 2] = ["trusted.overlay.opaque", "user.overlay.opaque"];

/// The changes of a run.
#[derive(Debug, Default)]
pub(super) struct OverlayChanges {
    pub(super) changes: Vec<FileChange>,
    /// Why they cannot be committed.
    pub(super) refused: Option<String>,
}

/// Reads the changes that a run left in its layers.
pub(super) fn read_changes(layers: &[OverlayLayer], files: &LocalFiles, started: SystemTime) -> OverlayChanges {
    let mut reader = OverlayReader { files, started, found: OverlayChanges::default(), bytes: 0 };
    for layer in layers {
        reader.directory(&layer.upper, &layer.lower);
    }
    reader.found.changes.sort_by(|one, other| one.path.cmp(&other.path));
    reader.found
}

struct OverlayReader<'a> {
    files: &'a LocalFiles,
    started: SystemTime,
    found: OverlayChanges,
    bytes: u64,
}

impl OverlayReader<'_> {
    /// Compares a directory of the upper layer with the one below.
    fn directory(&mut self, upper: &Path, lower: &Path) {
        let names = match names(upper) {
            Ok(names) => names,
            Err(error) => return self.refuse(format!("'{}' cannot be listed: {error}", lower.display())),
        };
        if is_opaque(upper) && fs::symlink_metadata(lower).is_ok_and(|metadata| metadata.is_dir()) {
            for name in lower_names(lower).into_iter().filter(|name| !names.contains(name)) {
                self.deleted(&lower.join(name));
            }
        }
        for name in &names {
            if self.is_full() {
                return;
            }
            self.entry(&upper.join(name), &lower.join(name));
        }
    }

    fn entry(&mut self, upper: &Path, lower: &Path) {
        let now = match fs::symlink_metadata(upper) {
            Ok(now) => now,
            Err(error) => return self.refuse(format!("'{}' cannot be looked at: {error}", lower.display())),
        };
        let before = fs::symlink_metadata(lower).ok();
        if is_whiteout(&now) {
            if before.is_some() {
                self.deleted(lower);
            }
        } else {
            self.compare(upper, &now, lower, before.as_ref());
        }
    }

    fn compare(&mut self, upper: &Path, now: &Metadata, lower: &Path, before: Option<&Metadata>) {
        let was_directory = before.is_some_and(Metadata::is_dir);
        if was_directory && !now.is_dir() {
            for name in lower_names(lower) {
                self.deleted(&lower.join(name));
            }
        }
        let state = self.state(lower, before);
        let is_same = before.is_some_and(|before| entry_kind(before) == entry_kind(now) && same_mode(before, now));
        if !(is_same && (now.is_dir() || self.state(upper, Some(now)) == state)) {
            let kind = if before.is_some() { ChangeKind::Changed } else { ChangeKind::Created };
            let mode_before = before.filter(|before| entry_kind(before) == entry_kind(now) && !same_mode(before, now)).map(mode);
            let target = now.is_symlink().then(|| fs::read_link(upper).ok()).flatten();
            self.push(FileChange { target, mode_before, mode: Some(mode(now)), ..self.change(lower, kind, now) }, state, before);
        }
        if now.is_dir() {
            self.directory(upper, lower);
        }
    }

    /// Adds the deletion of a path, and of everything beneath it.
    fn deleted(&mut self, lower: &Path) {
        let Ok(before) = fs::symlink_metadata(lower) else { return };
        if before.is_dir() {
            for name in lower_names(lower) {
                if self.is_full() {
                    return;
                }
                self.deleted(&lower.join(name));
            }
        }
        let state = self.state(lower, Some(&before));
        self.push(self.change(lower, ChangeKind::Deleted, &before), state, Some(&before));
    }

    fn change(&self, path: &Path, kind: ChangeKind, metadata: &Metadata) -> FileChange {
        // A path that cannot be resolved is not shown either.
        let hidden = self.files.locate_entry(path).map_or(true, |at| at.no_read().is_some());
        let size = if metadata.is_file() { metadata.len() } else { 0 };
        let entry = entry_kind(metadata);
        FileChange {
            path: path.to_owned(),
            kind,
            entry,
            size,
            mode: None,
            mode_before: None,
            target: None,
            before: None,
            hidden,
            is_checked: false,
        }
    }

    fn push(&mut self, mut change: FileChange, before: Option<String>, lower: Option<&Metadata>) {
        let is_raced = lower.is_some_and(|lower| !lower.is_dir() && change_time(lower) > self.started);
        change.before = if is_raced { Some(RACED.to_owned()) } else { before };
        self.found.changes.push(change);
    }

    /// The state of a path, as [`FileSystem::state`] returns it.
    fn state(&mut self, path: &Path, metadata: Option<&Metadata>) -> Option<String> {
        let metadata = metadata?;
        match entry_kind(metadata) {
            EntryKind::Directory => PreImage::state(Some(PreImage::DIRECTORY | mode(metadata)), None),
            EntryKind::Link => {
                let target = fs::read_link(path).ok()?;
                PreImage::state(Some(PreImage::LINK), Some(haft_text::hex::encode(digest(&SHA256, target.as_os_str().as_bytes()))))
            }
            EntryKind::Special => Some("special".to_owned()),
            EntryKind::File => {
                self.bytes += metadata.len();
                if self.bytes > MAX_BYTES {
                    self.refuse("it touches more than 4 GB of content".to_owned());
                    return None;
                }
                fingerprint(path).map_err(|error| self.refuse(format!("'{}' cannot be read: {error}", path.display()))).ok()
            }
        }
    }

    fn is_full(&mut self) -> bool {
        let is_full = self.found.changes.len() >= MAX_CHANGES;
        if is_full {
            self.refuse(format!("it changes more than {MAX_CHANGES} paths, of which the rest is not listed"));
        }
        is_full
    }

    /// Only the first reason is reported.
    fn refuse(&mut self, why: String) {
        self.found.refused.get_or_insert(why);
    }
}

/// The names in a lower directory; none if it cannot be listed.
fn lower_names(directory: &Path) -> BTreeSet<OsString> {
    names(directory).unwrap_or_default()
}

/// The names in a directory, even if the command took away its permissions.
pub(super) fn names(directory: &Path) -> io::Result<BTreeSet<OsString>> {
    let list = || fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.file_name())).collect();
    match list() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => with_access(directory, 0o700, list),
        listed => listed,
    }
}

/// Runs an operation with more permissions on a path, and restores them.
fn with_access<T>(path: &Path, access: u32, operation: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let before = fs::symlink_metadata(path)?.permissions();
    fs::set_permissions(path, fs::Permissions::from_mode(before.mode() | access))?;
    let result = operation();
    fs::set_permissions(path, before)?;
    result
}

/// Opens a file of the upper layer, even if its permissions forbid it.
pub(super) fn open(path: &Path) -> io::Result<fs::File> {
    match fs::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => with_access(path, 0o400, || fs::File::open(path)),
        opened => opened,
    }
}

fn fingerprint(path: &Path) -> io::Result<String> {
    haft_host::sha256(open(path)?, || Ok(()))
}

/// Whether an entry of the upper layer marks a deletion.
pub(crate) fn is_whiteout(metadata: &Metadata) -> bool {
    metadata.file_type().is_char_device() && metadata.rdev() == 0
}

/// Whether an open directory hides the one below.
pub(crate) fn is_opaque_handle(directory: BorrowedFd<'_>) -> bool {
    let mut value = [0; 2];
    OPAQUE.iter().any(|name| rustix::fs::fgetxattr(directory, *name, &mut value[..]).is_ok_and(|length| value[..length] == *b"y"))
}

fn is_opaque(path: &Path) -> bool {
    let mut value = [0; 2];
    OPAQUE.iter().any(|name| rustix::fs::lgetxattr(path, *name, &mut value[..]).is_ok_and(|length| value[..length] == *b"y"))
}

fn entry_kind(metadata: &Metadata) -> EntryKind {
    match metadata.file_type() {
        kind if kind.is_file() => EntryKind::File,
        kind if kind.is_symlink() => EntryKind::Link,
        kind if kind.is_dir() => EntryKind::Directory,
        _ => EntryKind::Special,
    }
}

fn mode(metadata: &Metadata) -> u32 {
    metadata.mode() & if metadata.is_dir() { PreImage::PERMISSIONS } else { 0o777 }
}

fn same_mode(one: &Metadata, other: &Metadata) -> bool {
    one.is_symlink() || mode(one) == mode(other)
}

pub(crate) fn change_time(metadata: &Metadata) -> SystemTime {
    let (seconds, nanoseconds) = (metadata.ctime().try_into().unwrap_or(0), metadata.ctime_nsec().try_into().unwrap_or(0));
    SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds)
}

#[cfg(test)]
mod tests;
