//! Putting a file back as it was before a change.

use std::io::Read;
use std::path::{Path, PathBuf};

use haft_contract::{Location, PreImage, ToolError};
use rustix::fs::{AtFlags, Mode, RawMode, unlinkat};
use rustix::io::Errno;

use super::blocking::Stop;
use super::delete::unlink;
use super::draft::Draft;
use super::errors::{self, Deed, failed};
use super::parent::Parent;
use super::reader::PIECE;
use super::roots::Place;
use super::target::{self, Target};

/// Puts a file back, and removes the directories that the change made.
pub(super) fn restore(at: &Location, image: PreImage, stop: Stop) -> Result<(), ToolError> {
    errors::check_writable(at)?;
    match image.content {
        Some(content) => put_back(at, content, image.mode, stop)?,
        None => take_away(at)?,
    }
    remove_empty(at, &image.created_directories)
}

fn put_back(at: &Location, content: Box<dyn Read + Send>, mode: Option<u32>, stop: Stop) -> Result<(), ToolError> {
    let fail = |errno| failed(Deed::Write, at, errno);
    let place = Place::of(at)?;
    let name = target::name_of(place, at)?;
    let parent = Parent::open_or_make(place).map_err(fail)?;
    let before = Target::find(&parent, name, at, Deed::Write)?.map(|target| target.stat);
    let mut draft = Draft::begin(parent, name, stop).map_err(fail)?;
    copy(content, &mut draft, at)?;
    let most = before.as_ref().map_or(Ok(target::PERMISSIONS), |before| draft.inherit(before)).map_err(fail)?;
    draft.seal(mode.map(|mode| permissions(mode) & most)).map_err(fail)?;
    draft.place(at, before.as_ref())
}

fn copy(mut content: Box<dyn Read + Send>, draft: &mut Draft, at: &Location) -> Result<(), ToolError> {
    let mut buffer = vec![0; PIECE];
    loop {
        match content.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => draft.add(&buffer[..count]).map_err(|errno| failed(Deed::Write, at, errno))?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                let message = format!("What was kept of '{}' cannot be read: {error}; the file is unchanged.", at.display);
                return Err(ToolError::execution(message).with_source(error));
            }
        }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::unnecessary_cast)] // narrower on other systems
fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode(mode as RawMode)
}

fn take_away(at: &Location) -> Result<(), ToolError> {
    let place = Place::of(at)?;
    let name = target::name_of(place, at)?;
    let parent = match Parent::open(place) {
        Err(Errno::NOENT) => return Ok(()),
        answer => answer.map_err(|errno| failed(Deed::Remove, at, errno))?,
    };
    match Target::find(&parent, name, at, Deed::Remove)? {
        Some(_) => unlink(&parent, name, at),
        None => Ok(()),
    }
}

/// Removes the directories that a change made, innermost first, as long as they are empty.
fn remove_empty(at: &Location, created: &[PathBuf]) -> Result<(), ToolError> {
    let place = Place::of(at)?;
    for directory in created.iter().rev().filter(|directory| is_above(directory, &at.path)) {
        match remove_directory(place, directory) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) => return Ok(()),
            Err(errno) => return Err(failed(Deed::Remove, at, errno)),
        }
    }
    Ok(())
}

fn is_above(directory: &Path, path: &Path) -> bool {
    directory != path && path.starts_with(directory)
}

fn remove_directory(place: &Place, directory: &Path) -> Result<(), Errno> {
    let beneath = directory.strip_prefix(place.root.path()).map_err(|_| Errno::XDEV)?;
    let name = beneath.file_name().ok_or(Errno::BUSY)?;
    let parent = Parent::open(&Place { root: place.root.clone(), beneath: beneath.to_owned() })?;
    unlinkat(parent.handle(), name, AtFlags::REMOVEDIR)
}
