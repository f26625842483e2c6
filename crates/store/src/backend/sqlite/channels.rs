//! Channels in the database.

mod incoming;
mod outgoing;
mod waiting;

use std::sync::Arc;
use std::time::SystemTime;

use haft_contract::BoxFuture;
use haft_contract::ports::SendOutcome;
use rusqlite::Connection;

use super::database::Database;
use crate::StoreError;
use crate::backend::blocking::blocking;
use crate::backend::write::{ChangeAnswer, ChannelChange, RIGHT, StoreChange, WRONG};
use crate::channel_store::{
    ChannelStore, ConversationRecord, GuessAnswer, IntentAnswer, OutgoingRecord, PairedSender, SendIntent, UnansweredMessage,
};

#[cfg(feature = "postgres")]
pub(in crate::backend) use self::{
    incoming::SEEN_AGE,
    outgoing::{MOST_OUTGOING, outgoing_record},
};

/// A [`ChannelStore`] in the SQLite file of a [`SqliteCallLog`](crate::SqliteCallLog), which makes it.
#[derive(Debug, Clone)]
pub struct SqliteChannels {
    database: Arc<Database>,
}

pub(super) fn apply(connection: &Connection, change: &ChannelChange) -> rusqlite::Result<ChangeAnswer> {
    let answer = match change {
        ChannelChange::Intend { intent, since } => outgoing::intend(connection, intent, *since)?,
        ChannelChange::Settle { id, outcome, message, reason, at } => {
            outgoing::settle(connection, id, *outcome, (message.as_deref(), reason.as_deref()), *at)?
        }
        ChannelChange::AddSender(sender) => incoming::add_sender(connection, sender)?,
        ChannelChange::RemoveSender { channel, sender } => incoming::remove_sender(connection, channel, sender)?,
        ChannelChange::OpenCode { channel, hash, expires } => incoming::open_code(connection, channel, hash, *expires)?,
        ChannelChange::GuessCode { channel, hash, now, most } => incoming::guess_code(connection, (channel, hash), *now, *most)?,
        ChannelChange::Conversation(conversation) => incoming::put_conversation(connection, conversation)?,
        ChannelChange::Seen { channel, message, at, waiting } => {
            let new = incoming::see(connection, channel, message, *at)?;
            if let Some((body, presence)) = waiting.as_ref().filter(|_| new > 0) {
                waiting::add(connection, (channel, message, body), *at, presence)?;
            }
            new
        }
        ChannelChange::Answered { channel, message } => waiting::remove(connection, channel, message)?,
        ChannelChange::TakeWaiting { sequence, before, presence } => waiting::take(connection, *sequence, before, presence)?,
        ChannelChange::Cursor { channel, cursor } => incoming::set_cursor(connection, channel, cursor)?,
    };
    Ok(Ok(answer))
}

impl SqliteChannels {
    pub(super) fn new(database: Arc<Database>) -> Self {
        Self { database }
    }

    /// Announces this process as alive; returns its id.
    async fn announce(&self) -> Result<String, StoreError> {
        let owners = Arc::clone(self.database.owners());
        if let Some(id) = owners.my_id() {
            return Ok(id.to_owned());
        }
        blocking(move || owners.announce()).await
    }

    async fn changed(&self, change: ChannelChange) -> Result<u64, StoreError> {
        self.database.write(StoreChange::Channel(Box::new(change))).await
    }

    async fn record(&self, change: ChannelChange) -> Result<(), StoreError> {
        self.changed(change).await.map(drop)
    }
}

impl ChannelStore for SqliteChannels {
    fn intend(&self, intent: SendIntent, since: SystemTime) -> BoxFuture<'_, Result<IntentAnswer, StoreError>> {
        Box::pin(async move {
            let (id, fingerprint) = (intent.id.clone(), intent.fingerprint.clone());
            let now = intent.created;
            if self.changed(ChannelChange::Intend { intent, since }).await? == 0 {
                return Ok(IntentAnswer::Recorded);
            }
            let known = self.database.read(move |connection| Ok(outgoing::find_duplicate(connection, &id, &fingerprint, now)?)).await?;
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
        let channel = channel.map(str::to_owned);
        Box::pin(self.database.read(move |connection| Ok(outgoing::list(connection, channel.as_deref(), limit, now)?)))
    }

    fn add_sender(&self, sender: PairedSender) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.record(ChannelChange::AddSender(sender)))
    }

    fn remove_sender<'a>(&'a self, channel: &'a str, sender: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        let change = ChannelChange::RemoveSender { channel: channel.to_owned(), sender: sender.to_owned() };
        Box::pin(async move { Ok(self.changed(change).await? > 0) })
    }

    fn senders(&self) -> BoxFuture<'_, Result<Vec<PairedSender>, StoreError>> {
        Box::pin(self.database.read(|connection| Ok(incoming::senders(connection)?)))
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
        let (channel, conversation) = (channel.to_owned(), conversation.to_owned());
        Box::pin(self.database.read(move |connection| Ok(incoming::conversation(connection, &channel, &conversation)?)))
    }

    fn conversation_of<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Option<ConversationRecord>, StoreError>> {
        let session = session.to_owned();
        Box::pin(self.database.read(move |connection| Ok(incoming::conversation_of(connection, &session)?)))
    }

    fn conversations(&self, limit: usize) -> BoxFuture<'_, Result<Vec<ConversationRecord>, StoreError>> {
        Box::pin(self.database.read(move |connection| Ok(incoming::conversations(connection, limit)?)))
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
                Some(body) => Some((body.to_owned(), self.announce().await?)),
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
            let (presence, owners) = (self.announce().await?, Arc::clone(self.database.owners()));
            let left = self.database.read(move |connection| waiting::left_behind(connection, &owners)).await?;
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
        let channel = channel.to_owned();
        Box::pin(self.database.read(move |connection| Ok(incoming::cursor(connection, &channel)?)))
    }

    fn set_cursor<'a>(&'a self, channel: &'a str, cursor: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.record(ChannelChange::Cursor { channel: channel.to_owned(), cursor: cursor.to_owned() }))
    }
}
