//! Saves of the user's file from a page, which can be taken back while nothing else has changed the file.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use haft_config::{OwnFile, Replaced};
use serde_json::{Value, json};

use super::backend::ServeBackend;
use crate::failure::Failure;

/// Saves that can be taken back.
const MOST: usize = 20;

/// The newest saves, by their ids.
#[derive(Debug, Default)]
pub(super) struct SavedEdits(Mutex<VecDeque<(String, Replaced)>>);

impl SavedEdits {
    /// Writes the file; the answer is the id that takes the save back.
    pub(super) fn replace(&self, own: OwnFile, text: String) -> Result<String, Failure> {
        let replaced = own.replace(text).map_err(|error| Failure::config(error.to_string()))?;
        Ok(self.keep(replaced))
    }

    /// Keeps a file that was replaced.
    pub(super) fn keep(&self, replaced: Replaced) -> String {
        let id = haft_store::new_uuid().to_string();
        let mut saves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        saves.push_back((id.clone(), replaced));
        if saves.len() > MOST {
            saves.pop_front();
        }
        id
    }

    fn take(&self, id: &str) -> Option<Replaced> {
        let mut saves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = saves.iter().position(|(known, _)| known == id)?;
        Some(saves.remove(at)?.1)
    }
}

/// Restores the file as it was before a save.
pub(super) fn undo(backend: &ServeBackend, id: &str) -> Result<Value, Failure> {
    let missing = || Failure::failed("not_found", "this save cannot be undone any more").help("edit the file, or save another change");
    let replaced = backend.saves.take(id).ok_or_else(missing)?;
    let conflict = |error: haft_config::SaveError| Failure::failed("conflict", error.to_string()).help("edit the file itself");
    replaced.restore().map_err(conflict)?;
    backend.reload();
    Ok(json!({ "restored": true }))
}
