//! Links and directories themselves: what is there, and putting one there or taking it away, with the journal as for files.

use std::ffi::OsString;
use std::io::{Cursor, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use haft_contract::{
    EntryKind, Location, ToolError,
    ports::{Journal, PreImage},
};
use haft_text::hex;
use ring::digest::{SHA256, digest};
use rustix::fs::{AtFlags, FileType, Mode, RawMode, Stat, chmodat, fstat, mkdirat, readlinkat, symlinkat, unlinkat};
use rustix::io::Errno;

use super::blocking::{Stop, blocking};
use super::change::{ChangeStep, Outcome, change};
use super::errors::{self, FileAction, failed};
use super::fingerprint;
use super::parent::Parent;
use super::restore::take_away;
use super::roots::RootedPath;
use super::target;

/// Where a link leads is at most this long.
const LONGEST_TARGET: u64 = 4096;
/// The word for a link that leads there.
pub fn link_state(target: &Path) -> Option<String> {
    PreImage::state(Some(PreImage::LINK), Some(hex::encode(digest(&SHA256, target.as_os_str().as_bytes()))))
}

/// The word for a directory with these permissions.
pub fn directory_state(mode: u32) -> Option<String> {
    PreImage::state(Some(PreImage::DIRECTORY | mode & PreImage::PERMISSIONS), None)
}

/// What is at a location, in a word.
pub(super) fn state(at: &Location, stop: &Stop) -> Result<Option<String>, ToolError> {
    let fail = |errno| failed(FileAction::Look, at, errno);
    let place = RootedPath::from_location(at)?;
    let Some(name) = place.beneath.file_name() else {
        return fstat(place.root.handle()).map(|stat| directory_state(bits(&stat))).map_err(fail);
    };
    let parent = match Parent::open(place) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        parent => parent.map_err(fail)?,
    };
    let Some(stat) = parent.status(name).map_err(fail)? else { return Ok(None) };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => readlinkat(parent.handle(), name, Vec::new())
            .map(|target| link_state(&PathBuf::from(OsString::from_vec(target.into_bytes()))))
            .map_err(fail),
        FileType::Directory => Ok(directory_state(bits(&stat))),
        _ => fingerprint::fingerprint(at, stop),
    }
}

#[allow(clippy::useless_conversion)] // narrower on other systems
fn bits(stat: &Stat) -> u32 {
    stat.st_mode.into()
}

type EntryContent = Box<dyn Read + Send>;

/// What is to be there.
pub(super) enum RestoredEntry {
    Nothing,
    File(EntryContent, Option<u32>),
    Link(PathBuf),
    Directory(u32),
}

impl RestoredEntry {
    pub(super) fn from_content(content: Option<EntryContent>, mode: Option<u32>) -> Result<Self, ToolError> {
        match (mode.map(|mode| mode & PreImage::KIND), content) {
            (Some(PreImage::DIRECTORY), _) => Ok(Self::Directory(mode.unwrap_or_default() & PreImage::PERMISSIONS)),
            (Some(PreImage::LINK), Some(content)) => target_in(content).map(Self::Link),
            (_, Some(content)) => Ok(Self::File(content, mode)),
            (_, None) => Ok(Self::Nothing),
        }
    }
}

impl RestoredEntry {
    /// What kind of entry; nothing is as good as a file.
    pub(super) fn kind(&self) -> EntryKind {
        match self {
            Self::Link(_) => EntryKind::Link,
            Self::Directory(_) => EntryKind::Directory,
            Self::File(..) | Self::Nothing => EntryKind::File,
        }
    }
}

fn target_in(content: EntryContent) -> Result<PathBuf, ToolError> {
    let mut target = Vec::new();
    content.take(LONGEST_TARGET).read_to_end(&mut target).map_err(|error| {
        ToolError::execution(format!("Where a link is to lead cannot be read: {error}; it was not made.")).with_source(error)
    })?;
    Ok(PathBuf::from(OsString::from_vec(target)))
}

/// Takes away what is of another kind than what is wanted; says what is there then.
pub(super) async fn make_way(
    at: &Location,
    wanted: EntryKind,
    after: Option<String>,
    journal: &dyn Journal,
) -> Result<Option<String>, ToolError> {
    match (after.as_deref().map(PreImage::kind_of), wanted) {
        (Some(EntryKind::Directory), EntryKind::Directory) => Ok(after),
        (Some(EntryKind::Link | EntryKind::Directory), _) => remove(at.clone(), after, journal).await.map(|()| None),
        (Some(_), EntryKind::Link | EntryKind::Directory) => take_away(at.clone(), after, journal).await.map(|()| None),
        _ => Ok(after),
    }
}

/// Removes a link that is there.
pub(super) async fn remove_link(at: Location, journal: &dyn Journal) -> Result<(), ToolError> {
    let there = at.clone();
    let target = blocking(move || target_of(&there)).await?;
    remove(at, link_state(&target), journal).await
}

/// Makes a link as another one, where nothing is.
pub(super) async fn copy_link(from: Location, to: Location, journal: &dyn Journal) -> Result<(), ToolError> {
    let target = blocking(move || target_of(&from)).await?;
    link(to, target, None, journal).await
}

/// Where a link leads, as it says itself.
fn target_of(at: &Location) -> Result<PathBuf, ToolError> {
    let place = RootedPath::from_location(at)?;
    let name = target::name_of(place, at)?;
    let target = Parent::open(place).and_then(|parent| readlinkat(parent.handle(), name, Vec::new()));
    match target {
        Ok(target) => Ok(PathBuf::from(OsString::from_vec(target.into_bytes()))),
        Err(Errno::INVAL) => Err(errors::changed_meanwhile(at)),
        Err(errno) => Err(failed(FileAction::Look, at, errno)),
    }
}

async fn remove(at: Location, after: Option<String>, journal: &dyn Journal) -> Result<(), ToolError> {
    change(journal, move |stop| Entry::prepare(at, EntryChange::Removed, after.as_deref(), stop)).await.map(drop)
}

/// Makes a link, where `after` says what is there.
pub(super) async fn link(at: Location, target: PathBuf, after: Option<String>, journal: &dyn Journal) -> Result<(), ToolError> {
    change(journal, move |stop| Entry::prepare(at, EntryChange::Link(target), after.as_deref(), stop)).await.map(drop)
}

/// Makes a directory, or gives one its permissions.
pub(super) async fn directory(at: Location, mode: u32, after: Option<String>, journal: &dyn Journal) -> Result<(), ToolError> {
    let what = if after.is_some() { EntryChange::Mode(mode) } else { EntryChange::Directory(mode) };
    change(journal, move |stop| Entry::prepare(at, what, after.as_deref(), stop)).await.map(drop)
}

enum EntryChange {
    Removed,
    Link(PathBuf),
    Directory(u32),
    Mode(u32),
}

impl EntryChange {
    fn state(&self) -> Option<String> {
        match self {
            Self::Removed => None,
            Self::Link(target) => link_state(target),
            Self::Directory(mode) | Self::Mode(mode) => directory_state(*mode),
        }
    }
}

/// A change of an entry that only has to be done.
struct Entry {
    at: Location,
    parent: Parent,
    name: OsString,
    what: EntryChange,
    is_directory: bool,
    stop: Stop,
}

impl Entry {
    fn prepare(at: Location, what: EntryChange, after: Option<&str>, stop: Stop) -> Result<(Self, PreImage), ToolError> {
        errors::check_writable(&at)?;
        if state(&at, &stop)?.as_deref() != after {
            return Err(errors::changed_since(&at));
        }
        let fail = |errno| failed(FileAction::Write, &at, errno);
        let place = RootedPath::from_location(&at)?;
        let name = target::name_of(place, &at)?.to_owned();
        let parent = Parent::open_or_make(place).map_err(fail)?;
        let (content, mode) = was(&parent, &name).map_err(fail)?;
        let is_directory = mode.is_some_and(|mode| mode & PreImage::KIND == PreImage::DIRECTORY);
        let image = PreImage {
            path: at.path().to_owned(),
            content,
            mode,
            after: what.state(),
            created_directories: parent.created_paths(),
            metadata_from: None,
            modified: None,
        };
        Ok((Self { at, parent, name, what, is_directory, stop }, image))
    }

    fn try_take(&self) -> Result<(), Errno> {
        self.stop.check()?;
        let (parent, name) = (self.parent.handle(), &self.name);
        match &self.what {
            EntryChange::Removed if self.is_directory => unlinkat(parent, name, AtFlags::REMOVEDIR),
            EntryChange::Removed => unlinkat(parent, name, AtFlags::empty()),
            EntryChange::Link(target) => symlinkat(target, parent, name),
            EntryChange::Directory(mode) => {
                mkdirat(parent, name, Mode::RWXU).and_then(|()| chmodat(parent, name, raw(*mode), AtFlags::empty()))
            }
            EntryChange::Mode(mode) => chmodat(parent, name, raw(*mode), AtFlags::empty()),
        }
    }
}

/// What is there, as it is kept.
fn was(parent: &Parent, name: &OsString) -> Result<(Option<EntryContent>, Option<u32>), Errno> {
    let Some(stat) = parent.status(name)? else { return Ok((None, None)) };
    if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
        return Ok((None, Some(PreImage::DIRECTORY | bits(&stat) & PreImage::PERMISSIONS)));
    }
    let target = readlinkat(parent.handle(), name, Vec::new())?.into_bytes();
    Ok((Some(Box::new(Cursor::new(target))), Some(PreImage::LINK)))
}

#[allow(clippy::cast_possible_truncation, clippy::unnecessary_cast)] // narrower on other systems
fn raw(mode: u32) -> Mode {
    Mode::from_raw_mode(mode as RawMode)
}

impl ChangeStep for Entry {
    fn take(mut self) -> Outcome<Self> {
        match self.try_take() {
            Ok(()) => {
                self.parent.settle();
                Outcome::from_sync(self.parent.sync(), &self.at)
            }
            Err(errno) => Outcome::NotDone(failed(FileAction::Write, &self.at, errno)),
        }
    }
}
