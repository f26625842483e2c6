//! The removal of a folder that is a mount point: the host takes away what lies beneath the mount, and the mount goes with it.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::Place;
use crate::removals::{LONGEST_PATH, REMOVED};
use crate::seccomp::{CallAnswer, ListenedCall, WaitingCall};

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// `rmdir`, and `unlinkat` of a folder.
const OF_FOLDERS: ListenedCall = ListenedCall { number: libc::SYS_unlinkat, only_with: Some((2, libc::AT_REMOVEDIR.unsigned_abs())) };
#[cfg(target_arch = "x86_64")]
pub(super) const CALLS: &[ListenedCall] = &[OF_FOLDERS, ListenedCall { number: libc::SYS_rmdir, only_with: None }];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const CALLS: &[ListenedCall] = &[OF_FOLDERS];

pub(super) fn is_one(call: &WaitingCall) -> bool {
    CALLS.iter().any(|listened| listened.number == call.number)
}

/// Removes the folder with the rights of the command, and asks the host if a mount is in the way.
pub(super) fn answer(call: &WaitingCall, host: &mut UnixStream) -> CallAnswer {
    let [first, second, ..] = call.arguments;
    let here = i64::from(libc::AT_FDCWD).cast_unsigned();
    let (folder, path) = if call.number == libc::SYS_unlinkat { (first, second) } else { (here, first) };
    // The kernel then says what is wrong with the arguments.
    let Ok(place) = Place::from_arguments(call.process, folder, path) else { return CallAnswer::Carry };
    CallAnswer::Result(match rustix::fs::unlinkat(&place.folder, &place.path, AtFlags::REMOVEDIR) {
        Err(Errno::BUSY) if ask(&place, host).unwrap_or_default() => Ok(()),
        other => other,
    })
}

fn ask(place: &Place, host: &mut UnixStream) -> io::Result<bool> {
    let folder = rustix::fs::openat(&place.folder, &place.path, FOLDER, Mode::empty())?;
    let path: PathBuf = fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()))?;
    let text = path.as_os_str().as_bytes();
    let length = u16::try_from(text.len()).ok().filter(|length| usize::from(*length) <= LONGEST_PATH);
    let length = length.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidFilename))?;
    host.write_all(&[&length.to_be_bytes(), text].concat())?;
    let mut answer = [0];
    host.read_exact(&mut answer)?;
    Ok(answer == REMOVED)
}
