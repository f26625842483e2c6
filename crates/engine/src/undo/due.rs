//! What an undo has to do, found out before the first file is touched.

use haft_contract::{Host, Location, Plan};
use haft_store::{CallRecord, PreImageRecord};

use super::UndoError;
use crate::engine::Engine;
use crate::locks::Ticket;

/// A file of a call.
pub(super) struct File {
    at: Location,
    /// What it was before the call first changed it, with the directories of all its changes.
    before: PreImageRecord,
    /// What the call may have left: a change that was cut off did not happen, so it need not be the last.
    left: Vec<Option<String>>,
}

/// A file that is to be put back.
pub(super) struct Due {
    pub(super) at: Location,
    /// What it was before the call, and in `after` what it is now: nothing else may be overwritten.
    pub(super) image: PreImageRecord,
    /// Whether it was changed after the call.
    pub(super) changed: bool,
}

impl Engine {
    /// The files of a call, once no other call works on them.
    pub(super) async fn hold(&self, call: &CallRecord, host: &dyn Host) -> Result<(Vec<File>, Ticket), UndoError> {
        let mut images = self.images(call).await?;
        loop {
            let files = files_of(&images, host)?;
            let plan = files.iter().fold(Plan::nothing(), |plan, file| plan.write(file.at.clone()));
            let ticket = self.inner.locks.queue(&plan);
            ticket.granted().await;
            let now = self.images(call).await?;
            if now == images {
                return Ok((files, ticket));
            }
            // It was the call itself that worked on them, and it has changed more.
            images = now;
        }
    }

    async fn images(&self, call: &CallRecord) -> Result<Vec<PreImageRecord>, UndoError> {
        let log = &self.inner.log;
        if log.get(&call.id).await?.undone {
            return Err(UndoError::Already(Box::new(call.clone())));
        }
        let images = log.pre_images(&call.id).await?;
        if images.is_empty() { Err(UndoError::NoFiles(Box::new(call.clone()))) } else { Ok(images) }
    }

    /// The files that are not as they were before the call. Everything kept of them was read once when this is done.
    pub(super) async fn due(&self, files: Vec<File>, host: &dyn Host, force: bool) -> Result<Vec<Due>, UndoError> {
        let mut due = Vec::new();
        for File { at, before, left } in files {
            let now = host.files().fingerprint(&at).await.map_err(UndoError::File)?;
            if now == self.fingerprint_before(&before, host).await? {
                continue;
            }
            let changed = !left.contains(&now);
            if changed && !force {
                return Err(UndoError::Changed(before.path));
            }
            due.push(Due { at, image: PreImageRecord { after: now, ..before }, changed });
        }
        Ok(due)
    }

    async fn fingerprint_before(&self, image: &PreImageRecord, host: &dyn Host) -> Result<Option<String>, UndoError> {
        let Some(id) = &image.content else { return Ok(None) };
        let content = self.inner.blobs.open(id).await?;
        host.files().fingerprint_of(content).await.map(Some).map_err(UndoError::File)
    }
}

/// One for each file, in the order in which they were first changed.
fn files_of(images: &[PreImageRecord], host: &dyn Host) -> Result<Vec<File>, UndoError> {
    let mut files: Vec<File> = Vec::new();
    for image in images {
        let left = image.after.clone();
        if let Some(file) = files.iter_mut().find(|file| file.before.path == image.path) {
            file.before.created_directories.extend_from_slice(&image.created_directories);
            file.left.push(left);
        } else {
            files.push(File { at: place(image, host)?, before: image.clone(), left: vec![left] });
        }
    }
    Ok(files)
}

/// Where a file is, if it still is where it was.
pub(super) fn place(image: &PreImageRecord, host: &dyn Host) -> Result<Location, UndoError> {
    let at = host.files().locate(&image.path).map_err(UndoError::File)?;
    if at.path() == image.path { Ok(at) } else { Err(UndoError::Moved(image.path.clone())) }
}
