//! Messages that were being answered when a server ended: the next one answers them, or says that it does not.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_store::UnansweredMessage;

use super::Inbox;
use super::conversations::key_of;
use crate::driver::IncomingMessage;

/// How many servers try to answer a message: one that makes a server fail must not do so for ever.
const MOST_ATTEMPTS: u32 = 3;
/// An older one is not answered any more.
const OLDEST: Duration = Duration::from_hours(24);
const LOST: &str = "This message was not answered, because this Haft was stopped in the middle of it. Write it again if you still need it.";

/// A message on its way to its conversation.
pub(super) struct WaitingMessage {
    pub(super) message: IncomingMessage,
    /// When it came, if an earlier server has begun to answer it.
    pub(super) cut_off: Option<SystemTime>,
}

impl Inbox {
    /// Takes over what servers that have ended left behind.
    pub(super) async fn take_over(self: &Arc<Self>) -> Result<(), String> {
        let left = self.service.store()?.take_unanswered().await.map_err(|error| error.to_string())?;
        for unanswered in left {
            let receives = self.service.find(&unanswered.channel).is_some_and(|channel| channel.settings.receives);
            match serde_json::from_str::<IncomingMessage>(&unanswered.body) {
                // A sender who was shut out since gets nothing more.
                Ok(message) if receives && self.is_still_allowed(&unanswered.channel, &message).await => {
                    self.answer_or_tell(unanswered, message).await;
                }
                _ => self.settled(&unanswered.channel, &unanswered.message).await,
            }
        }
        Ok(())
    }

    async fn answer_or_tell(self: &Arc<Self>, unanswered: UnansweredMessage, message: IncomingMessage) {
        let UnansweredMessage { channel, at, attempts, .. } = unanswered;
        let is_old = SystemTime::now().duration_since(at).is_ok_and(|age| age > OLDEST);
        let waiting = WaitingMessage { message: message.clone(), cut_off: Some(at) };
        let place = self.reserve(&channel, &message).filter(|_| !is_old && attempts < MOST_ATTEMPTS);
        if let Some(place) = place {
            place.send(waiting);
            return;
        }
        self.reply(&channel, &message, LOST, Some(format!("lost-{}", key_of(&message.id)))).await.ok();
        self.settled(&channel, &message.id).await;
    }

    async fn is_still_allowed(&self, channel: &str, message: &IncomingMessage) -> bool {
        match self.service.find(channel) {
            Some(configured) => self.is_allowed(configured, &message.sender).await.unwrap_or(false),
            None => false,
        }
    }

    /// A message waits no more. If that cannot be recorded, the next server answers it again: its answer has the same key, and is sent once.
    pub(super) async fn settled(&self, channel: &str, message: &str) {
        if let Ok(store) = self.service.store() {
            store.answered(channel, message).await.ok();
        }
    }
}
