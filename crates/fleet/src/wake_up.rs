//! What wakes a worker: a message of the queue, which wants an answer, or its own look at the database, which wants none.

use async_nats::jetstream::{AckKind, Message};

/// What woke a worker.
pub(crate) enum WakeUp {
    /// A message of the queue.
    Message(Box<Message>),
    /// Its own look at the database.
    Look,
}

impl WakeUp {
    pub(crate) async fn answer(&self, kind: AckKind) {
        if let Self::Message(message) = self {
            // One that gets lost brings the message again.
            message.ack_with(kind).await.ok();
        }
    }

    /// Whether it is a message that comes for the first time.
    pub(crate) fn is_first(&self) -> bool {
        matches!(self, Self::Message(_)) && self.deliveries() <= 1
    }

    pub(crate) fn deliveries(&self) -> i64 {
        match self {
            Self::Message(message) => message.info().map_or(1, |info| info.delivered),
            Self::Look => 1,
        }
    }
}
