//! The file that a change is about, as it is before the change.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;

use haft_contract::{Location, ToolError, ports::PreImage};
use rustix::fs::{Access, AtFlags, FileType, Mode, Stat, accessat};
use rustix::io::Errno;

use super::beneath::{READ, open_name};
use super::errors::{self, FileAction, failed};
use super::open::{is_shown_by_the_kernel, modified, ordinary, size_of};
use super::parent::Parent;
use super::roots::RootedPath;

/// A change keeps what was there, so that it can be taken back; more than this is not kept, and so not changed.
const LARGEST_KEPT: u64 = 512 << 20;

/// A file that is there: open, so that its content can be kept.
#[derive(Debug)]
pub(super) struct ExistingFile {
    pub(super) file: File,
    pub(super) stat: Stat,
}

impl ExistingFile {
    /// Opens what is at a name, if anything is; only an ordinary file will do.
    pub(super) fn find(parent: &Parent, name: &OsStr, at: &Location, action: FileAction) -> Result<Option<Self>, ToolError> {
        if is_shown_by_the_kernel(parent.handle()) {
            return Err(errors::of_the_kernel(at));
        }
        match open_name(parent.handle(), name, READ) {
            Ok(handle) => {
                let (file, stat) = ordinary(handle, at, action)?;
                if size_of(&stat) > LARGEST_KEPT {
                    return Err(errors::too_large_to_keep(at, size_of(&stat), LARGEST_KEPT));
                }
                Ok(Some(Self { file, stat }))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(failed(action, at, errno)),
        }
    }
}

/// The name that a change is about; a root itself has none.
pub(super) fn name_of<'p>(place: &'p RootedPath, at: &Location) -> Result<&'p OsStr, ToolError> {
    place.beneath.file_name().ok_or_else(|| errors::not_a_file(at, FileType::Directory))
}

/// Respects a file that was made read-only: renaming over it would not need its permission.
pub(super) fn check_permission(parent: &Parent, name: &OsStr) -> Result<(), Errno> {
    match accessat(parent.handle(), name, Access::WRITE_OK, AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW) {
        Err(errno @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) => Err(errno),
        // Some kernels cannot tell; the change itself will.
        _ => Ok(()),
    }
}

/// Whether a name still is what it was: the same file, untouched, or nothing.
pub(super) fn check_unchanged(parent: &Parent, name: &OsStr, at: &Location, before: Option<&Stat>) -> Result<(), ToolError> {
    let now = parent.status(name).map_err(|errno| failed(FileAction::Write, at, errno))?;
    if now.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink) {
        return Err(errors::became_a_link(at));
    }
    let same = match (before, &now) {
        (Some(before), Some(now)) => is_same(before, now),
        (None, None) => true,
        _ => false,
    };
    if same { Ok(()) } else { Err(errors::changed_meanwhile(at)) }
}

fn is_same(before: &Stat, now: &Stat) -> bool {
    (before.st_dev, before.st_ino, before.st_size) == (now.st_dev, now.st_ino, now.st_size)
        && (before.st_mtime, before.st_mtime_nsec) == (now.st_mtime, now.st_mtime_nsec)
}

/// What a change of this target must be able to bring back.
pub(super) fn pre_image(at: &Location, before: Option<ExistingFile>, after: Option<String>, parent: &Parent) -> PreImage {
    let mode = before.as_ref().map(|target| bits(permissions(&target.stat)));
    let modified = before.as_ref().and_then(|target| modified(&target.stat));
    let content = before.map(|ExistingFile { file, stat }| Box::new(file.take(size_of(&stat))) as Box<dyn Read + Send>);
    PreImage {
        path: at.path().to_owned(),
        content,
        mode,
        after,
        created_directories: parent.created_paths(),
        metadata_from: None,
        modified,
    }
}

/// The permissions that are kept. The bits that lend an owner's power stay only with that owner.
pub(super) const PERMISSIONS: Mode = Mode::RWXU.union(Mode::RWXG).union(Mode::RWXO).union(Mode::SUID).union(Mode::SGID).union(Mode::SVTX);

/// The permissions of a file.
pub(super) fn permissions(stat: &Stat) -> Mode {
    Mode::from_raw_mode(stat.st_mode) & PERMISSIONS
}

#[allow(clippy::useless_conversion)] // narrower on other systems
fn bits(mode: Mode) -> u32 {
    mode.as_raw_mode().into()
}
