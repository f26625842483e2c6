//! Channels on the server.

use std::sync::Arc;
use std::time::SystemTime;

use haft_contract::BoxFuture;
use haft_contract::ports::SendOutcome;

use super::channel_rows;
use super::database::Database;
use super::failure::Failure;
use super::link::Link;
use crate::StoreError;
use crate::backend::write::{ChannelChange, RIGHT, StoreChange, WRONG};
use crate::channel_store::{
    ChannelStore, ConversationRecord, GuessAnswer, IntentAnswer, OutgoingRecord, PairedSender, SendIntent, UnansweredMessage,
};

/// A [`ChannelStore`] on the server of a [`PostgresLog`](crate::PostgresLog), which makes it.
#[derive(Debug, Clone)]
pub struct PostgresChannels {
    database: Arc<Database>,
}

pub(super) async fn apply(link: &Link, change: &ChannelChange) -> Result<u64, Failure> {
    match change {
        ChannelChange::Intend { intent, since } => channel_rows::intend(link, intent, *since).await,
        ChannelChange::Settle { id, outcome, message, reason, at } => {
            channel_rows::settle(link, id, *outcome, (message.as_deref(), reason.as_deref()), *at).await
        }
        ChannelChange::AddSender(sender) => channel_rows::add_sender(link, sender).await,
        ChannelChange::RemoveSender { channel, sender } => channel_rows::remove_sender(link, channel, sender).await,
        ChannelChange::OpenCode { channel, hash, expires } => channel_rows::open_code(link, channel, hash, *expires).await,
        ChannelChange::GuessCode { channel, hash, now, most } => channel_rows::guess_code(link, (channel, hash), *now, *most).await,
        ChannelChange::Conversation(conversation) => channel_rows::put_conversation(link, conversation).await,
        ChannelChange::Seen { channel, message, at, waiting } => {
            let new = channel_rows::see(link, channel, message, *at).await?;
            if let Some((body, presence)) = waiting.as_ref().filter(|_| new > 0) {
                channel_rows::wait(link, (channel, message, body), *at, presence).await?;
            }
            Ok(new)
        }
        ChannelChange::Answered { channel, message } => channel_rows::stop_waiting(link, channel, message).await,
        ChannelChange::TakeWaiting { sequence, before, presence } => channel_rows::take_waiting(link, *sequence, before, presence).await,
        ChannelChange::Cursor { channel, cursor } => channel_rows::set_cursor(link, channel, cursor).await,
    }
}

impl PostgresChannels {
    pub(super) fn new(database: Arc<Database>) -> Self {
        Self { database }
    }

    async fn changed(&self, change: ChannelChange) -> Result<u64, StoreError> {
        self.database.write(StoreChange::Channel(Box::new(change))).await
    }

    async fn record(&self, change: ChannelChange) -> Result<(), StoreError> {
        self.changed(change).await.map(drop)
    }
}

impl ChannelStore for PostgresChannels {
    fn intend(&self, intent: SendIntent, since: SystemTime) -> BoxFuture<'_, Result<IntentAnswer, StoreError>> {
        Box::pin(async move {
            let (id, fingerprint) = (intent.id.clone(), intent.fingerprint.clone());
            let now = intent.created;
            if self.changed(ChannelChange::Intend { intent, since }).await? == 0 {
                return Ok(IntentAnswer::Recorded);
            }
            let about = (id, fingerprint, now);
            let known =
                self.database.read(about, |link, (id, print, now)| Box::pin(channel_rows::find_duplicate(link, id, print, *now))).await?;
            Ok(known.map_or(IntentAnswer::Recorded, |record| IntentAnswer::Known(Box::new(record))))
        })
    }

    fn settle<'a>(
        &'a self,
        id: &'a str,
        outcome: SendOutcome,
        message: Option<&'a str>,
        reason: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (message, reason, at) = (message.map(str::to_owned), reason.map(str::to_owned), SystemTime::now());
        Box::pin(self.record(ChannelChange::Settle { id: id.to_owned(), outcome, message, reason, at }))
    }

    fn outgoing(&self, channel: Option<&str>, limit: usize, now: SystemTime) -> BoxFuture<'_, Result<Vec<OutgoingRecord>, StoreError>> {
        let about = (channel.map(str::to_owned), limit, now);
        Box::pin(
            self.database.read(about, |link, (channel, limit, now)| Box::pin(channel_rows::list(link, channel.as_deref(), *limit, *now))),
        )
    }

    fn add_sender(&self, sender: PairedSender) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.record(ChannelChange::AddSender(sender)))
    }

    fn remove_sender<'a>(&'a self, channel: &'a str, sender: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        let change = ChannelChange::RemoveSender { channel: channel.to_owned(), sender: sender.to_owned() };
        Box::pin(async move { Ok(self.changed(change).await? > 0) })
    }

    fn senders(&self) -> BoxFuture<'_, Result<Vec<PairedSender>, StoreError>> {
        Box::pin(self.database.read((), |link, ()| Box::pin(channel_rows::senders(link))))
    }

    fn open_code<'a>(&'a self, channel: &'a str, hash: &'a str, expires: SystemTime) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.record(ChannelChange::OpenCode { channel: channel.to_owned(), hash: hash.to_owned(), expires }))
    }

    fn guess_code<'a>(
        &'a self,
        channel: &'a str,
        hash: &'a str,
        now: SystemTime,
        most: u32,
    ) -> BoxFuture<'a, Result<GuessAnswer, StoreError>> {
        let change = ChannelChange::GuessCode { channel: channel.to_owned(), hash: hash.to_owned(), now, most };
        Box::pin(async move {
            Ok(match self.changed(change).await? {
                RIGHT => GuessAnswer::Right,
                WRONG => GuessAnswer::Wrong,
                _ => GuessAnswer::NoCode,
            })
        })
    }

    fn put_conversation(&self, conversation: ConversationRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.record(ChannelChange::Conversation(conversation)))
    }

    fn conversation<'a>(
        &'a self,
        channel: &'a str,
        conversation: &'a str,
    ) -> BoxFuture<'a, Result<Option<ConversationRecord>, StoreError>> {
        let about = (channel.to_owned(), conversation.to_owned());
        Box::pin(
            self.database.read(about, |link, (channel, conversation)| Box::pin(channel_rows::conversation(link, channel, conversation))),
        )
    }

    fn conversation_of<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Option<ConversationRecord>, StoreError>> {
        Box::pin(self.database.read(session.to_owned(), |link, session| Box::pin(channel_rows::conversation_of(link, session))))
    }

    fn conversations(&self, limit: usize) -> BoxFuture<'_, Result<Vec<ConversationRecord>, StoreError>> {
        Box::pin(self.database.read(limit, |link, limit| Box::pin(channel_rows::conversations(link, *limit))))
    }

    fn first_seen<'a>(
        &'a self,
        channel: &'a str,
        message: &'a str,
        at: SystemTime,
        waiting: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let waiting = match waiting {
                Some(body) => Some((body.to_owned(), self.database.presences().announce().await?)),
                None => None,
            };
            let change = ChannelChange::Seen { channel: channel.to_owned(), message: message.to_owned(), at, waiting };
            Ok(self.changed(change).await? > 0)
        })
    }

    fn answered<'a>(&'a self, channel: &'a str, message: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.record(ChannelChange::Answered { channel: channel.to_owned(), message: message.to_owned() }))
    }

    fn take_unanswered(&self) -> BoxFuture<'_, Result<Vec<UnansweredMessage>, StoreError>> {
        Box::pin(async {
            let presences = Arc::clone(self.database.presences());
            let presence = presences.announce().await?;
            let left = self.database.read(presences, |link, presences| Box::pin(channel_rows::left_behind(link, presences))).await?;
            let mut taken = Vec::new();
            for (sequence, before, message) in left {
                // Another process may be faster.
                if self.changed(ChannelChange::TakeWaiting { sequence, before, presence: presence.clone() }).await? > 0 {
                    taken.push(message);
                }
            }
            Ok(taken)
        })
    }

    fn cursor<'a>(&'a self, channel: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(self.database.read(channel.to_owned(), |link, channel| Box::pin(channel_rows::cursor(link, channel))))
    }

    fn set_cursor<'a>(&'a self, channel: &'a str, cursor: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.record(ChannelChange::Cursor { channel: channel.to_owned(), cursor: cursor.to_owned() }))
    }
}
