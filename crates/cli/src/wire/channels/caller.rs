//! Who a session of a channel works for: the sender of its newest message.

use haft_channels::{IncomingSender, policy_channel};
use haft_engine::SessionBuilder;
use haft_policy::Sender;
use haft_store::{ChannelStore, ConversationRecord, StoreError};

/// The channel and the sender whose message a session answers.
#[derive(Debug, Clone)]
pub(crate) struct ChannelCaller {
    channel: String,
    sender: Sender,
    is_owner: bool,
}

impl ChannelCaller {
    /// That of a session, if it is one of a channel.
    pub(crate) async fn of_session(store: &dyn ChannelStore, session: &str) -> Result<Option<Self>, StoreError> {
        Ok(store.conversation_of(session).await?.map(|record| Self::new(&record)))
    }

    fn new(record: &ConversationRecord) -> Self {
        // A sender that cannot be read is nobody: no list lets nobody in.
        let sender: IncomingSender = serde_json::from_str(&record.sender).unwrap_or_default();
        let sender = Sender { id: Some(sender.id), e164: None, username: sender.username, name: sender.name };
        Self { channel: policy_channel(record), sender, is_owner: record.is_owner }
    }

    /// The session has the rights of the channel and the sender; only the owner is the owner.
    pub(crate) fn restrict(&self, session: SessionBuilder) -> SessionBuilder {
        let session = session.channel(self.channel.as_str()).sender(self.sender.clone());
        if self.is_owner { session } else { session.guest() }
    }
}
