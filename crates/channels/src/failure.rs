//! Why a channel did not do what it was told, and what is certain about it.

use std::time::Duration;

use haft_contract::ports::SendOutcome;
use haft_text::display::shorten;

/// What is certain after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// Nothing reached the service: it can be tried again.
    NotSent,
    /// The service refused it for now, and did nothing: it can be tried again later.
    Later,
    /// The service refused it, and will again.
    Refused,
    /// Nobody knows: the answer is missing or makes no sense.
    Unknown,
}

impl Certainty {
    /// What is certain about a message if a step before it failed: it was not sent.
    pub(crate) const fn before_sending(self) -> Self {
        match self {
            Self::Unknown => Self::NotSent,
            other => other,
        }
    }
}

/// A failure of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendFailure {
    /// What is certain.
    pub certainty: Certainty,
    /// When the service wants to be asked again.
    pub retry_after: Option<Duration>,
    /// What happened, as a part of a sentence.
    pub message: String,
}

impl SendFailure {
    /// Words of a service are shown in a bounded form.
    const MOST_CHARACTERS: usize = 300;

    pub(crate) fn new(certainty: Certainty, message: impl AsRef<str>) -> Self {
        let message = shorten(message.as_ref().trim_end_matches('.'), Self::MOST_CHARACTERS).into_owned();
        Self { certainty, retry_after: None, message }
    }
    pub(crate) fn not_sent(message: impl AsRef<str>) -> Self {
        Self::new(Certainty::NotSent, message)
    }
    pub(crate) fn refused(message: impl AsRef<str>) -> Self {
        Self::new(Certainty::Refused, message)
    }
    pub(crate) fn unknown(message: impl AsRef<str>) -> Self {
        Self::new(Certainty::Unknown, message)
    }
    pub(crate) fn later(message: impl AsRef<str>, retry_after: Option<Duration>) -> Self {
        Self { retry_after, ..Self::new(Certainty::Later, message) }
    }

    /// Whether it may be tried again without being done twice.
    pub(crate) fn can_repeat(&self, is_idempotent: bool) -> bool {
        match self.certainty {
            Certainty::NotSent | Certainty::Later => true,
            Certainty::Unknown => is_idempotent,
            Certainty::Refused => false,
        }
    }

    /// What is known of the message after the last try.
    pub(crate) fn outcome(&self) -> SendOutcome {
        if self.certainty == Certainty::Unknown { SendOutcome::Unknown } else { SendOutcome::NotDelivered }
    }
}

impl std::fmt::Display for SendFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}
