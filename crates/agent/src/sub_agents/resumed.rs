//! A sub-agent that the user continues: its state follows its turns.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use haft_contract::{SubAgentState, SubAgentStatus};
use haft_store::{SessionStore, StoreError};

use super::run::end_state;
use crate::events::TurnEnd;

/// The stored state of a sub-agent whose conversation the user continues.
pub struct ResumedAgent {
    store: Arc<dyn SessionStore>,
    status: Mutex<SubAgentStatus>,
}

haft_contract::opaque_debug!(ResumedAgent);

impl ResumedAgent {
    /// With its last state.
    pub fn new(store: Arc<dyn SessionStore>, status: SubAgentStatus) -> Self {
        Self { store, status: Mutex::new(status) }
    }

    /// A turn begins: from now on it fails with this process.
    pub(crate) async fn begin(&self) -> Result<(), StoreError> {
        self.change(|status| {
            // Its parent has the answer, or gets the one that comes now.
            status.reported &= status.state == SubAgentState::Done;
            (status.state, status.started) = (SubAgentState::Running, Some(SystemTime::now()));
            (status.ended, status.error) = (None, None);
        })
        .await
    }

    /// A turn has ended.
    pub(crate) async fn end(&self, end: &TurnEnd) -> Result<(), StoreError> {
        self.change(|status| {
            (status.state, status.error) = end_state(end, || (SubAgentState::Killed, "the user stopped it".to_owned()));
            status.ended = Some(SystemTime::now());
            status.rounds += end.rounds;
            status.calls += end.calls;
            status.input += end.usage.input;
            status.output += end.usage.output;
            status.cost_micros = end.cost.map(|cost| cost.0 + status.cost_micros.unwrap_or_default()).or(status.cost_micros);
            if !end.text.trim().is_empty() {
                status.answer = Some(end.text.clone());
            }
        })
        .await
    }

    async fn change(&self, change: impl FnOnce(&mut SubAgentStatus)) -> Result<(), StoreError> {
        let status = {
            let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
            change(&mut status);
            status.clone()
        };
        self.store.put_sub_agent(status).await
    }
}

#[cfg(test)]
mod tests {
    use haft_store::NewSession;
    use haft_testkit::sub_agent_status;

    use super::*;
    use crate::events::EndReason;
    use crate::test_stores::session_store;

    #[tokio::test]
    async fn state_follows_turns_and_the_parent_is_told_what_it_does_not_know() {
        let store = session_store();
        let session = store.create(NewSession::new("main", std::path::Path::new("/w"))).await.unwrap();
        for (before, was_reported, is_reported) in [
            (SubAgentState::Failed, false, false),
            (SubAgentState::Failed, true, false),
            (SubAgentState::Done, true, true),
            (SubAgentState::Done, false, false),
        ] {
            let status = SubAgentStatus { reported: was_reported, calls: 2, ..sub_agent_status(&session.id, before) };
            let resumed = ResumedAgent::new(Arc::clone(&store), status);
            resumed.begin().await.unwrap();
            let running = store.sub_agent(&session.id).await.unwrap().unwrap();
            assert_eq!((running.state, running.ended, running.error), (SubAgentState::Running, None, None));
            let mut end = TurnEnd::new(EndReason::Done);
            (end.text, end.calls) = ("All found.".into(), 3);
            resumed.end(&end).await.unwrap();
            let done = store.sub_agent(&session.id).await.unwrap().unwrap();
            assert_eq!((done.state, done.answer.as_deref(), done.calls), (SubAgentState::Done, Some("All found."), 5));
            assert_eq!(done.reported, is_reported, "{before} {was_reported}");
            resumed.begin().await.unwrap();
            resumed.end(&TurnEnd::new(EndReason::Cancelled)).await.unwrap();
            let killed = store.sub_agent(&session.id).await.unwrap().unwrap();
            assert_eq!((killed.state, killed.error.as_deref()), (SubAgentState::Killed, Some("the user stopped it")));
        }
    }
}
