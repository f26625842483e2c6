//! The recorder of a run: its checkpoint before, and the journal of the call that gets its direct changes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{
    BoxFuture, DirectChanges,
    ports::{ChangeRecorder, Journal, PreImage},
};

use crate::checkpoint::{Checkpoint, CheckpointChanges};

/// Why the changes of a job are not in the record of its call.
const IN_BACKGROUND: &str = "they were made in the background, and other programs may have made some of them";

/// Records the direct changes of a run.
pub(crate) struct RunRecorder {
    state: Mutex<RecorderState>,
}

#[derive(Default)]
struct RecorderState {
    checkpoint: Option<Checkpoint>,
    /// Gone when the call has ended: later changes are listed, and not kept for undo.
    journal: Option<Arc<dyn Journal>>,
}

impl std::fmt::Debug for RunRecorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunRecorder").finish_non_exhaustive()
    }
}

impl RunRecorder {
    pub(crate) fn new(checkpoint: Option<Checkpoint>, journal: Option<Arc<dyn Journal>>) -> Self {
        let checkpoint = checkpoint.filter(|_| journal.is_some());
        Self { state: Mutex::new(RecorderState { checkpoint, journal }) }
    }

    /// Records what changed since the checkpoint, or since it was last asked. The journal gets no more after that: while a job
    /// runs in the background, its changes cannot be told from those of others.
    pub(crate) async fn record(&self) -> Option<DirectChanges> {
        self.record_with(Vec::new()).await
    }

    /// The same with repositories whose branches changed, which undo does not put back.
    pub(crate) async fn record_with(&self, repositories: Vec<PathBuf>) -> Option<DirectChanges> {
        let RecorderState { checkpoint, journal } = std::mem::take(&mut *self.state());
        let Some(checkpoint) = checkpoint else {
            self.record_branches(journal, repositories).await;
            return None;
        };
        let found = tokio::task::spawn_blocking(move || checkpoint.changes()).await.ok()?;
        let CheckpointChanges { mut changes, mut images, now } = found;
        if !repositories.is_empty() {
            changes.uncovered.push("branches of repositories: undo a commit with Git".to_owned());
            images.extend(repositories.into_iter().map(PreImage::unknown));
        }
        changes.undo = match journal {
            Some(journal) => journal.keep_all(images).await.map_err(|error| error.message().to_owned()),
            None => Err(IN_BACKGROUND.to_owned()),
        };
        self.state().checkpoint = Some(now);
        Some(changes)
    }

    /// Records that branches changed of a run whose files are staged: those have pre-images of their own.
    async fn record_branches(&self, journal: Option<Arc<dyn Journal>>, repositories: Vec<PathBuf>) {
        if let Some(journal) = journal.as_ref().filter(|_| !repositories.is_empty()) {
            // What is not on record is told all the same.
            journal.keep_all(repositories.into_iter().map(PreImage::unknown).collect()).await.ok();
        }
        self.state().journal = journal;
    }

    fn state(&self) -> std::sync::MutexGuard<'_, RecorderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The recorder of one call to a job that serves many. Dropped by a call that was cancelled, it still records.
pub(crate) struct CallRecorder(Option<RunRecorder>);

impl CallRecorder {
    pub(crate) fn new(checkpoint: Checkpoint, journal: Arc<dyn Journal>) -> Self {
        Self(Some(RunRecorder::new(Some(checkpoint), Some(journal))))
    }
}

impl ChangeRecorder for CallRecorder {
    fn finish(mut self: Box<Self>) -> BoxFuture<'static, DirectChanges> {
        let recorder = self.0.take();
        Box::pin(async move {
            let changes = match &recorder {
                Some(recorder) => recorder.record().await,
                None => None,
            };
            changes.unwrap_or_else(|| {
                let undo = Err("the files could not be compared".to_owned());
                DirectChanges { workspace: std::path::PathBuf::new(), changes: Vec::new(), uncovered: Vec::new(), undo }
            })
        })
    }
}

impl Drop for CallRecorder {
    fn drop(&mut self) {
        if let (Some(recorder), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move { recorder.record().await });
        }
    }
}
