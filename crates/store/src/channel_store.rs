//! Channels: messages that went out, senders that were let in, and the session of each conversation.

use std::time::{Duration, SystemTime};

use haft_contract::BoxFuture;
use haft_contract::ports::SendOutcome;

use crate::StoreError;

/// An intent without an outcome is unknown after this time: no channel takes longer.
pub const INTENT_AGE: Duration = Duration::from_mins(2);

/// A message that is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendIntent {
    /// Unique; services that have idempotency keys get it.
    pub id: String,
    /// The channel.
    pub channel: String,
    /// The recipient.
    pub recipient: String,
    /// The action: `send`, `edit`, ….
    pub action: String,
    /// The same for the same content from the same session to the same recipient.
    pub fingerprint: String,
    /// The beginning of the text.
    pub excerpt: String,
    /// The session and the call that send it, if any.
    pub origin: Option<(String, String)>,
    /// When.
    pub created: SystemTime,
}

/// A message that was to be sent, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingRecord {
    /// What was to be sent.
    pub intent: SendIntent,
    /// What became of it; `None` while it is being sent.
    pub outcome: Option<SendOutcome>,
    /// Its id in the channel.
    pub message: Option<String>,
    /// Why it was not delivered, or why that is not known.
    pub reason: Option<String>,
}

/// Whether a message may be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntentAnswer {
    /// It was recorded; send it.
    Recorded,
    /// It was recorded before; do not send it again.
    Known(Box<OutgoingRecord>),
}

/// A sender that the user let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairedSender {
    /// The channel.
    pub channel: String,
    /// The id in the channel.
    pub sender: String,
    /// The shown name at that time.
    pub name: String,
    /// When.
    pub added: SystemTime,
}

/// The session of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationRecord {
    /// The channel.
    pub channel: String,
    /// The conversation in the channel.
    pub conversation: String,
    /// Its session.
    pub session: String,
    /// The sender of its newest message, as JSON.
    pub sender: String,
    /// Whether that sender is the owner.
    pub is_owner: bool,
    /// When the newest message came.
    pub updated: SystemTime,
}

/// A message that came in and was not answered before its process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnansweredMessage {
    /// The channel.
    pub channel: String,
    /// Its id in the channel.
    pub message: String,
    /// What was stored with it.
    pub body: String,
    /// When it came.
    pub at: SystemTime,
    /// How many processes have worked on it before.
    pub attempts: u32,
}

/// What a guess at a code led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuessAnswer {
    /// It was right, and is used up.
    Right,
    /// It was wrong.
    Wrong,
    /// There is no code, or it has expired, or it was guessed at too often.
    NoCode,
}

/// Keeps what channels need.
pub trait ChannelStore: Send + Sync {
    /// Records an intent, unless its id is known, or a message with its fingerprint has no known outcome since `since`.
    fn intend(&self, intent: SendIntent, since: SystemTime) -> BoxFuture<'_, Result<IntentAnswer, StoreError>>;
    /// Records an outcome; the first one counts.
    fn settle<'a>(
        &'a self,
        id: &'a str,
        outcome: SendOutcome,
        message: Option<&'a str>,
        reason: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    /// The newest messages that were to be sent, newest first. Old intents without an outcome are unknown.
    fn outgoing(&self, channel: Option<&str>, limit: usize, now: SystemTime) -> BoxFuture<'_, Result<Vec<OutgoingRecord>, StoreError>>;

    /// Lets a sender in.
    fn add_sender(&self, sender: PairedSender) -> BoxFuture<'_, Result<(), StoreError>>;
    /// Shuts a sender out; says whether there was one.
    fn remove_sender<'a>(&'a self, channel: &'a str, sender: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
    /// The senders that the user let in.
    fn senders(&self) -> BoxFuture<'_, Result<Vec<PairedSender>, StoreError>>;
    /// Opens a code for a channel, in place of an earlier one.
    fn open_code<'a>(&'a self, channel: &'a str, hash: &'a str, expires: SystemTime) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Tries a code. After `most` wrong guesses it is gone.
    fn guess_code<'a>(
        &'a self,
        channel: &'a str,
        hash: &'a str,
        now: SystemTime,
        most: u32,
    ) -> BoxFuture<'a, Result<GuessAnswer, StoreError>>;

    /// Records the session of a conversation and its newest sender.
    fn put_conversation(&self, conversation: ConversationRecord) -> BoxFuture<'_, Result<(), StoreError>>;
    /// The session of a conversation.
    fn conversation<'a>(&'a self, channel: &'a str, conversation: &'a str)
    -> BoxFuture<'a, Result<Option<ConversationRecord>, StoreError>>;
    /// The conversation of a session.
    fn conversation_of<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Option<ConversationRecord>, StoreError>>;
    /// The conversations, the newest first.
    fn conversations(&self, limit: usize) -> BoxFuture<'_, Result<Vec<ConversationRecord>, StoreError>>;

    /// Notes a message that came in; says whether it is new. With a body it waits for an answer of this process from now on.
    fn first_seen<'a>(
        &'a self,
        channel: &'a str,
        message: &'a str,
        at: SystemTime,
        waiting: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;
    /// Notes that a message waits no more.
    fn answered<'a>(&'a self, channel: &'a str, message: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Takes over the messages whose process has ended before they were answered, oldest first. They wait for this process from now on.
    fn take_unanswered(&self) -> BoxFuture<'_, Result<Vec<UnansweredMessage>, StoreError>>;
    /// How far a channel was read.
    fn cursor<'a>(&'a self, channel: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>>;
    /// Notes how far a channel was read.
    fn set_cursor<'a>(&'a self, channel: &'a str, cursor: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;
}
