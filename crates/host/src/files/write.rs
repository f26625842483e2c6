//! Writing a file whole, or not at all.

use std::ffi::OsStr;

use haft_contract::{ErrorKind, Journal, Location, PreImage, ToolError, WriteMode, Written};
use rustix::io::Errno;

use super::blocking::Stop;
use super::change::{Before, change};
use super::draft::{Draft, Staged};
use super::errors::{self, Deed, failed};
use super::parent::Parent;
use super::roots::Place;
use super::target::{self, Target};

/// How often a directory that vanishes is made again.
const ATTEMPTS: usize = 16;

/// Writes a file.
pub(super) async fn write(at: Location, content: Vec<u8>, mode: WriteMode, journal: &dyn Journal) -> Result<Written, ToolError> {
    let bytes = content.len() as u64;
    let before = change(journal, move |stop| stage(&at, &content, mode, &stop)).await?;
    Ok(Written { bytes, created: before == Before::Nothing })
}

fn stage(at: &Location, content: &[u8], mode: WriteMode, stop: &Stop) -> Result<(Staged, PreImage), ToolError> {
    errors::check_writable(at)?;
    for _ in 1..ATTEMPTS {
        match try_stage(at, content, mode, stop) {
            // Another call made the directory and took it back, between our opening it and writing into it.
            Err(error) if error.kind() == ErrorKind::FileNotFound => {}
            answer => return answer,
        }
    }
    try_stage(at, content, mode, stop)
}

fn try_stage(at: &Location, content: &[u8], mode: WriteMode, stop: &Stop) -> Result<(Staged, PreImage), ToolError> {
    let fail = |errno| failed(Deed::Write, at, errno);
    let place = Place::of(at)?;
    let name = target::name_of(place, at)?;
    let parent = Parent::open_or_make(place).map_err(fail)?;
    let before = Target::find(&parent, name, at, Deed::Write)?;
    let (draft, after) = compose(parent, name, before.as_ref(), content, mode, stop.clone()).map_err(fail)?;
    Ok(Staged::new(at, before, draft, after))
}

/// The new content in full, and its fingerprint.
fn compose(
    parent: Parent,
    name: &OsStr,
    before: Option<&Target>,
    content: &[u8],
    mode: WriteMode,
    stop: Stop,
) -> Result<(Draft, String), Errno> {
    if before.is_some() {
        target::check_permission(&parent, name)?;
    }
    let mut draft = Draft::begin(parent, name, stop)?;
    if let (WriteMode::Append, Some(before)) = (mode, before) {
        draft.add_file(&before.file)?;
    }
    draft.add(content)?;
    let permissions = before.map(|before| draft.inherit(&before.stat).map(|most| target::permissions(&before.stat) & most));
    let after = draft.seal(permissions.transpose()?)?;
    Ok((draft, after))
}
