//! Writing a file whole, or not at all.
//!
//! A change has two halves, with the journal between them: first everything that can fail without a trace, then the
//! one step that counts. Dropped anywhere before that step, nothing has happened.

use std::ffi::OsStr;

use haft_contract::{ErrorKind, Journal, Location, PreImage, ToolError, WriteMode, Written};
use rustix::fs::Stat;
use rustix::io::Errno;

use super::blocking::{Call, Stop, blocking};
use super::draft::Draft;
use super::errors::{self, Deed, failed};
use super::parent::Parent;
use super::roots::Place;
use super::target::{self, Target};

/// How often a directory that vanishes is made again.
const ATTEMPTS: usize = 16;

/// Writes a file.
pub(super) async fn write(at: &Location, content: Vec<u8>, mode: WriteMode, journal: &dyn Journal) -> Result<Written, ToolError> {
    let (_call, stop) = Call::begin();
    let bytes = content.len() as u64;
    let place = at.clone();
    let (staged, image) = blocking(move || stage(&place, &content, mode, &stop)).await?;
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
    let stat = before.as_ref().map(|target| target.stat);
    let image = target::pre_image(at, before, Some(after), draft.parent());
    Ok((Staged { at: at.clone(), before: stat, draft }, image))
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
