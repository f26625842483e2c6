//! Undo of a call, or of all calls of a session: every file is restored, or none.
//!
//! An undo waits for its files as a call does, and checks every file and its pre-images before it touches the first. It stores
//! what it replaces, so that an undo that fails in the middle is itself reverted. An interrupted undo can be repeated: files
//! that are as before the call are done.
//!
//! A session is undone in one step, not call by call: each file gets the content that its first call found. So nothing is
//! written twice, and changes of others between two calls are found before anything is touched.

mod error;
mod file_changes;
mod journal;
mod pending;
mod repair;

use std::path::PathBuf;

use haft_contract::ports::{Host, PreImage};
use haft_store::{CallRecord, PreImageRecord};

pub use self::error::UndoError;
use self::journal::UndoJournal;
use self::pending::{LockedFiles, PendingRestore, UndoScope};
pub use self::repair::RepairedCall;
use crate::engine::Engine;

/// An undone call.
#[derive(Debug, Clone, PartialEq)]
pub struct UndoneCall {
    /// The call.
    pub call: CallRecord,
    /// The restored files; none if all of them were as before already.
    pub files: Vec<PathBuf>,
    /// Copies of files that were overwritten although they were changed after the call.
    pub kept: Vec<OverwrittenCopy>,
    /// Paths that the call changed or may have changed, and whose former state was not kept.
    pub uncovered: Vec<PathBuf>,
}

/// An undone session.
#[derive(Debug, Clone, PartialEq)]
pub struct UndoneSession {
    /// The calls, the one that changed a file last first.
    pub calls: Vec<CallRecord>,
    /// The restored files; none if all of them were as before already.
    pub files: Vec<PathBuf>,
    /// Copies of files that were overwritten although others had changed them.
    pub kept: Vec<OverwrittenCopy>,
    /// Paths that the calls changed or may have changed, and whose former state was not kept.
    pub uncovered: Vec<PathBuf>,
}

/// Content that an undo overwrote, and its copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverwrittenCopy {
    /// The file it was in.
    pub path: PathBuf,
    /// The file it is in now.
    pub copy: PathBuf,
}

impl Engine {
    /// Undoes a call: the one with this id, or the newest that is not undone yet and has files to restore.
    /// Without `force`, later changes to its files stop the undo before anything is touched; with it, they are overwritten
    /// and a copy is kept.
    pub async fn undo(&self, id: Option<&str>, host: &dyn Host, force: bool) -> Result<UndoneCall, UndoError> {
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

    /// Undoes every call of a session that is not undone yet: all its files, or none. Without `force`, a file that
    /// something else changed since the session first did stops the undo before anything is touched; with it, those changes
    /// are overwritten and a copy is kept.
    pub async fn undo_session(&self, session: &str, host: &dyn Host, force: bool) -> Result<UndoneSession, UndoError> {
        self.undo_scope(UndoScope::Session(session), host, force).await
    }

    async fn undo_call(&self, call: CallRecord, host: &dyn Host, force: bool) -> Result<UndoneCall, UndoError> {
        let UndoneSession { files, kept, uncovered, .. } = self.undo_scope(UndoScope::Call(&call), host, force).await?;
        Ok(UndoneCall { call, files, kept, uncovered })
    }

    async fn undo_scope(&self, scope: UndoScope<'_>, host: &dyn Host, force: bool) -> Result<UndoneSession, UndoError> {
        let LockedFiles { files, records, uncovered, ticket: _ticket } = self.lock_files(scope, host).await?;
        let mut calls = Vec::new();
        for record in &records {
            calls.push(self.inner.log.get(record).await?);
        }
        let pending = self.pending(files, scope, host, force).await?;
        let replaced = UndoJournal::new(scope.name(), Some(&*self.inner.blobs));
        if let Err((path, why)) = self.restore_all(&pending, host, &replaced).await {
            let left = self.revert_all(replaced.images(), host).await;
            return Err(UndoError::Stopped { path, why: Box::new(why), left });
        }
        // The newest first: cut off in between, what is left of a session still begins where the session began.
        for call in &calls {
            self.inner.log.mark_undone(&call.id).await?;
        }
        let files = pending.iter().rev().filter(|restore| restore.is_change()).map(|restore| restore.image.path.clone()).collect();
        let kept = self.list_overwritten(&pending, &replaced.images());
        Ok(UndoneSession { calls, files, kept, uncovered })
    }

    /// Restores backwards, so that a created directory is empty when its first file is restored.
    async fn restore_all(&self, due: &[PendingRestore], host: &dyn Host, replaced: &UndoJournal<'_>) -> Result<(), (PathBuf, UndoError)> {
        for due in due.iter().rev() {
            let failed = |error| (due.image.path.clone(), error);
            let image = self.load(due.image.clone()).await.map_err(failed)?;
            host.files().restore(&due.at, image, replaced).await.map_err(|error| failed(UndoError::File(error)))?;
        }
        // Of calls that ran at once, the one that made a directory need not be the first that put a file there.
        for PendingRestore { at, image, .. } in due.iter().filter(|due| due.has_directories()) {
            let image = PreImage { after: None, ..self.load(image.clone()).await.map_err(|error| (image.path.clone(), error))? };
            let path = image.path.clone();
            host.files().restore(at, image, replaced).await.map_err(|error| (path, UndoError::File(error)))?;
        }
        Ok(())
    }

    /// Reverts an unfinished undo; returns the files for which that failed.
    async fn revert_all(&self, images: Vec<PreImageRecord>, host: &dyn Host) -> Vec<PathBuf> {
        let mut left = Vec::new();
        for image in images.into_iter().rev().filter(|image| !file_changes::is_unknown(image)) {
            let path = image.path.clone();
            if self.revert_one(image, host).await.is_err() {
                left.push(path);
            }
        }
        left
    }

    /// Restores the files that a running call has changed; returns those for which that failed.
    pub(crate) async fn revert(&self, record: &str, host: &dyn Host) -> Vec<PathBuf> {
        match self.inner.log.pre_images(record).await {
            Ok(images) => self.revert_all(images, host).await,
            // Unreadable pre-images cannot be restored; history still says that the call was begun.
            Err(_) => Vec::new(),
        }
    }

    async fn revert_one(&self, image: PreImageRecord, host: &dyn Host) -> Result<(), UndoError> {
        let at = file_changes::locate(&image, host)?;
        let image = self.load(image).await?;
        host.files().restore(&at, image, &UndoJournal::new("", None)).await.map_err(UndoError::File)
    }

    async fn load(&self, record: PreImageRecord) -> Result<PreImage, UndoError> {
        let content = match &record.content {
            Some(id) => Some(self.inner.blobs.open(id).await?),
            None => None,
        };
        let PreImageRecord { path, mode, after, created_directories, modified, .. } = record;
        Ok(PreImage { path, content, mode, after, created_directories, metadata_from: None, modified })
    }

    /// Copies of the changes of others: between the calls, then after them.
    fn list_overwritten(&self, due: &[PendingRestore], replaced: &[PreImageRecord]) -> Vec<OverwrittenCopy> {
        let between = due.iter().flat_map(|due| due.between.iter().flatten().map(|id| (&due.image.path, id)));
        let changed = |image: &&PreImageRecord| due.iter().any(|due| due.changed && due.image.path == image.path);
        let after = replaced.iter().filter(changed).filter_map(|image| Some((&image.path, image.content.as_ref()?)));
        between.chain(after).map(|(path, id)| OverwrittenCopy { path: path.clone(), copy: self.inner.blobs.path(id) }).collect()
    }
}
