//! Writing, removing and putting back.
//!
//! A change has two halves, with the journal between them: first everything that can fail without a trace, then the
//! one step that counts. Dropped anywhere before that step, nothing has happened.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use haft_contract::{Journal, Location, PreImage, ToolError, WriteMode, Written};
use rustix::fs::{AtFlags, Mode, Stat, unlinkat};
use rustix::io::Errno;

use super::blocking::{Call, Stop, blocking};
use super::draft::Draft;
use super::errors::{self, Deed, failed};
use super::parent::Parent;
use super::reader::PIECE;
use super::roots::Place;
use super::target::{self, Target};

/// Writes a file whole, or not at all.
pub(super) async fn write(at: &Location, content: Vec<u8>, mode: WriteMode, journal: &dyn Journal) -> Result<Written, ToolError> {
    let (_call, stop) = Call::begin();
    let bytes = content.len() as u64;
    let place = at.clone();
    let (staged, image) = blocking(move || stage(place, &content, mode, stop)).await?;
    let created = image.content.is_none();
    journal.keep(image).await?;
    blocking(move || staged.draft.place(&staged.at, staged.before.as_ref())).await?;
    Ok(Written { bytes, created })
}

/// A write that only has to be put in place.
struct Staged {
    at: Location,
    before: Option<Stat>,
    draft: Draft,
}

fn stage(at: Location, content: &[u8], mode: WriteMode, stop: Stop) -> Result<(Staged, PreImage), ToolError> {
    errors::check_writable(&at)?;
    let place = Place::of(&at)?;
    let name = target::name_of(place, &at)?;
    let parent = Parent::open_or_make(place).map_err(|errno| failed(Deed::Write, &at, errno))?;
    let before = Target::find(&parent, name, &at, Deed::Write)?;
    let (draft, after) =
        draft(parent, name.to_owned(), before.as_ref(), content, mode, stop).map_err(|errno| failed(Deed::Write, &at, errno))?;
    let stat = before.as_ref().map(|target| target.stat);
    let image = target::pre_image(&at, before, Some(after), draft.parent());
    Ok((Staged { at, before: stat, draft }, image))
}

fn draft(
    parent: Parent,
    name: OsString,
    before: Option<&Target>,
    content: &[u8],
    mode: WriteMode,
    stop: Stop,
) -> Result<(Draft, String), Errno> {
    if before.is_some() {
        target::check_permission(&parent, &name)?;
    }
    let mut draft = Draft::begin(parent, &name, stop)?;
    if let (WriteMode::Append, Some(before)) = (mode, before) {
        draft.add_file(&before.file)?;
    }
    draft.add(content)?;
    let permissions = before.map(|before| draft.inherit(&before.stat)).transpose()?;
    let after = draft.seal(permissions)?;
    Ok((draft, after))
}

/// Removes an ordinary file.
pub(super) async fn delete(at: &Location, journal: &dyn Journal) -> Result<(), ToolError> {
    let (_call, stop) = Call::begin();
    let place = at.clone();
    let (removal, image) = blocking(move || prepare_removal(place)).await?;
    journal.keep(image).await?;
    blocking(move || {
        stop.check().map_err(|errno| failed(Deed::Remove, &removal.at, errno))?;
        target::check_unchanged(&removal.parent, &removal.name, &removal.at, Some(&removal.before))?;
        unlink(&removal.parent, &removal.name, &removal.at)
    })
    .await
}

/// A removal that only has to be done.
struct Removal {
    at: Location,
    parent: Parent,
    name: OsString,
    before: Stat,
}

fn prepare_removal(at: Location) -> Result<(Removal, PreImage), ToolError> {
    errors::check_writable(&at)?;
    let place = Place::of(&at)?;
    let name = target::name_of(place, &at)?.to_owned();
    let parent = Parent::open(place).map_err(|errno| failed(Deed::Remove, &at, errno))?;
    let target = Target::find(&parent, &name, &at, Deed::Remove)?.ok_or_else(|| failed(Deed::Remove, &at, Errno::NOENT))?;
    let before = target.stat;
    let image = target::pre_image(&at, Some(target), None, &parent);
    Ok((Removal { at, parent, name, before }, image))
}

fn unlink(parent: &Parent, name: &OsString, at: &Location) -> Result<(), ToolError> {
    unlinkat(parent.handle(), name, AtFlags::empty()).map_err(|errno| failed(Deed::Remove, at, errno))?;
    parent.sync().map_err(|errno| errors::not_synced(at, errno))
}

/// Puts a file back as its pre-image has it.
pub(super) async fn restore(at: &Location, image: PreImage) -> Result<(), ToolError> {
    let (_call, stop) = Call::begin();
    let place = at.clone();
    blocking(move || {
        errors::check_writable(&place)?;
        match image.content {
            Some(content) => put_back(&place, content, image.mode, stop)?,
            None => take_away(&place)?,
        }
        remove_empty(&place, &image.created_directories)
    })
    .await
}

fn put_back(at: &Location, mut content: Box<dyn Read + Send>, mode: Option<u32>, stop: Stop) -> Result<(), ToolError> {
    let fail = |errno| failed(Deed::Write, at, errno);
    let place = Place::of(at)?;
    let name = target::name_of(place, at)?;
    let parent = Parent::open_or_make(place).map_err(fail)?;
    let before = Target::find(&parent, name, at, Deed::Write)?.map(|target| target.stat);
    let mut draft = Draft::begin(parent, name, stop).map_err(fail)?;
    let mut buffer = vec![0; PIECE];
    loop {
        match content.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => draft.add(&buffer[..count]).map_err(fail)?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(at, error)),
        }
    }
    if let Some(before) = &before {
        draft.inherit(before).map_err(fail)?;
    }
    draft.seal(mode.map(permissions)).map_err(fail)?;
    draft.place(at, before.as_ref())
}

fn unreadable(at: &Location, error: std::io::Error) -> ToolError {
    let message = format!("What was kept of '{}' cannot be read: {error}; the file is unchanged.", at.display);
    ToolError::execution(message).with_source(error)
}

#[allow(clippy::cast_possible_truncation, clippy::unnecessary_cast)] // narrower on other systems
fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode((mode & 0o777) as rustix::fs::RawMode)
}

fn take_away(at: &Location) -> Result<(), ToolError> {
    let place = Place::of(at)?;
    let name = target::name_of(place, at)?.to_owned();
    let parent = match Parent::open(place) {
        Err(Errno::NOENT) => return Ok(()),
        answer => answer.map_err(|errno| failed(Deed::Remove, at, errno))?,
    };
    match Target::find(&parent, &name, at, Deed::Remove)? {
        Some(_) => unlink(&parent, &name, at),
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
