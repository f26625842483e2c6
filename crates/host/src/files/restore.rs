//! Putting a file back as it was before a change.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use haft_contract::{
    ErrorKind, Location, ToolError,
    ports::{Journal, PreImage},
};
use rustix::fs::{AtFlags, Mode, RawMode, unlinkat};
use rustix::io::Errno;

use super::blocking::{Stop, blocking};
use super::change::change;
use super::delete::Removal;
use super::errors::{self, FileAction, failed};
use super::fingerprint;
use super::parent::Parent;
use super::pending_write::PendingWrite;
use super::reader::PIECE;
use super::roots::RootedPath;
use super::special_entry::{self, RestoredEntry};
use super::target::{self, ExistingFile};
use super::temporary_file::TemporaryFile;

/// Puts a file back, if it still is what the change left, and removes the directories that the change made.
pub(super) async fn restore(at: Location, image: PreImage, journal: &dyn Journal) -> Result<(), ToolError> {
    let PreImage { content, mode, after, created_directories, metadata_from, modified, .. } = image;
    let there = at.clone();
    let wanted = RestoredEntry::from_content(content, mode)?;
    let kind = wanted.kind();
    let after = special_entry::make_way(&at, kind, after, journal).await?;
    match wanted {
        RestoredEntry::Link(target) => special_entry::link(there, target, after, journal).await?,
        RestoredEntry::Directory(mode) => special_entry::directory(there, mode, after, journal).await?,
        RestoredEntry::File(content, mode) => {
            let old = Old { content, mode, metadata_from, modified };
            change(journal, move |stop| put_back(&there, old, after.as_deref(), &stop)).await?;
        }
        RestoredEntry::Nothing => {
            let here = at.clone();
            if after.is_some() || !blocking(move || Ok(has_no_folder(&here))).await? {
                take_away(there, after, journal).await?;
            }
        }
    }
    blocking(move || remove_empty(&at, &created_directories)).await
}

/// Whether nothing can be at a location, because a file or a link is back in the place of a folder above it.
fn has_no_folder(at: &Location) -> bool {
    RootedPath::from_location(at).is_ok_and(|place| matches!(Parent::open(place).err(), Some(Errno::NOTDIR | Errno::LOOP)))
}

/// What a file held, and its permissions.
struct Old {
    content: Box<dyn Read + Send>,
    mode: Option<u32>,
    metadata_from: Option<PathBuf>,
    modified: Option<SystemTime>,
}

fn put_back(at: &Location, old: Old, after: Option<&str>, stop: &Stop) -> Result<(PendingWrite, PreImage), ToolError> {
    errors::check_writable(at)?;
    let fail = |errno| failed(FileAction::Write, at, errno);
    let place = RootedPath::from_location(at)?;
    let name = target::name_of(place, at)?;
    let parent = Parent::open_or_make(place).map_err(fail)?;
    let before = ExistingFile::find(&parent, name, at, FileAction::Write)?;
    check_left(before.as_ref().map(|target| &target.file), after, at, stop)?;
    let mut draft = TemporaryFile::begin(parent, name, stop.clone()).map_err(fail)?;
    copy(old.content, &mut draft, at)?;
    let most = before.as_ref().map_or(Ok(target::PERMISSIONS), |before| draft.inherit(&before.stat)).map_err(fail)?;
    if let Some(before) = &before {
        draft.take_attributes(&before.file);
    }
    if let Some(source) = &old.metadata_from {
        draft.carry_over(source);
    }
    if let Some(modified) = old.modified {
        draft.set_modified(modified);
    }
    let new = draft.finalize(old.mode.map(|mode| permissions(mode) & most)).map_err(fail)?;
    Ok(PendingWrite::new(at, before, draft, new))
}

/// Whether what is there is what the change left; seen through the handle whose file is replaced or nothing is.
fn check_left(now: Option<&File>, after: Option<&str>, at: &Location, stop: &Stop) -> Result<(), ToolError> {
    let now = now.map(|file| fingerprint::of_file(file, stop)).transpose().map_err(|errno| failed(FileAction::Read, at, errno))?;
    if now.as_deref() == after { Ok(()) } else { Err(errors::changed_since(at)) }
}

fn copy(mut content: Box<dyn Read + Send>, draft: &mut TemporaryFile, at: &Location) -> Result<(), ToolError> {
    let mut buffer = vec![0; PIECE];
    loop {
        match fingerprint::next_piece(&mut content, &mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => draft.add(&buffer[..count]).map_err(|errno| failed(FileAction::Write, at, errno))?,
            Err(error) => {
                let message = format!("What was kept of '{}' cannot be read: {error}; the file is unchanged.", at.display());
                return Err(ToolError::execution(message).with_source(error));
            }
        }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::unnecessary_cast)] // narrower on other systems
fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode(mode as RawMode)
}

pub(super) async fn take_away(at: Location, after: Option<String>, journal: &dyn Journal) -> Result<(), ToolError> {
    let (there, expected) = (at.clone(), after.clone());
    let prepare = move |stop: Stop| {
        let watch = stop.clone();
        let look = |file: &File| check_left(Some(file), expected.as_deref(), &there, &watch);
        Removal::prepare(there.clone(), stop, look)
    };
    match change(journal, prepare).await {
        Err(error) if error.kind() == ErrorKind::FileNotFound && after.is_none() => Ok(()),
        Err(error) if error.kind() == ErrorKind::FileNotFound => Err(errors::changed_since(&at)),
        answer => answer.map(drop),
    }
}

/// Removes the directories that a change made, innermost first, as long as they are empty.
fn remove_empty(at: &Location, created: &[PathBuf]) -> Result<(), ToolError> {
    let place = RootedPath::from_location(at)?;
    for directory in created.iter().rev().filter(|directory| is_above(directory, at.path())) {
        match remove_directory(place, directory) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) => return Ok(()),
            Err(errno) => return Err(failed(FileAction::Remove, at, errno)),
        }
    }
    Ok(())
}

fn is_above(directory: &Path, path: &Path) -> bool {
    directory != path && path.starts_with(directory)
}

fn remove_directory(place: &RootedPath, directory: &Path) -> Result<(), Errno> {
    let beneath = directory.strip_prefix(place.root.path()).map_err(|_| Errno::XDEV)?;
    let name = beneath.file_name().ok_or(Errno::BUSY)?;
    let parent = Parent::open(&RootedPath { root: place.root.clone(), beneath: beneath.to_owned() })?;
    unlinkat(parent.handle(), name, AtFlags::REMOVEDIR)
}
