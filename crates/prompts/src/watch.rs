//! Notices when an instruction file changes while a session runs.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::instructions::candidate_paths;
use crate::system_prompt::labelled;
use crate::{Instructions, PromptFiles, PromptFolders};

/// How often files are looked at within a turn at most.
const INTERVAL: Duration = Duration::from_secs(2);

/// Size and time of a file; `None` if it is not there.
type PromptStamp = Option<(u64, Option<SystemTime>)>;

/// A changed file of instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstructionChange {
    /// The file, as it is labelled.
    pub label: String,
    /// What the model is told.
    pub text: String,
}

/// Watches the instruction files of a session. Each change is told once.
#[derive(Debug)]
pub struct InstructionWatch {
    folders: PromptFolders,
    files: PromptFiles,
    state: Mutex<PromptWatchState>,
}

#[derive(Debug)]
struct PromptWatchState {
    known: Instructions,
    stamps: Vec<(PathBuf, PromptStamp)>,
    looked: Instant,
}

impl InstructionWatch {
    /// Watches from these instructions on, which the model has.
    pub fn new(folders: PromptFolders, files: PromptFiles, known: Instructions) -> Self {
        let stamps = stamps(&folders);
        Self { folders, files, state: Mutex::new(PromptWatchState { known, stamps, looked: Instant::now() }) }
    }

    fn state(&self) -> MutexGuard<'_, PromptWatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether any file may have changed: looks at sizes and times alone.
    fn may_have_changed(&self) -> bool {
        let mut state = self.state();
        state.looked = Instant::now();
        let now = stamps(&self.folders);
        if now == state.stamps {
            return false;
        }
        state.stamps = now;
        true
    }

    /// As [`changes`](Self::changes), but files are looked at every two seconds at most: a round of a fast model must not wait for them.
    pub async fn recent_changes(&self) -> Vec<InstructionChange> {
        let is_due = self.state().looked.elapsed() >= INTERVAL;
        if is_due { self.changes().await } else { Vec::new() }
    }

    /// What to tell the model: the new text of each file that changed, and the names of those that are gone.
    pub async fn changes(&self) -> Vec<InstructionChange> {
        if !self.may_have_changed() {
            return Vec::new();
        }
        let now = Instructions::read(&self.folders, &self.files).await;
        let before = std::mem::replace(&mut self.state().known, now.clone());
        let changed = now.files.iter().filter(|file| before.file(&file.path) != Some(file)).map(|file| InstructionChange {
            label: file.label.clone(),
            text: format!(
                "[The instructions in {} have changed. They replace those that you have of it:]\n{}",
                file.label,
                labelled(file, self.folders.is_trusted)
            ),
        });
        let removed = before.files.iter().filter(|file| now.file(&file.path).is_none()).map(|file| InstructionChange {
            label: file.label.clone(),
            text: format!("[The instructions in {} are gone: they no longer hold.]", file.label),
        });
        changed.chain(removed).collect()
    }
}

fn stamps(folders: &PromptFolders) -> Vec<(PathBuf, PromptStamp)> {
    let stamp = |path: &PathBuf| path.metadata().ok().map(|metadata| (metadata.len(), metadata.modified().ok()));
    candidate_paths(folders).into_iter().map(|path| (path.clone(), stamp(&path))).collect()
}
