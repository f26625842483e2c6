//! What a mount is made on must be what was searched: another command may move folders meanwhile. Once something is mounted on it, the
//! mount stays on it wherever it is moved.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::MOVED;
use super::step::StepFailure;

/// How long something that was moved is waited for: it may come back, and another search takes longer.
const WAIT: Duration = Duration::from_millis(50);
const PAUSE: Duration = Duration::from_micros(100);

/// Device and inode.
pub(crate) type TargetIdentity = (u64, u64);

/// Opens a path until what is there is what was expected.
pub(crate) fn open_expected(
    path: &Path,
    expected: TargetIdentity,
    open: impl Fn() -> rustix::io::Result<OwnedFd>,
) -> Result<OwnedFd, StepFailure> {
    let end = Instant::now() + WAIT;
    loop {
        if let Ok(handle) = open()
            && identity(&handle).is_ok_and(|found| found == expected)
        {
            return Ok(handle);
        }
        if Instant::now() > end {
            return Err(fail_as_moved(path));
        }
        thread::sleep(PAUSE);
    }
}

/// What a handle leads to.
pub(crate) fn identity(handle: &OwnedFd) -> rustix::io::Result<TargetIdentity> {
    rustix::fs::fstat(handle).map(|found| (found.st_dev, found.st_ino))
}

/// The failure after which the sandbox is set up anew.
pub(crate) fn fail_as_moved(path: &Path) -> StepFailure {
    let message = format!("the workspace moved while the sandbox was set up: {} is missing or something else now", path.display());
    StepFailure { code: MOVED, message }
}
