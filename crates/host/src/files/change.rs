//! A change has two halves, with the journal between them: first everything that can fail without a trace, then the one
//! step that counts. Dropped anywhere before that step, nothing has happened. New content and pre-image wait for the disk together,
//! and the step waits for both.

use haft_contract::{
    Location, ToolError,
    ports::{Journal, PreImage},
};
use rustix::io::Errno;

use super::blocking::{Call, Stop, begin_blocking, blocking};
use super::errors::{self, FileAction, failed};
use super::parent::Parent;
use super::roots::RootedPath;

/// A change that only has to be done.
pub(super) trait ChangeStep: Sized + Send + 'static {
    /// Work that waits until everything that it puts in place is on the disk. The pre-image goes there at the same time.
    fn sync(&self) -> SyncWork {
        Box::new(|| Ok(()))
    }
    /// Does it.
    fn take(self) -> Outcome<Self>;
}

/// Work that waits for the disk. It holds nothing that a dropped change would leave behind.
pub(super) type SyncWork = Box<dyn FnOnce() -> Result<(), ToolError> + Send>;

/// How the step that counts ended.
#[derive(Debug)]
pub(super) enum Outcome<S> {
    Done,
    /// Everything is as it was, but for directories that had gone and are there again: with them it is another change.
    Anew(S, PreImage),
    /// It was done, but may not survive a power cut.
    NotSynced(ToolError),
    /// Everything is as it was.
    NotDone(ToolError),
}

impl<S> Outcome<S> {
    /// Done; whether for certain, syncing it says.
    pub(super) fn from_sync(synced: Result<(), Errno>, at: &Location) -> Self {
        synced.map_or_else(|errno| Self::NotSynced(errors::not_synced(at, errno)), |()| Self::Done)
    }
}

/// What was there before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    File,
    Nothing,
}

/// Makes a change for which directories may have to be made. They are on record before they are there: a process that is killed
/// between the two leaves no directory of which nobody knows.
pub(super) async fn change_with_directories<S, P>(
    at: &Location,
    journal: &dyn Journal,
    prepare: P,
) -> Result<(Before, Option<String>), ToolError>
where
    S: ChangeStep,
    P: FnOnce(Stop) -> Result<(S, PreImage), ToolError> + Send + 'static,
{
    let there = at.clone();
    let missing = blocking(move || {
        let fail = |errno| failed(FileAction::Write, &there, errno);
        Parent::missing(RootedPath::from_location(&there)?).map_err(fail)
    });
    let created_directories = missing.await?;
    if created_directories.is_empty() {
        return change(journal, prepare).await;
    }
    let path = at.path().to_owned();
    journal
        .keep(PreImage { path, content: None, mode: None, after: None, created_directories, metadata_from: None, modified: None })
        .await?;
    let outcome = change(journal, prepare).await;
    // The pre-image of the change names the directories that it made itself. One too many is the lesser fault.
    journal.withdraw(at.path(), None).await.ok();
    outcome
}

/// Makes a change: prepared, journalled, done. Says what was there, and the fingerprint of what is there now.
pub(super) async fn change<S, P>(journal: &dyn Journal, prepare: P) -> Result<(Before, Option<String>), ToolError>
where
    S: ChangeStep,
    P: FnOnce(Stop) -> Result<(S, PreImage), ToolError> + Send + 'static,
{
    let (_call, stop) = Call::begin();
    let (mut last, mut image) = blocking(move || prepare(stop)).await?;
    loop {
        let before = if image.content.is_some() { Before::File } else { Before::Nothing };
        let (path, after) = (image.path.clone(), image.after.clone());
        let syncing = begin_blocking(last.sync());
        journal.keep(image).await?;
        let outcome = match syncing.await {
            Ok(()) => blocking(move || Ok(last.take())).await?,
            Err(error) => Outcome::NotDone(error),
        };
        if matches!(outcome, Outcome::NotDone(_) | Outcome::Anew(..)) {
            // A pre-image too many is the lesser fault: the one to tell is why nothing was done.
            journal.withdraw(&path, after.as_deref()).await.ok();
        }
        match outcome {
            Outcome::Done => return Ok((before, after)),
            Outcome::NotSynced(error) | Outcome::NotDone(error) => return Err(error),
            Outcome::Anew(again, another) => (last, image) = (again, another),
        }
    }
}
