//! What an undo has to do, found out before the first file is touched.

use std::collections::HashSet;

use haft_contract::{Host, Location, Plan, PreImage};
use haft_store::{BlobId, CallRecord, PreImageRecord};

use super::UndoError;
use super::turns::{self, File};
use crate::engine::Engine;
use crate::locks::Ticket;

/// What is taken back.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scope<'a> {
    Call(&'a CallRecord),
    /// Everything of this session that is not undone yet.
    Session(&'a str),
}

impl<'a> Scope<'a> {
    pub(super) fn name(self) -> &'a str {
        match self {
            Self::Call(call) => &call.id,
            Self::Session(session) => session,
        }
    }
}

/// A file that is to be put back.
pub(super) struct Due {
    pub(super) at: Location,
    /// What it was before the call, and in `after` what it is now: nothing else may be overwritten.
    pub(super) image: PreImageRecord,
    /// Whether it was changed after the last call.
    pub(super) changed: bool,
    /// What something else had put there between two calls; `None` where it had removed the file.
    pub(super) between: Vec<Option<BlobId>>,
}

impl Due {
    /// A file that holds this now, and that nothing else has changed.
    fn new(file: File, now: Option<String>) -> Self {
        Self { at: file.at, image: PreImageRecord { after: now, ..file.before }, changed: false, between: Vec::new() }
    }
    /// Whether a file comes or goes or is replaced; if not, only the directories that were made for it are left.
    pub(super) fn is_change(&self) -> bool {
        self.image.content.is_some() || self.image.after.is_some()
    }
    /// Whether directories go with the file.
    pub(super) fn has_directories(&self) -> bool {
        self.image.content.is_none() && !self.image.created_directories.is_empty()
    }
}

/// The files of a call or a session, which nothing else works on.
pub(super) struct Held {
    pub(super) files: Vec<File>,
    /// The ids of the calls that changed them, the last to do so first.
    pub(super) records: Vec<String>,
    pub(super) ticket: Ticket,
}

impl Engine {
    /// The files of a call or a session, once no other call works on them.
    pub(super) async fn hold(&self, scope: Scope<'_>, host: &dyn Host) -> Result<Held, UndoError> {
        let mut images = self.images(scope).await?;
        loop {
            let files = turns::files_of(&images, host)?;
            let plan = files.iter().fold(Plan::nothing(), |plan, file| plan.write(file.at.clone()));
            let ticket = self.inner.locks.queue(&plan);
            ticket.granted().await;
            let now = self.images(scope).await?;
            if now == images {
                return Ok(Held { files, records: newest_first(&images), ticket });
            }
            // It was the call itself that worked on them, and it has changed more.
            images = now;
        }
    }

    async fn images(&self, scope: Scope<'_>) -> Result<Vec<PreImageRecord>, UndoError> {
        let log = &self.inner.log;
        let images = match scope {
            Scope::Call(call) if log.get(&call.id).await?.undone => return Err(UndoError::Already(Box::new(call.clone()))),
            Scope::Call(call) => log.pre_images(&call.id).await?,
            Scope::Session(session) => log.session_images(session).await?,
        };
        match scope {
            _ if !images.is_empty() => Ok(images),
            Scope::Call(call) => Err(UndoError::NoFiles(Box::new(call.clone()))),
            Scope::Session(session) => Err(UndoError::NothingIn(session.to_owned())),
        }
    }

    /// The files that are not as they were before the call. Everything kept of them was read once when this is done.
    pub(super) async fn due(&self, files: Vec<File>, scope: Scope<'_>, host: &dyn Host, force: bool) -> Result<Vec<Due>, UndoError> {
        let (mut all, mut others) = (Vec::new(), Vec::new());
        for file in files {
            if let Some(due) = self.due_of(file, host).await? {
                if due.changed || !due.between.is_empty() {
                    others.push(due.image.path.clone());
                }
                all.push(due);
            }
        }
        match scope {
            _ if force || others.is_empty() => Ok(all),
            Scope::Call(_) => Err(UndoError::Changed(others)),
            Scope::Session(_) => Err(UndoError::ChangedElsewhere(others)),
        }
    }

    /// What is to be done about a file; nothing if it is as it was before.
    async fn due_of(&self, file: File, host: &dyn Host) -> Result<Option<Due>, UndoError> {
        let now = host.files().state(&file.at).await.map_err(UndoError::File)?;
        let first = self.state_kept(file.before.content.as_ref(), file.before.mode, host).await?;
        if now == first {
            // A change that left the same content gave it other permissions.
            let is_remade = file.is_remade || now.is_some() && file.turns.iter().any(|turn| turn.left.contains(&now));
            return Ok(Some(Due::new(file, now)).filter(|due| is_remade || due.has_directories()));
        }
        let (mut found, mut between) = (first, Vec::new());
        for (turn, next) in file.turns.iter().zip(&file.turns[1..]) {
            let then = self.state_kept(next.found.as_ref(), next.mode, host).await?;
            if then != found && !turn.left.contains(&then) {
                between.push(next.found.clone());
            }
            found = then;
        }
        let changed = now != found && !file.turns.last().is_some_and(|turn| turn.left.contains(&now));
        Ok(Some(Due { changed, between, ..Due::new(file, now) }))
    }

    /// The state of what was kept.
    async fn state_kept(&self, content: Option<&BlobId>, mode: Option<u32>, host: &dyn Host) -> Result<Option<String>, UndoError> {
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
