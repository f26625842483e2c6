//! What a turn does for its sub-agents: it reports their ends, waits for them, and ends them when it is stopped.

use std::sync::Arc;

use haft_provider::{Block, Message};
use tokio_util::sync::CancellationToken;

use super::Runner;
use crate::events::TurnEvent;
use crate::ledger::LedgerEntry;
use crate::sub_agents::{AnswerTrust, end_notice};
use crate::turn::TurnStop;

impl Runner {
    pub(super) fn agent_notices(&self) -> Vec<Block> {
        let Some(agents) = &self.session.host().services().sub_agents else { return Vec::new() };
        let notices = agents.end_notices().into_iter().map(|status| end_notice(&status, AnswerTrust::for_session(&self.session)));
        let notices = notices.inspect(|(line, _)| self.watcher.event(&TurnEvent::Notice(line)));
        notices.map(|(_, text)| Block::text(text)).collect()
    }

    /// Messages that arrived between two turns, to begin one with; the turn adds notices.
    pub fn waiting_messages(&self) -> Message {
        Message::results(self.steering.take())
    }

    /// Waits for a sub-agent in the background, and adds its answer to the conversation. Returns whether there is something to answer.
    pub(super) async fn add_answers_of_agents(&mut self, cancel: &CancellationToken) -> Result<bool, TurnStop> {
        let host = Arc::clone(self.session.host());
        let Some(agents) = host.services().sub_agents.as_ref().filter(|_| self.waits_for_agents) else { return Ok(false) };
        let has_ended = tokio::select! {
            biased;
            () = cancel.cancelled() => false,
            has_ended = agents.next_end() => has_ended,
        };
        if !has_ended {
            return Ok(false);
        }
        let message = Message::results(self.agent_notices());
        self.add(LedgerEntry::User { message: message.clone() }, message).await?;
        Ok(true)
    }

    /// A turn that was stopped leaves no sub-agent behind.
    pub(super) async fn end_agents(&self) {
        let Some(agents) = &self.session.host().services().sub_agents else { return };
        let Ok(all) = agents.list().await else { return };
        let active: Vec<String> = all.into_iter().filter(|status| status.state.is_active()).map(|status| status.id).collect();
        // One that runs in another process ends with that.
        agents.kill(&active, "the turn of its parent was stopped").await.ok();
    }
}
