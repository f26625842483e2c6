//! What users said to a turn: it is stored until the conversation has it, so a worker that is killed takes none of it along.

use std::collections::HashSet;
use std::sync::Arc;

use haft_agent::{LedgerEntry, Steering};
use haft_store::{PostgresWork, SessionStore, StateStore};
use tokio::sync::Mutex;

use crate::failure::Failure;

/// Entries of a conversation that are searched for what it has already.
const LOOKED_AT: u64 = 2_000;

/// What was said to one session.
#[derive(Clone)]
pub(super) struct SaidMessages {
    work: PostgresWork,
    session: String,
    /// The ids of those that were passed on.
    passed_on: Arc<Mutex<HashSet<String>>>,
}

impl SaidMessages {
    /// Forgets what the conversation has already: a worker may have been killed before it could.
    pub(super) async fn open(store: &StateStore, session: &str) -> Result<Option<Self>, Failure> {
        let StateStore::Postgres(log) = store else { return Ok(None) };
        let said = Self { work: log.work(), session: session.to_owned(), passed_on: Arc::default() };
        if !said.work.list_said(session).await?.is_empty() {
            said.work.remove_said(find_heard(&*store.sessions(), session).await?).await?;
        }
        Ok(Some(said))
    }

    /// Passes on to the model what was not passed on yet.
    pub(super) async fn pass_on(&self, steering: &Steering) -> Result<(), Failure> {
        let mut passed_on = self.passed_on.lock().await;
        for said in self.work.list_said(&self.session).await? {
            if passed_on.insert(said.id.clone()) {
                steering.say_stored(said.id, said.text);
            }
        }
        Ok(())
    }

    /// Forgets what the conversation has.
    pub(super) async fn forget_heard(&self, steering: &Steering) -> Result<(), Failure> {
        let heard = steering.take_heard();
        if !heard.is_empty() {
            self.work.remove_said(heard).await?;
        }
        Ok(())
    }
}

/// The ids of messages that the conversation has.
async fn find_heard(sessions: &dyn SessionStore, session: &str) -> Result<Vec<String>, Failure> {
    let from = sessions.open(session).await?.messages.saturating_sub(LOOKED_AT);
    let records = sessions.messages(session, from, usize::try_from(LOOKED_AT).unwrap_or(2_000)).await?;
    let entries = records.iter().filter_map(|record| LedgerEntry::read(&record.kind, &record.body));
    Ok(entries.filter_map(|entry| if let LedgerEntry::Heard { messages } = entry { Some(messages) } else { None }).flatten().collect())
}
