//! The work of an undo, found before the first file is touched.

use std::collections::HashSet;
use std::path::PathBuf;

use haft_contract::{
    Location, Plan,
    ports::{Host, PreImage},
};
use haft_store::{BlobId, CallRecord, PreImageRecord};

use super::UndoError;
use super::file_changes::{self, ChangedFile};
use crate::engine::Engine;
use crate::locks::Ticket;

/// What is undone.
#[derive(Debug, Clone, Copy)]
pub(super) enum UndoScope<'a> {
    Call(&'a CallRecord),
    /// Everything of this session that is not undone yet.
    Session(&'a str),
}

impl<'a> UndoScope<'a> {
    pub(super) fn name(self) -> &'a str {
        match self {
            Self::Call(call) => &call.id,
            Self::Session(session) => session,
        }
    }
}

/// A file to be restored.
pub(super) struct PendingRestore {
    pub(super) at: Location,
    /// Its pre-image, with its current state in `after`: nothing else may be overwritten.
    pub(super) image: PreImageRecord,
    /// Whether it was changed after the last call.
    pub(super) changed: bool,
    /// Content of others between two calls; `None` where the file had been removed.
    pub(super) between: Vec<Option<BlobId>>,
}

impl PendingRestore {
    /// A file in this state that nothing else has changed.
    fn new(file: ChangedFile, now: Option<String>) -> Self {
        Self { at: file.at, image: PreImageRecord { after: now, ..file.before }, changed: false, between: Vec::new() }
    }
    /// Whether the file itself changes; if not, only directories that were created for it are removed.
    pub(super) fn is_change(&self) -> bool {
        self.image.content.is_some() || self.image.after.is_some()
    }
    /// Whether directories go with the file.
    pub(super) fn has_directories(&self) -> bool {
        self.image.content.is_none() && !self.image.created_directories.is_empty()
    }
}

/// The locked files of a call or a session.
pub(super) struct LockedFiles {
    pub(super) files: Vec<ChangedFile>,
    /// The ids of the calls that changed them, the last to do so first.
    pub(super) records: Vec<String>,
    /// Paths whose former state was not kept.
    pub(super) uncovered: Vec<PathBuf>,
    pub(super) ticket: Ticket,
}

impl Engine {
    /// Locks the files of a call or a session.
    pub(super) async fn lock_files(&self, scope: UndoScope<'_>, host: &dyn Host) -> Result<LockedFiles, UndoError> {
        let (mut images, mut uncovered) = self.images(scope).await?;
        loop {
            let files = file_changes::files_of(&images, host)?;
            let plan = files.iter().fold(Plan::nothing(), |plan, file| plan.write(file.at.clone()));
            let ticket = self.inner.locks.queue(&plan);
            ticket.granted().await;
            let now = self.images(scope).await?;
            if now.0 == images {
                return Ok(LockedFiles { files, records: newest_first(&images), uncovered, ticket });
            }
            // The call itself still ran, and has changed more.
            (images, uncovered) = now;
        }
    }

    /// The pre-images, and the paths of which there is none.
    async fn images(&self, scope: UndoScope<'_>) -> Result<(Vec<PreImageRecord>, Vec<PathBuf>), UndoError> {
        let log = &self.inner.log;
        let images = match scope {
            UndoScope::Call(call) if log.get(&call.id).await?.undone => return Err(UndoError::Already(Box::new(call.clone()))),
            UndoScope::Call(call) => log.pre_images(&call.id).await?,
            UndoScope::Session(session) => log.session_images(session).await?,
        };
        let (unknown, images): (Vec<_>, Vec<_>) = images.into_iter().partition(file_changes::is_unknown);
        let uncovered: Vec<PathBuf> = unknown.into_iter().map(|image| image.path).collect();
        match scope {
            _ if !images.is_empty() => Ok((images, uncovered)),
            _ if !uncovered.is_empty() => Err(UndoError::NotKept { name: scope.name().to_owned(), paths: uncovered }),
            UndoScope::Call(call) => Err(UndoError::NoFiles(Box::new(call.clone()))),
            UndoScope::Session(session) => Err(UndoError::NothingIn(session.to_owned())),
        }
    }

    /// The files that are not as before the call. All their pre-images were read once when this is done.
    pub(super) async fn pending(
        &self,
        files: Vec<ChangedFile>,
        scope: UndoScope<'_>,
        host: &dyn Host,
        force: bool,
    ) -> Result<Vec<PendingRestore>, UndoError> {
        let (mut all, mut others) = (Vec::new(), Vec::new());
        for file in files {
            if let Some(restore) = self.pending_restore(file, host).await? {
                if restore.changed || !restore.between.is_empty() {
                    others.push(restore.image.path.clone());
                }
                all.push(restore);
            }
        }
        match scope {
            _ if force || others.is_empty() => Ok(all),
            UndoScope::Call(_) => Err(UndoError::Changed(others)),
            UndoScope::Session(_) => Err(UndoError::ChangedElsewhere(others)),
        }
    }

    /// The restore of a file; `None` if it is as before.
    async fn pending_restore(&self, file: ChangedFile, host: &dyn Host) -> Result<Option<PendingRestore>, UndoError> {
        let now = host.files().state(&file.at).await.map_err(UndoError::File)?;
        let first = self.image_state(file.before.content.as_ref(), file.before.mode, host).await?;
        if now == first {
            // A change that left the same content gave it other permissions.
            let is_remade = file.is_remade || now.is_some() && file.changes.iter().any(|turn| turn.left.contains(&now));
            return Ok(Some(PendingRestore::new(file, now)).filter(|restore| is_remade || restore.has_directories()));
        }
        let (mut found, mut between) = (first, Vec::new());
        for (turn, next) in file.changes.iter().zip(&file.changes[1..]) {
            let then = self.image_state(next.found.as_ref(), next.mode, host).await?;
            if then != found && !turn.left.contains(&then) {
                between.push(next.found.clone());
            }
            found = then;
        }
        let changed = now != found && !file.changes.last().is_some_and(|turn| turn.left.contains(&now));
        Ok(Some(PendingRestore { changed, between, ..PendingRestore::new(file, now) }))
    }

    /// The state that a pre-image describes.
    async fn image_state(&self, content: Option<&BlobId>, mode: Option<u32>, host: &dyn Host) -> Result<Option<String>, UndoError> {
        let fingerprint = match content {
            Some(id) => {
                let content = self.inner.blobs.open(id).await?;
                Some(host.files().fingerprint_of(content).await.map_err(UndoError::File)?)
            }
            None => None,
        };
        Ok(PreImage::state(mode, fingerprint))
    }
}

fn newest_first(images: &[PreImageRecord]) -> Vec<String> {
    let mut seen = HashSet::new();
    images.iter().rev().filter(|image| seen.insert(&image.record)).map(|image| image.record.clone()).collect()
}
