//! Opening ordinary files, and looking at what is there.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime};

use haft_contract::{FileInfo, FileKind, Location, ToolError};
use rustix::fs::{FileType, Stat, fstat};
use rustix::io::Errno;

use super::beneath::{READ, open_beneath};
use super::errors::{self, FileAction, failed};
use super::parent::Parent;
use super::roots::RootedPath;

/// What is at a location.
pub(super) fn look(at: &Location) -> Result<FileInfo, ToolError> {
    let stat = status(RootedPath::from_location(at)?).map_err(|errno| failed(FileAction::Look, at, errno))?;
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => return Err(errors::became_a_link(at)),
        _ => FileKind::Special,
    };
    Ok(FileInfo { kind, size: size_of(&stat), modified: modified(&stat) })
}

fn status(place: &RootedPath) -> Result<Stat, Errno> {
    match place.beneath.file_name() {
        Some(name) => Parent::open(place)?.status(name)?.ok_or(Errno::NOENT),
        None => fstat(place.root.handle()),
    }
}

/// Opens an ordinary file, and nothing else.
pub(super) fn open_file(at: &Location, action: FileAction) -> Result<(File, Stat), ToolError> {
    let place = RootedPath::from_location(at)?;
    let handle = open_beneath(&place.root, &place.beneath, READ).map_err(|errno| failed(action, at, errno))?;
    ordinary(handle, at, action)
}

/// Takes a handle for a file if it is one.
pub(super) fn ordinary(handle: OwnedFd, at: &Location, action: FileAction) -> Result<(File, Stat), ToolError> {
    let stat = fstat(&handle).map_err(|errno| failed(action, at, errno))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if is_shown_by_the_kernel(&handle) => Err(errors::of_the_kernel(at)),
        FileType::RegularFile if errors::names_a_folder(at) => Err(failed(action, at, Errno::NOTDIR)),
        FileType::RegularFile => Ok((File::from(handle), stat)),
        kind => Err(errors::not_a_file(at, kind)),
    }
}

/// Whether a file or directory is `/proc`'s or its like, wherever that is mounted.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn is_shown_by_the_kernel(handle: &OwnedFd) -> bool {
    use rustix::fs::{FsWord, PROC_SUPER_MAGIC, fstatfs};

    const SYSFS: FsWord = 0x6265_6572;
    const DEBUGFS: FsWord = 0x6462_6720;
    const TRACEFS: FsWord = 0x7472_6163;
    const SECURITYFS: FsWord = 0x7363_6673;
    fstatfs(handle).is_ok_and(|system| [PROC_SUPER_MAGIC, SYSFS, DEBUGFS, TRACEFS, SECURITYFS].contains(&system.f_type))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn is_shown_by_the_kernel(_handle: &OwnedFd) -> bool {
    false
}

/// A file's size.
pub(super) fn size_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// When a file's content was changed last.
pub(super) fn modified(stat: &Stat) -> Option<SystemTime> {
    #[allow(clippy::useless_conversion)] // narrower, or signed, on other systems
    let (seconds, nanoseconds) = (stat.st_mtime.into(), stat.st_mtime_nsec.try_into().ok()?);
    time(seconds, nanoseconds)
}

/// When anything of a file was changed last.
pub(super) fn changed(stat: &Stat) -> Option<SystemTime> {
    #[allow(clippy::useless_conversion)] // narrower, or signed, on other systems
    let (seconds, nanoseconds) = (stat.st_ctime.into(), stat.st_ctime_nsec.try_into().ok()?);
    time(seconds, nanoseconds)
}

fn time(seconds: i64, nanoseconds: u64) -> Option<SystemTime> {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let second = if seconds < 0 { SystemTime::UNIX_EPOCH.checked_sub(whole) } else { SystemTime::UNIX_EPOCH.checked_add(whole) };
    second?.checked_add(Duration::from_nanos(nanoseconds))
}
