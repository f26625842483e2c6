//! Taking a call back, or all calls of a session: every file as it was before, or nothing at all.
//!
//! An undo waits for its files as a call does, and looks at every file and everything kept of it before it touches the
//! first. What it replaces is kept in turn, so that an undo that fails in the middle is itself taken back. One that is cut
//! off can be repeated: files that are as they were before the call are done.
//!
//! A session goes back in one step, not call by call: each file to what its first call found. So nothing is written that
//! the next step would replace, and what something else changed between two calls is found before anything is touched.

mod due;
mod error;
mod replaced;
mod turns;

use std::path::PathBuf;

use haft_contract::{Host, PreImage};
use haft_store::{CallRecord, PreImageRecord};

use self::due::{Due, Held, Scope};
pub use self::error::UndoError;
use self::replaced::{Replaced, Unkept};
use crate::engine::Engine;

/// What was taken back.
#[derive(Debug, Clone, PartialEq)]
pub struct Undone {
    /// The call.
    pub call: CallRecord,
    /// The files that were put back; none if all of them were as before already.
    pub files: Vec<PathBuf>,
    /// What was overwritten although it was changed after the call.
    pub kept: Vec<Kept>,
}

/// What was taken back of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct UndoneSession {
    /// The calls, the one that changed a file last first.
    pub calls: Vec<CallRecord>,
    /// The files that were put back; none if all of them were as before already.
    pub files: Vec<PathBuf>,
    /// What was overwritten although something else than the session had put it there.
    pub kept: Vec<Kept>,
}

/// Content that an undo overwrote, and where a person finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The file it was in.
    pub path: PathBuf,
    /// The file it is in now.
    pub copy: PathBuf,
}

/// The files of a call or a session, put back.
struct PutBack {
    calls: Vec<CallRecord>,
    files: Vec<PathBuf>,
    kept: Vec<Kept>,
}

impl Engine {
    /// Takes a call back: the one with this id, or the newest that is not undone yet and has something to put back.
    /// Without `force`, later changes to its files stop the undo before anything is touched; with it, they are overwritten
    /// and a copy is kept.
    pub async fn undo(&self, id: Option<&str>, host: &dyn Host, force: bool) -> Result<Undone, UndoError> {
        let log = &self.inner.log;
        if let Some(id) = id {
            return self.undo_call(log.get(id).await?, host, force).await;
        }
        loop {
            let call = log.newest_undoable().await?.ok_or(UndoError::Nothing)?;
            match self.undo_call(call, host, force).await {
                // Another undo was faster, or the call's last change was withdrawn.
                Err(UndoError::Already(_) | UndoError::NoFiles(_)) => {}
                Ok(undone) if undone.files.is_empty() => {}
                answer => return answer,
            }
        }
    }

    /// Takes back every call of a session that is not undone yet: all its files, or none. Without `force`, a file that
    /// something else changed since the session first did stops the undo before anything is touched; with it, those changes
    /// are overwritten and a copy is kept.
    pub async fn undo_session(&self, session: &str, host: &dyn Host, force: bool) -> Result<UndoneSession, UndoError> {
        let PutBack { calls, files, kept } = self.take_back(Scope::Session(session), host, force).await?;
        Ok(UndoneSession { calls, files, kept })
    }

    async fn undo_call(&self, call: CallRecord, host: &dyn Host, force: bool) -> Result<Undone, UndoError> {
        let PutBack { files, kept, .. } = self.take_back(Scope::Call(&call), host, force).await?;
        Ok(Undone { call, files, kept })
    }

    async fn take_back(&self, scope: Scope<'_>, host: &dyn Host, force: bool) -> Result<PutBack, UndoError> {
        let Held { files, records, ticket: _ticket } = self.hold(scope, host).await?;
        let mut calls = Vec::new();
        for record in &records {
            calls.push(self.inner.log.get(record).await?);
        }
        let due = self.due(files, scope, host, force).await?;
        let replaced = Replaced::new(scope.name(), &*self.inner.blobs);
        if let Err((path, why)) = self.put_back(&due, host, &replaced).await {
            let left = self.return_all(replaced.images(), host).await;
            return Err(UndoError::Stopped { path, why: Box::new(why), left });
        }
        // The newest first: cut off in between, what is left of a session still begins where the session began.
        for call in &calls {
            self.inner.log.mark_undone(&call.id).await?;
        }
        let files = due.iter().rev().filter(|due| due.is_change()).map(|due| due.image.path.clone()).collect();
        let kept = self.kept(&due, &replaced.images());
        Ok(PutBack { calls, files, kept })
    }

    /// Backwards, so that a directory that a file was first in is empty when it is that file's turn.
    async fn put_back(&self, due: &[Due], host: &dyn Host, replaced: &Replaced<'_>) -> Result<(), (PathBuf, UndoError)> {
        for due in due.iter().rev() {
            let failed = |error| (due.image.path.clone(), error);
            let image = self.load(due.image.clone()).await.map_err(failed)?;
            host.files().restore(&due.at, image, replaced).await.map_err(|error| failed(UndoError::File(error)))?;
        }
        // Of calls that ran at once, the one that made a directory need not be the first that put a file there.
        for Due { at, image, .. } in due.iter().filter(|due| due.has_directories()) {
            let image = PreImage { after: None, ..self.load(image.clone()).await.map_err(|error| (image.path.clone(), error))? };
            let path = image.path.clone();
            host.files().restore(at, image, replaced).await.map_err(|error| (path, UndoError::File(error)))?;
        }
        Ok(())
    }

    /// Takes an undo back that could not be finished; gives the files for which that failed.
    async fn return_all(&self, images: Vec<PreImageRecord>, host: &dyn Host) -> Vec<PathBuf> {
        let mut left = Vec::new();
        for image in images.into_iter().rev() {
            let path = image.path.clone();
            if self.return_one(image, host).await.is_err() {
                left.push(path);
            }
        }
        left
    }

    /// Puts back what a call changed that is still under way; gives the files for which that failed.
    pub(crate) async fn revert(&self, record: &str, host: &dyn Host) -> Vec<PathBuf> {
        match self.inner.log.pre_images(record).await {
            Ok(images) => self.return_all(images, host).await,
            // What cannot be read cannot be put back; history still has it, and says that the call was begun.
            Err(_) => Vec::new(),
        }
    }

    async fn return_one(&self, image: PreImageRecord, host: &dyn Host) -> Result<(), UndoError> {
        let at = turns::place(&image, host)?;
        let image = self.load(image).await?;
        host.files().restore(&at, image, &Unkept).await.map_err(UndoError::File)
    }

    async fn load(&self, record: PreImageRecord) -> Result<PreImage, UndoError> {
        let content = match &record.content {
            Some(id) => Some(self.inner.blobs.open(id).await?),
            None => None,
        };
        let PreImageRecord { path, mode, after, created_directories, .. } = record;
        Ok(PreImage { path, content, mode, after, created_directories })
    }

    /// The copies of what something else had put into the files: between the calls, then after them.
    fn kept(&self, due: &[Due], replaced: &[PreImageRecord]) -> Vec<Kept> {
        let between = due.iter().flat_map(|due| due.between.iter().flatten().map(|id| (&due.image.path, id)));
        let changed = |image: &&PreImageRecord| due.iter().any(|due| due.changed && due.image.path == image.path);
        let after = replaced.iter().filter(changed).filter_map(|image| Some((&image.path, image.content.as_ref()?)));
        between.chain(after).map(|(path, id)| Kept { path: path.clone(), copy: self.inner.blobs.path(id) }).collect()
    }
}
