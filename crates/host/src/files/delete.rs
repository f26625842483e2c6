//! Removing an ordinary file, after the journal has it.

use std::ffi::OsString;
use std::fs::File;

use haft_contract::{
    Location, ToolError,
    ports::{Journal, PreImage},
};
use rustix::fs::{AtFlags, Stat, unlinkat};
use rustix::io::Errno;

use super::blocking::Stop;
use super::change::{ChangeStep, Outcome, change};
use super::errors::{self, FileAction, failed};
use super::parent::Parent;
use super::roots::RootedPath;
use super::target::{self, ExistingFile};

/// Removes a file.
pub(super) async fn delete(at: Location, journal: &dyn Journal) -> Result<(), ToolError> {
    change(journal, move |stop| Removal::prepare(at, stop, |_| Ok(()))).await.map(drop)
}

/// A removal that only has to be done.
pub(super) struct Removal {
    at: Location,
    parent: Parent,
    name: OsString,
    before: Stat,
    stop: Stop,
}

impl Removal {
    /// Prepares the removal of a file that passes a look at it.
    pub(super) fn prepare(
        at: Location,
        stop: Stop,
        look: impl FnOnce(&File) -> Result<(), ToolError>,
    ) -> Result<(Self, PreImage), ToolError> {
        errors::check_writable(&at)?;
        let place = RootedPath::from_location(&at)?;
        let name = target::name_of(place, &at)?.to_owned();
        let parent = Parent::open(place).map_err(|errno| failed(FileAction::Remove, &at, errno))?;
        let target =
            ExistingFile::find(&parent, &name, &at, FileAction::Remove)?.ok_or_else(|| failed(FileAction::Remove, &at, Errno::NOENT))?;
        look(&target.file)?;
        let before = target.stat;
        let image = target::pre_image(&at, Some(target), None, &parent);
        Ok((Self { at, parent, name, before, stop }, image))
    }

    fn try_take(&self) -> Result<(), ToolError> {
        let Self { at, parent, name, before, stop } = self;
        stop.check().map_err(|errno| failed(FileAction::Remove, at, errno))?;
        target::check_unchanged(parent, name, at, Some(before))?;
        unlinkat(parent.handle(), name, AtFlags::empty()).map_err(|errno| failed(FileAction::Remove, at, errno))
    }
}

impl ChangeStep for Removal {
    fn take(self) -> Outcome<Self> {
        match self.try_take() {
            Ok(()) => Outcome::from_sync(self.parent.sync(), &self.at),
            Err(error) => Outcome::NotDone(error),
        }
    }
}
