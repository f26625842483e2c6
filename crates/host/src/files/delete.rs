//! Removing an ordinary file, after the journal has it.

use std::ffi::{OsStr, OsString};

use haft_contract::{Journal, Location, PreImage, ToolError};
use rustix::fs::{AtFlags, Stat, unlinkat};
use rustix::io::Errno;

use super::blocking::{Call, Stop, blocking};
use super::errors::{self, Deed, failed};
use super::parent::Parent;
use super::roots::Place;
use super::target::{self, Target};

/// Removes a file.
pub(super) async fn delete(at: &Location, journal: &dyn Journal) -> Result<(), ToolError> {
    let (_call, stop) = Call::begin();
    let place = at.clone();
    let (removal, image) = blocking(move || prepare(place)).await?;
    journal.keep(image).await?;
    blocking(move || removal.complete(&stop)).await
}

/// A removal that only has to be done.
struct Removal {
    at: Location,
    parent: Parent,
    name: OsString,
    before: Stat,
}

fn prepare(at: Location) -> Result<(Removal, PreImage), ToolError> {
    errors::check_writable(&at)?;
    let place = Place::of(&at)?;
    let name = target::name_of(place, &at)?.to_owned();
    let parent = Parent::open(place).map_err(|errno| failed(Deed::Remove, &at, errno))?;
    let target = Target::find(&parent, &name, &at, Deed::Remove)?.ok_or_else(|| failed(Deed::Remove, &at, Errno::NOENT))?;
    let before = target.stat;
    let image = target::pre_image(&at, Some(target), None, &parent);
    Ok((Removal { at, parent, name, before }, image))
}

impl Removal {
    fn complete(self, stop: &Stop) -> Result<(), ToolError> {
        stop.check().map_err(|errno| failed(Deed::Remove, &self.at, errno))?;
        target::check_unchanged(&self.parent, &self.name, &self.at, Some(&self.before))?;
        unlink(&self.parent, &self.name, &self.at)
    }
}

/// Removes a name, for good.
pub(super) fn unlink(parent: &Parent, name: &OsStr, at: &Location) -> Result<(), ToolError> {
    unlinkat(parent.handle(), name, AtFlags::empty()).map_err(|errno| failed(Deed::Remove, at, errno))?;
    parent.sync().map_err(|errno| errors::not_synced(at, errno))
}
