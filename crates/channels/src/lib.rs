//! Channels: messages to and from people and services outside of a conversation.
//!
//! One file for each channel turns commands into the wire format of its service and answers back; that part is pure. Around it:
//! [`ChannelService`] records every message before it is sent and what became of it after, so that nothing is sent twice;
//! [`Inbox`] takes messages that come in, from senders whom the user let in, to one session for each conversation.
#![warn(missing_docs)]

mod chat;
mod delivery;
mod desktop;
mod dial;
mod discord;
mod driver;
mod email;
mod failure;
mod inbox;
mod limits;
mod matrix;
mod pairing;
mod secret;
mod service;
mod settings;
mod signature;
mod slack;
mod telegram;
mod texts;
mod voice;
mod webhook;
mod wire;

pub use driver::{
    ButtonPress, Capabilities, ChannelDriver, HookAnswer, HookRequest, IncomingMessage, IncomingSender, PolledMessages, VoiceNote,
};
pub use failure::{Certainty, SendFailure};
pub use inbox::{ApprovalAnswers, ChannelApproval, ConversationHost, FailureReport, Inbox, InboxVerdict, policy_channel};
pub use pairing::{CODE_LIFETIME, new_code};
pub use secret::ChannelSecret;
pub use service::{AnnouncementOutcome, ChannelReport, ChannelService, StoreOpener};
pub use settings::{ChannelPorts, ChannelSettings, ChatInbox};
pub use voice::{Transcriber, VoiceRecording};
