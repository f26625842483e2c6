//! Writes a file atomically: to a private temporary file beside the target, synced, and renamed over it.
//!
//! The journal has the pre-image on disk before that. Special files, `/proc`, `/sys` and `/dev` are refused without blocking; a file
//! above 512 MB is not changed, because its pre-image would take too much space.

use std::ffi::OsStr;
use std::sync::Arc;

use haft_contract::{
    ErrorKind, Location, ToolError, WriteMode, WriteOutcome,
    ports::{Journal, PreImage},
    retry_conflicts,
};
use rustix::fs::Mode;
use rustix::io::Errno;

use super::blocking::Stop;
use super::change::{Before, change_with_directories};
use super::errors::{self, FileAction, failed};
use super::fingerprint;
use super::open::size_of;
use super::parent::Parent;
use super::pending_write::PendingWrite;
use super::roots::RootedPath;
use super::target::{self, ExistingFile};
use super::temporary_file::TemporaryFile;

/// Files above this size are checked on a thread of their own: one costs less than reading so much.
const LARGE: u64 = 1 << 20;
/// How often a directory that vanishes is made again.
const ATTEMPTS: usize = 16;

/// What must be there for a file to be written.
#[derive(Debug, Clone)]
pub(super) enum Expected {
    Anything,
    Nothing,
    /// Nothing; what is written gets the permissions of this file.
    NothingYet {
        like: Location,
    },
    /// A file with this fingerprint.
    File(String),
}

/// Writes a file.
pub(super) async fn write(
    at: Location,
    content: Vec<u8>,
    mode: WriteMode,
    expected: Expected,
    journal: &dyn Journal,
) -> Result<WriteOutcome, ToolError> {
    let (bytes, content) = (content.len() as u64, Arc::new(content));
    let attempt = || {
        let (there, content, expected) = (at.clone(), Arc::clone(&content), expected.clone());
        change_with_directories(&at, journal, move |stop: Stop| stage(&there, &content, mode, &expected, &stop))
    };
    // What another program wrote meanwhile is appended to; it is never replaced unseen.
    let (before, after) = match mode {
        WriteMode::Append => retry_conflicts(tokio::time::sleep, attempt).await?,
        WriteMode::Overwrite => attempt().await?,
    };
    Ok(WriteOutcome { bytes, created: before == Before::Nothing, fingerprint: after.unwrap_or_default() })
}

fn stage(at: &Location, content: &[u8], mode: WriteMode, expected: &Expected, stop: &Stop) -> Result<(PendingWrite, PreImage), ToolError> {
    errors::check_writable(at)?;
    errors::check_file_name(at)?;
    for _ in 1..ATTEMPTS {
        match try_stage(at, content, mode, expected, stop) {
            // Another call made the directory and took it back, between our opening it and writing into it.
            Err(error) if error.kind() == ErrorKind::FileNotFound => {}
            answer => return answer,
        }
    }
    try_stage(at, content, mode, expected, stop)
}

fn try_stage(
    at: &Location,
    content: &[u8],
    mode: WriteMode,
    expected: &Expected,
    stop: &Stop,
) -> Result<(PendingWrite, PreImage), ToolError> {
    let fail = |errno| failed(FileAction::Write, at, errno);
    let place = RootedPath::from_location(at)?;
    let name = target::name_of(place, at)?;
    let parent = Parent::open_or_make(place).map_err(fail)?;
    let before = ExistingFile::find(&parent, name, at, FileAction::Write)?;
    let check = || check_expected(at, before.as_ref(), expected, stop);
    let is_large = before.as_ref().is_some_and(|before| size_of(&before.stat) > LARGE);
    if !is_large {
        check()?;
    }
    let permissions = if let Expected::NothingYet { like } = expected { permissions_of(like)? } else { None };
    let compose = || compose(parent, name, before.as_ref(), content, (mode, permissions), stop.clone()).map_err(fail);
    let (draft, after) = if is_large { beside(check, compose)? } else { compose()? };
    Ok(PendingWrite::new(at, before, draft, after))
}

/// Checks a large file beside the work on its new content. Both read and hash all of it, and a draft that is not needed leaves no trace.
fn beside<T>(check: impl FnOnce() -> Result<(), ToolError> + Send, work: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
    std::thread::scope(|scope| {
        let checked = scope.spawn(check);
        let done = work();
        checked.join().unwrap_or_else(|_| Err(ToolError::execution("The file could not be compared with what was read of it.")))?;
        done
    })
}

fn permissions_of(like: &Location) -> Result<Option<Mode>, ToolError> {
    let fail = |errno| failed(FileAction::Read, like, errno);
    let place = RootedPath::from_location(like)?;
    let status = Parent::open(place).and_then(|parent| parent.status(target::name_of(place, like).map_err(|_| Errno::ISDIR)?));
    Ok(status.map_err(fail)?.map(|stat| target::permissions(&stat)))
}

/// Whether what is there is what it should be. Between this and the last step the file is looked at once more.
fn check_expected(at: &Location, before: Option<&ExistingFile>, expected: &Expected, stop: &Stop) -> Result<(), ToolError> {
    let as_expected = match (expected, before) {
        (Expected::Anything, _) | (Expected::Nothing | Expected::NothingYet { .. }, None) => true,
        (Expected::Nothing | Expected::NothingYet { .. }, Some(_)) | (Expected::File(_), None) => false,
        (Expected::File(expected), Some(before)) => {
            fingerprint::of_file(&before.file, stop).map_err(|errno| failed(FileAction::Write, at, errno))? == *expected
        }
    };
    if as_expected { Ok(()) } else { Err(errors::changed_meanwhile(at)) }
}

/// The new content in full, and its fingerprint.
fn compose(
    parent: Parent,
    name: &OsStr,
    before: Option<&ExistingFile>,
    content: &[u8],
    (mode, given): (WriteMode, Option<Mode>),
    stop: Stop,
) -> Result<(TemporaryFile, String), Errno> {
    if before.is_some() {
        target::check_permission(&parent, name)?;
    }
    let mut draft = TemporaryFile::begin(parent, name, stop)?;
    if let (WriteMode::Append, Some(before)) = (mode, before) {
        draft.add_file(&before.file)?;
    }
    draft.add(content)?;
    let permissions = before.map(|before| draft.inherit(&before.stat).map(|most| target::permissions(&before.stat) & most));
    if let Some(before) = before {
        draft.take_attributes(&before.file);
    }
    let after = draft.finalize(permissions.transpose()?.or(given))?;
    Ok((draft, after))
}
