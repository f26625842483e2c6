//! What tells that the names in a folder are still those that were read.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The clock of a file system is coarser than ours: a folder that changed this shortly before it was read may change again
/// without another time.
const SETTLED: Duration = Duration::from_millis(50);

/// Device, inode and change time of a folder. No program can set the change time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderStamp {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

impl FolderStamp {
    /// Of a folder, looked at before its names are read.
    pub fn from_metadata(folder: &Metadata) -> Self {
        Self { device: folder.dev(), inode: folder.ino(), changed: (folder.ctime(), folder.ctime_nsec()) }
    }

    /// The same from the system call.
    #[allow(clippy::useless_conversion, reason = "the types of these fields differ between systems")]
    pub(crate) fn from_stat(folder: &rustix::fs::Stat) -> Self {
        let changed = (folder.st_ctime.into(), i64::try_from(folder.st_ctime_nsec).unwrap_or_default());
        Self { device: u64::try_from(folder.st_dev).unwrap_or_default(), inode: folder.st_ino.into(), changed }
    }

    /// Whether every later change has another stamp, given the time at which the names were read.
    pub fn is_settled(&self, now: SystemTime) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let since_epoch = Duration::new(u64::try_from(seconds).unwrap_or_default(), u32::try_from(nanoseconds).unwrap_or_default());
        now.duration_since(UNIX_EPOCH + since_epoch).is_ok_and(|age| age > SETTLED)
    }
}
