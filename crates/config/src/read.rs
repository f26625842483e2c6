//! Reading a configuration file: a regular file, of a sane size, in UTF-8.

#![allow(clippy::disallowed_types, reason = "the bans are for tools: this reads the configuration, before any tool runs")]

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Larger files are refused.
pub(crate) const MAX_BYTES: u64 = 1 << 20;

/// The folder of a project's file in the workspace.
pub(crate) const PROJECT_FOLDER: &str = ".haft";
/// A project's file, in that folder.
pub(crate) const PROJECT_FILE: &str = "config.toml";

/// The text of the user's file, which may be a link; `None` if there is none.
pub(crate) fn read(path: &Path) -> Result<Option<String>, String> {
    match open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && is_link(path) => Err("it is a symbolic link to nothing".into()),
        opened => text(opened),
    }
}

/// The text of a project's file; `None` if there is none. Links are refused: one could lead to a private file, whose lines
/// a report would then show.
pub(crate) fn read_project(workspace: &Path) -> Result<Option<String>, String> {
    let folder = workspace.join(PROJECT_FOLDER);
    let links = [(folder.clone(), "its folder"), (folder.join(PROJECT_FILE), "it")];
    if let Some((_, what)) = links.iter().find(|(path, _)| is_link(path)) {
        return Err(format!("{what} is a symbolic link, which a project's file is not allowed to be"));
    }
    text(open_unlinked(&folder))
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink())
}

/// The bytes of a file, no more than so many; `None` if there is none.
pub(crate) fn bytes(path: &Path, most: u64) -> Result<Option<Vec<u8>>, String> {
    regular(open(path))?.map(|file| at_most(file, most)).transpose()
}

fn text(opened: std::io::Result<File>) -> Result<Option<String>, String> {
    regular(opened)?.map(contents).transpose()
}

fn regular(opened: std::io::Result<File>) -> Result<Option<File>, String> {
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    // Checked on the open file, so that nothing can replace it in between.
    let kind = file.metadata().map_err(|error| error.to_string())?.file_type();
    if !kind.is_file() {
        return Err(format!("it is {}, not a file", if kind.is_dir() { "a folder" } else { "a pipe, a socket or a device" }));
    }
    Ok(Some(file))
}

fn at_most(file: File, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > most { Err(format!("it is larger than {most} bytes")) } else { Ok(bytes) }
}

fn contents(file: File) -> Result<String, String> {
    let bytes = at_most(file, MAX_BYTES)?;
    String::from_utf8(bytes).map_err(|error| format!("it is not UTF-8 at byte {}", error.utf8_error().valid_up_to()))
}

/// The text after a byte order mark, and whether there was one.
pub(crate) fn without_bom(text: &str) -> (&str, bool) {
    text.strip_prefix('\u{feff}').map_or((text, false), |rest| (rest, true))
}

#[cfg(unix)]
fn open(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    // Opening a pipe without a writer would block.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Opens the file in a folder without following links, also if one was created after the check.
#[cfg(unix)]
fn open_unlinked(folder: &Path) -> std::io::Result<File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let common = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(CWD, folder, common | OFlags::DIRECTORY, Mode::empty())?;
    let file = openat(&folder, PROJECT_FILE, common | OFlags::NONBLOCK, Mode::empty())?;
    Ok(File::from(file))
}

#[cfg(not(unix))]
fn open_unlinked(folder: &Path) -> std::io::Result<File> {
    open(&folder.join(PROJECT_FILE))
}

#[cfg(not(unix))]
fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).open(path)
}
