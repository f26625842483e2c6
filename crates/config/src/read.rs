//! Reading a configuration file: a regular file, of a sane size, in UTF-8.

#![allow(clippy::disallowed_types, reason = "the bans are for tools: this reads what the person configured, before any tool runs")]

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Larger than any configuration that a person writes.
const MAX_BYTES: u64 = 1 << 20;

/// The text of a file; `None` if there is none.
pub(crate) fn read(path: &Path) -> Result<Option<String>, String> {
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound && path.symlink_metadata().is_ok() => {
            return Err("it is a symbolic link to nothing".into());
        }
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    // Judged on the open file, so that nothing can take its place in between.
    let kind = file.metadata().map_err(|error| error.to_string())?.file_type();
    if !kind.is_file() {
        return Err(format!("it is {}, not a file", if kind.is_dir() { "a folder" } else { "a pipe, a socket or a device" }));
    }
    contents(file).map(Some)
}

fn contents(file: File) -> Result<String, String> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("it is larger than {MAX_BYTES} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|error| format!("it is not UTF-8 at byte {}", error.utf8_error().valid_up_to()))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

#[cfg(unix)]
fn open(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    // A pipe without a writer would otherwise be waited for.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).open(path)
}
