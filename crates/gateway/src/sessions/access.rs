//! The access level of one session, which the user may change on the page.

use std::collections::HashMap;
use std::sync::{MutexGuard, PoisonError};

use haft_contract::Access;
use haft_store::SessionRecord;
use haft_tui::chat::ChatOptions;

use super::host::SessionHost;
use crate::auth::{Scope, SignedIn};
use crate::error::ApiError;

/// Sessions whose level is changed in one server.
const MOST_CHOSEN: usize = 10_000;

impl SessionHost {
    /// Changes the level with which the next message runs, also after a restart of the server. A higher one than now needs more than the right to chat,
    /// and none is higher than the configuration allows.
    pub(crate) async fn set_access(&self, record: &SessionRecord, level: Access, token: &SignedIn) -> Result<(), ApiError> {
        let configured = ChatOptions::default().for_session(record);
        let (usual, _) = self.backend.chat(&configured)?.access()?;
        let now = self.chosen_access(record).unwrap_or(usual);
        if level > now {
            token.need(Scope::Admin)?;
        }
        let (given, _) = self.backend.chat(&ChatOptions { access: Some(level), ..configured })?.access()?;
        if given < level {
            let message = format!("The access level {level} is not available: the configuration allows {given} at most.");
            return Err(ApiError::conflict(message).help("The settings say where 'access' comes from."));
        }
        if self.lock_access().len() >= MOST_CHOSEN && self.chosen_now(&record.id).is_none() {
            return Err(ApiError::conflict(format!("The levels of {MOST_CHOSEN} sessions were changed.")).help("Restart the server."));
        }
        self.backend.sessions().set_access(&record.id, Some(level)).await?;
        self.lock_access().insert(record.id.clone(), level);
        Ok(())
    }

    /// The level that the user chose for a session, in this server or in an earlier one. A record may be older than the choice.
    pub(crate) fn chosen_access(&self, record: &SessionRecord) -> Option<Access> {
        self.chosen_now(&record.id).or(record.access)
    }

    fn chosen_now(&self, id: &str) -> Option<Access> {
        self.lock_access().get(id).copied()
    }

    // Entries come and go whole, so the map is consistent after a panic elsewhere.
    fn lock_access(&self) -> MutexGuard<'_, HashMap<String, Access>> {
        self.access.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
