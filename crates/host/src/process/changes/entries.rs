//! The entries of an overlay's layers, one by one: what each is, and what is in it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use haft_contract::{EntryKind, PreImage};
use ring::digest::{Context, SHA256};

const PIECE: usize = 64 * 1024;
/// The mark of a directory that hides what lies beneath, as root and as anybody else writes it.
pub(super) const OPAQUE: [&str; 2] = ["trusted.overlay.opaque", "user.overlay.opaque"];

/// The names in a directory; none of one that cannot be listed.
pub(super) fn names_of(folder: &Path) -> BTreeSet<OsString> {
    names(folder).unwrap_or_default()
}

/// A command may have shut its own directories; in the upper layer they are ours to open.
pub(super) fn names(folder: &Path) -> io::Result<BTreeSet<OsString>> {
    let list = || fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name())).collect();
    match list() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => with_access(folder, 0o700, list),
        listed => listed,
    }
}

/// Does something with a path that its owner has shut, and shuts it again.
fn with_access<T>(path: &Path, access: u32, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let before = fs::symlink_metadata(path)?.permissions();
    fs::set_permissions(path, fs::Permissions::from_mode(before.mode() | access))?;
    let done = work();
    fs::set_permissions(path, before)?;
    done
}

/// Opens a file of the upper layer, even if its own permissions forbid it.
pub(super) fn open(path: &Path) -> io::Result<fs::File> {
    match fs::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => with_access(path, 0o400, || fs::File::open(path)),
        opened => opened,
    }
}

pub(super) fn fingerprint(path: &Path) -> io::Result<String> {
    let (mut file, mut hash, mut buffer) = (open(path)?, Context::new(&SHA256), vec![0; PIECE]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(crate::files::hex(&hash.finish())),
            Ok(count) => hash.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

pub(super) fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

pub(super) fn is_whiteout(metadata: &Metadata) -> bool {
    metadata.file_type().is_char_device() && metadata.rdev() == 0
}

pub(super) fn is_opaque(path: &Path) -> bool {
    let mut value = [0; 2];
    OPAQUE.iter().any(|name| rustix::fs::lgetxattr(path, *name, &mut value[..]).is_ok_and(|length| value[..length] == *b"y"))
}

pub(super) fn kind(metadata: &Metadata) -> EntryKind {
    match metadata.file_type() {
        kind if kind.is_file() => EntryKind::File,
        kind if kind.is_symlink() => EntryKind::Link,
        kind if kind.is_dir() => EntryKind::Directory,
        _ => EntryKind::Special,
    }
}

pub(super) fn mode(metadata: &Metadata) -> u32 {
    metadata.mode() & if metadata.is_dir() { PreImage::KEPT } else { 0o777 }
}

pub(super) fn same_mode(one: &Metadata, other: &Metadata) -> bool {
    one.is_symlink() || mode(one) == mode(other)
}

pub(super) fn changed(metadata: &Metadata) -> SystemTime {
    let (seconds, nanoseconds) = (metadata.ctime().try_into().unwrap_or(0), metadata.ctime_nsec().try_into().unwrap_or(0));
    SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds)
}
