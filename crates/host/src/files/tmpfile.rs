//! Files that have no name until they are whole, on systems that have such files.

use std::ffi::OsStr;
use std::fs::File;

use rustix::fs::Mode;
use rustix::io::Errno;

use super::parent::Parent;

/// Makes a file of a directory's file system that no name leads to; `None` where that cannot be, or it could get no name.
///
/// Not on Android: there no app may give one a name.
#[cfg(target_os = "linux")]
pub(super) fn create(parent: &Parent, mode: Mode) -> Option<File> {
    use rustix::fs::{OFlags, openat, stat};

    if parent.way() != super::beneath::Way::Kernel {
        return None;
    }
    // Whatever is wrong, a file with a name has the same trouble, and tells it.
    let file = openat(parent.handle(), ".", OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode).map(File::from).ok()?;
    stat(descriptor(&file)).is_ok().then_some(file)
}

/// Gives such a file a name that nothing has; [`Errno::NOENT`] says that the directory is gone.
#[cfg(target_os = "linux")]
pub(super) fn link(file: &File, parent: &Parent, name: &OsStr) -> Result<(), Errno> {
    use rustix::fs::{AtFlags, CWD, linkat};

    linkat(CWD, descriptor(file), parent.handle(), name, AtFlags::SYMLINK_FOLLOW)
}

/// The kernel's own name for an open file: to name one by its handle alone needs a right that few have.
#[cfg(target_os = "linux")]
fn descriptor(file: &File) -> String {
    use std::os::fd::AsRawFd;

    format!("/proc/self/fd/{}", file.as_raw_fd())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn create(_parent: &Parent, _mode: Mode) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(super) fn link(_file: &File, _parent: &Parent, _name: &OsStr) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}
