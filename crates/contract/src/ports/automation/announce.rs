//! Announcements: results on their way to the user.

use crate::BoxFuture;

/// Where a result is announced.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AnnounceTarget {
    /// The channel; the conversation itself, if absent.
    pub channel: Option<String>,
    /// The recipient on the channel.
    pub to: Option<String>,
    /// The conversation that scheduled the job.
    pub session: Option<String>,
}

/// A text that is to be announced, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// Tells it from all others; a channel that has idempotency keys uses it as one.
    pub key: String,
    /// What it is about.
    pub title: String,
    /// The text.
    pub text: String,
}

/// What became of an announcement or a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivered {
    /// The recipient has it; where, in words.
    Yes(String),
    /// It was not sent: why, and whether a later try can help.
    No {
        /// Why.
        why: String,
        /// Whether a later try can help.
        retry: bool,
    },
    /// It may or may not have arrived; why that is not known.
    Unknown(String),
}

/// Announces texts to the user: in a conversation, as a notice, or on a channel.
pub trait Announce: Send + Sync {
    /// Announces a text.
    fn announce<'a>(&'a self, target: &'a AnnounceTarget, announcement: &'a Announcement) -> BoxFuture<'a, Delivered>;
}
