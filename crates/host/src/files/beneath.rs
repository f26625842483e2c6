//! Opening a path beneath a root, without ever following a symbolic link.
//!
//! Where the kernel can do it in one call (`openat2`), it does; where it cannot, the path is walked name by name, each
//! opened from the handle of the one before. Both give a handle beneath the root or an error, whatever is swapped
//! for a link meanwhile.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::roots::Root;

/// How often something that another hand disturbs is tried again.
const ATTEMPTS: usize = 16;

/// How a path is opened beneath a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// By the kernel in one call, where it can.
    Kernel,
    /// Name by name.
    Walk,
}

/// A handle that only names a directory, where the system has such handles: no right to read it is needed.
#[cfg(any(target_os = "linux", target_os = "android"))]
const HANDLE: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const HANDLE: OFlags = OFlags::RDONLY;

/// A directory that someone may have chosen through a link.
pub(super) const CHOSEN_DIRECTORY: OFlags = HANDLE.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// A directory, itself.
pub(super) const DIRECTORY: OFlags = CHOSEN_DIRECTORY.union(OFlags::NOFOLLOW);
/// A file to read. A pipe without a writer must not block, nor a terminal become ours.
pub(super) const READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Opens `path` beneath `root`; [`Errno::LOOP`] says that a link is on the path.
pub(super) fn open_beneath(root: &Root, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    if root.way() == Way::Kernel
        && let Some(answer) = by_kernel(root.handle(), path, flags)
    {
        return answer;
    }
    by_walk(root.handle(), path, flags)
}

/// Opens one name of a directory; [`Errno::LOOP`] says that it is a link, or is never the same for two looks.
pub(super) fn open_name(directory: impl AsFd, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    for _ in 0..ATTEMPTS {
        match openat(&directory, name, flags, Mode::empty()) {
            // Systems disagree on what a link that is not followed counts as.
            Err(errno @ (Errno::NOTDIR | Errno::MLINK)) => match kind(&directory, name) {
                Some(FileType::Symlink) => return Err(Errno::LOOP),
                Some(FileType::Directory) => {}
                _ => return Err(errno),
            },
            Err(Errno::INTR) => {}
            answer => return answer,
        }
    }
    Err(Errno::LOOP)
}

fn kind(directory: impl AsFd, name: &OsStr) -> Option<FileType> {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| FileType::from_raw_mode(stat.st_mode))
}

/// How the kernel opens a resolved path: beneath the root, following no link. `cached` opens by it too.
#[cfg(target_os = "linux")]
pub(super) const NO_LINKS: rustix::fs::ResolveFlags = {
    use rustix::fs::ResolveFlags;
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS)
};

/// The kernel's answer, or `None` where the walk must find it.
///
/// Not on Android: there the filter around an app ends the process for trying.
#[cfg(target_os = "linux")]
fn by_kernel(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Option<Result<OwnedFd, Errno>> {
    use rustix::fs::openat2;

    for _ in 0..ATTEMPTS {
        match openat2(root, path, flags, Mode::empty(), NO_LINKS) {
            // A rename elsewhere disturbed the kernel, or a signal did.
            Err(Errno::AGAIN | Errno::INTR) => {}
            // An old kernel, or a filter that does not know the call; or a link that only the walk can tell from a file.
            Err(Errno::NOSYS | Errno::PERM | Errno::NOTDIR) => return None,
            answer => return Some(answer),
        }
    }
    None
}

#[cfg(not(target_os = "linux"))]
fn by_kernel(_root: BorrowedFd<'_>, _path: &Path, _flags: OFlags) -> Option<Result<OwnedFd, Errno>> {
    None
}

fn by_walk(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut names = path.components().peekable();
    let mut directory: Option<OwnedFd> = None;
    while let Some(name) = names.next() {
        let here = directory.as_ref().map_or(root, AsFd::as_fd);
        let flags = if names.peek().is_some() { DIRECTORY } else { flags };
        directory = Some(open_name(here, name.as_os_str(), flags)?);
    }
    directory.ok_or(Errno::INVAL)
}
