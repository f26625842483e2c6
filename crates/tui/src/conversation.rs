//! A conversation with a model: the runner, the stored session, and the stores that record it.

use std::any::Any;
use std::sync::Arc;

use haft_agent::{ConversationAgents, Runner};
use haft_store::{CallLog, SessionRecord, SessionStore};
use haft_text::truncate::first_chars;

use crate::background_jobs::end_jobs;
use crate::failure::Failure;

/// How much of the first message becomes the title of its session.
const TITLE_CHARACTERS: usize = 60;

/// One conversation, as `run` and `chat` hold it.
pub struct Conversation {
    pub runner: Runner,
    pub record: SessionRecord,
    pub sessions: Arc<dyn SessionStore>,
    pub log: Arc<dyn CallLog>,
    /// Why this model answers.
    pub reason: String,
    /// Background jobs of the session, in a type that only the binary knows. Dropping it ends them.
    pub jobs: Box<dyn Any + Send + Sync>,
    /// The sub-agents of the conversation.
    pub agents: Arc<ConversationAgents>,
}

haft_contract::opaque_debug!(Conversation: record = record);

impl Conversation {
    /// Ends what still works for the conversation, and waits until that is stored.
    pub async fn finish(&self) {
        self.agents.lanes().shut_down("the conversation was closed").await;
        end_jobs(&self.runner.session).await;
    }

    /// Titles the session with the first line of this message, unless it has a title.
    pub async fn title_from(&mut self, message: &str) -> Result<(), Failure> {
        if self.record.title.is_none() {
            let title = first_chars(message.trim().lines().next().unwrap_or_default(), TITLE_CHARACTERS).to_owned();
            self.sessions.rename(&self.record.id, Some(&title)).await?;
            self.record.title = Some(title);
        }
        Ok(())
    }
}
