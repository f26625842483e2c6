//! Values as both databases keep them: times and durations as nanoseconds, paths as bytes, numbers with a sign.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

pub(super) fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

pub(super) fn path(bytes: Vec<u8>) -> PathBuf {
    OsString::from_vec(bytes).into()
}

/// Paths hold no NUL, so it can end each.
pub(super) fn joined(paths: &[PathBuf]) -> Vec<u8> {
    paths.iter().flat_map(|path| [bytes(path), b"\0"]).flatten().copied().collect()
}

pub(super) fn split(joined: &[u8]) -> Vec<PathBuf> {
    let Some(paths) = joined.strip_suffix(b"\0") else { return Vec::new() };
    paths.split(|byte| *byte == 0).map(|bytes| path(bytes.to_vec())).collect()
}

pub(super) fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

pub(super) fn nanoseconds_since_1970(time: SystemTime) -> i64 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => nanoseconds(after),
        Err(before) => -nanoseconds(before.duration()),
    }
}

pub(super) fn time(nanoseconds: i64) -> SystemTime {
    let distance = Duration::from_nanos(nanoseconds.unsigned_abs());
    if nanoseconds < 0 { SystemTime::UNIX_EPOCH - distance } else { SystemTime::UNIX_EPOCH + distance }
}

/// Databases count with a sign. What does not fit is no number that occurs.
pub(super) fn integer<T: TryInto<i64>>(number: T) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
