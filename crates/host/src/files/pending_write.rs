//! The step that counts of a write: new content takes its target's place.

use haft_contract::{Location, ToolError, ports::PreImage};
use rustix::fs::Stat;
use rustix::io::Errno;

use super::change::{ChangeStep, Outcome, SyncWork};
use super::errors::{self, FileAction, failed};
use super::roots::RootedPath;
use super::target::{self, ExistingFile};
use super::temporary_file::{ATTEMPTS, TemporaryFile, sync_file};

/// A draft that only has to be put in place.
pub(super) struct PendingWrite {
    at: Location,
    before: Option<Stat>,
    draft: TemporaryFile,
    after: String,
    attempts: usize,
}

impl PendingWrite {
    /// A finalized draft with this fingerprint, and the pre-image of what it replaces.
    pub(super) fn new(at: &Location, before: Option<ExistingFile>, draft: TemporaryFile, after: String) -> (Self, PreImage) {
        let stat = before.as_ref().map(|target| target.stat);
        let image = target::pre_image(at, before, Some(after.clone()), &draft.parent);
        (Self { at: at.clone(), before: stat, draft, after, attempts: ATTEMPTS }, image)
    }

    /// In its target's place, if that still is what it was.
    fn try_place(&mut self) -> Result<(), Failed> {
        let (draft, at) = (&mut self.draft, &self.at);
        draft.stop.check().map_err(|errno| failed(FileAction::Write, at, errno))?;
        target::check_unchanged(&draft.parent, &draft.name, at, self.before.as_ref())?;
        draft.place(self.before.is_none()).map_err(|errno| match errno {
            // A file without a name does not keep its directory from being taken back by another call.
            Errno::NOENT if self.before.is_none() && draft.temporary.is_none() => Failed::NoDirectory,
            Errno::EXIST => Failed::For(errors::changed_meanwhile(at)),
            _ => Failed::For(failed(FileAction::Write, at, errno)),
        })
    }

    /// The same draft for its directory as it is made again, if that stays for long enough to be opened.
    fn anew(mut self) -> Outcome<Self> {
        while self.attempts > 0 {
            self.attempts -= 1;
            match RootedPath::from_location(&self.at).map(|place| self.draft.parent.open_anew(place)) {
                Ok(Ok(())) => {
                    let image = target::pre_image(&self.at, None, Some(self.after.clone()), &self.draft.parent);
                    return Outcome::Anew(self, image);
                }
                Ok(Err(Errno::NOENT)) => {}
                Ok(Err(errno)) => return Outcome::NotDone(failed(FileAction::Write, &self.at, errno)),
                Err(error) => return Outcome::NotDone(error),
            }
        }
        Outcome::NotDone(failed(FileAction::Write, &self.at, Errno::NOENT))
    }
}

/// Why a draft is not in its place.
enum Failed {
    /// The directory is gone.
    NoDirectory,
    For(ToolError),
}

impl From<ToolError> for Failed {
    fn from(error: ToolError) -> Self {
        Self::For(error)
    }
}

impl ChangeStep for PendingWrite {
    fn sync(&self) -> SyncWork {
        let (handle, at) = (self.draft.duplicate(), self.at.clone());
        Box::new(move || handle.and_then(|file| sync_file(&file)).map_err(|errno| failed(FileAction::Write, &at, errno)))
    }

    fn take(mut self) -> Outcome<Self> {
        match self.try_place() {
            Ok(()) => {
                self.draft.placed = true;
                self.draft.parent.settle();
                Outcome::from_sync(self.draft.parent.sync(), &self.at)
            }
            Err(Failed::NoDirectory) => self.anew(),
            Err(Failed::For(error)) => Outcome::NotDone(error),
        }
    }
}
