//! Port for messages to people and services outside of the conversation.

use crate::{BoxFuture, ToolError, named_enum};

named_enum! {
    /// The services that a channel can use.
    ChannelKind {
        /// A bot of Telegram.
        Telegram = "telegram",
        /// An app of Slack.
        Slack = "slack",
        /// A bot of Discord.
        Discord = "discord",
        /// An account of a Matrix server.
        Matrix = "matrix",
        /// Mail: SMTP out, IMAP in.
        Email = "email" | "mail",
        /// Signed HTTP requests, out and in.
        Webhook = "webhook",
        /// Conversations of `haft serve`.
        Chat = "chat" | "gateway",
        /// Notifications on this machine.
        Desktop = "desktop",
    }
}

named_enum! {
    /// What can be done in a channel.
    ChannelAction {
        /// Send a message.
        Send = "send",
        /// Answer a message.
        Reply = "reply",
        /// Change a message that was sent.
        Edit = "edit",
        /// Remove a message that was sent.
        Delete = "delete",
        /// Put an emoji on a message, or take it away.
        React = "react",
        /// Read the newest messages of a conversation.
        Read = "read",
        /// Ask a question with answers to choose from.
        Poll = "poll",
        /// Begin a thread, with its first message.
        Thread = "thread",
    }
}

impl ChannelAction {
    /// Whether it only reads.
    pub const fn only_reads(self) -> bool {
        matches!(self, Self::Read)
    }
}

/// What a configured channel can do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a feature of the service, independent of the others")]
pub struct ChannelOffer {
    /// The name in the configuration.
    pub name: String,
    /// The service.
    pub kind: ChannelKind,
    /// What it can do.
    pub actions: Vec<ChannelAction>,
    /// Whether a message can have files.
    pub has_attachments: bool,
    /// Whether a message can have buttons.
    pub has_buttons: bool,
    /// Whether a message has a subject.
    pub has_subject: bool,
    /// The recipient of a message that names none.
    pub default_to: Option<String>,
    /// Whether a message leaves this machine.
    pub is_outward: bool,
}

/// A file that belongs to a message.
#[derive(Clone, PartialEq, Eq)]
pub struct ChannelFile {
    /// Its name, without folders.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// Its content.
    pub content: Vec<u8>,
}

crate::opaque_debug!(ChannelFile: name = name, media_type = media_type);

/// What is to be done in a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelCommand {
    /// The channel.
    pub channel: String,
    /// The recipient: a user, a room, an address.
    pub to: String,
    /// What to do.
    pub action: ChannelAction,
    /// The text; the question of a poll.
    pub text: String,
    /// The subject, where the channel has one.
    pub subject: Option<String>,
    /// Files that are sent with it.
    pub files: Vec<ChannelFile>,
    /// Labels of buttons, or the answers of a poll.
    pub choices: Vec<String>,
    /// The message that is changed, removed, answered or reacted to.
    pub message_id: Option<String>,
    /// The thread that it belongs to.
    pub thread_id: Option<String>,
    /// The emoji of a reaction.
    pub emoji: Option<String>,
    /// Whether a reaction is taken away.
    pub is_removal: bool,
    /// How many messages are read.
    pub limit: usize,
    /// Read messages before this one.
    pub before: Option<String>,
    /// Whether the recipient is not alerted.
    pub is_silent: bool,
}

impl ChannelCommand {
    /// A command with a text, and nothing else.
    pub fn new(channel: impl Into<String>, to: impl Into<String>, action: ChannelAction, text: impl Into<String>) -> Self {
        Self {
            channel: channel.into(),
            to: to.into(),
            action,
            text: text.into(),
            subject: None,
            files: Vec::new(),
            choices: Vec::new(),
            message_id: None,
            thread_id: None,
            emoji: None,
            is_removal: false,
            limit: 20,
            before: None,
            is_silent: false,
        }
    }
}

named_enum! {
    /// What is known of a message that was to be sent.
    SendOutcome {
        /// The service took it.
        Delivered = "delivered",
        /// It was not sent, or the service refused it.
        NotDelivered = "not_delivered",
        /// Nobody knows: the service did not answer in time, or the program was killed.
        Unknown = "unknown",
    }
}

/// A message that was read.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ChannelEntry {
    /// Its id in the channel.
    pub id: String,
    /// Who sent it.
    pub from: String,
    /// When, as the channel writes it in RFC 3339.
    pub at: Option<String>,
    /// Its text.
    pub text: String,
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelReceipt {
    /// Whether it was carried out.
    pub outcome: SendOutcome,
    /// The id of the message in the channel.
    pub message_id: Option<String>,
    /// Why it was not delivered, or why that is not known.
    pub reason: Option<String>,
    /// The messages that were read, oldest first.
    pub entries: Vec<ChannelEntry>,
}

impl ChannelReceipt {
    /// It was carried out.
    pub fn delivered(message_id: Option<String>) -> Self {
        Self { outcome: SendOutcome::Delivered, message_id, reason: None, entries: Vec::new() }
    }
    /// It was not, or nobody knows.
    pub fn failed(outcome: SendOutcome, reason: impl Into<String>) -> Self {
        Self { outcome, message_id: None, reason: Some(reason.into()), entries: Vec::new() }
    }
}

/// The configured channels.
pub trait MessageChannels: Send + Sync {
    /// What each of them can do.
    fn offers(&self) -> Vec<ChannelOffer>;
    /// Checks a command without carrying it out: lengths, ids, what the channel can do.
    fn check(&self, command: &ChannelCommand) -> Result<(), ToolError>;
    /// Carries a command out, once. The intent is recorded before, the outcome after.
    fn perform<'a>(
        &'a self,
        command: &'a ChannelCommand,
        session: &'a str,
        call: &'a str,
    ) -> BoxFuture<'a, Result<ChannelReceipt, ToolError>>;
}
