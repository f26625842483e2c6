//! Attributes of a mount and of all mounts beneath it, by one call.
#![expect(
    unsafe_code,
    reason = "the call exists in no crate without unsafe; without it each mount beneath has to be found and changed alone"
)]

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;
use rustix::mount::MountAttrFlags;

/// Which mounts change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MountScope {
    /// This one.
    One,
    /// This one and all beneath it.
    Tree,
}

/// Adds attributes to a mount, whose root the handle names.
pub(super) fn add(mount: BorrowedFd<'_>, attributes: MountAttrFlags, scope: MountScope) -> rustix::io::Result<()> {
    let settings = libc::mount_attr { attr_set: u64::from(attributes.bits()), attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = libc::AT_EMPTY_PATH | if scope == MountScope::Tree { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the handle is open, the path is empty and ends with zero, and the settings live until the call returns, with their size.
    let answer = unsafe {
        libc::syscall(libc::SYS_mount_setattr, mount.as_raw_fd(), c"".as_ptr(), flags, &raw const settings, size_of::<libc::mount_attr>())
    };
    if answer == 0 { Ok(()) } else { Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)) }
}
