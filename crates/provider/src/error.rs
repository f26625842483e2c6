//! What can go wrong between us and a model.

use std::time::Duration;

/// What kind of trouble it is; decides whether trying again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Trouble {
    /// The key is missing, wrong or expired.
    Key,
    /// Too many requests, or no quota.
    RateLimited,
    /// The provider is overloaded or failed.
    Server,
    /// There is no such model or address.
    NotFound,
    /// The request is longer than the model's window.
    TooLong,
    /// The provider refuses the request as it is.
    BadRequest,
    /// It could not be reached, or the connection broke.
    Network,
    /// Nothing came for too long.
    Timeout,
    /// What came is not the protocol.
    Malformed,
    /// The model wrote what its own provider could not use. Asked again, it may write something else.
    Garbled,
    /// The person or program stopped it.
    Cancelled,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ProviderError {
    /// What kind of trouble.
    pub trouble: Trouble,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
    /// One sentence for a person, with what to do next; it never holds a key.
    pub message: String,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// Whether parts of the answer had been handed out before: the same request again would say them twice.
    pub partial: bool,
}

impl ProviderError {
    /// An error.
    pub fn new(trouble: Trouble, message: impl Into<String>) -> Self {
        Self { trouble, status: None, message: message.into(), retry_after: None, partial: false }
    }
    /// With the status of the answer.
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }
    /// With the time to wait.
    pub fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }
    /// With word of whether parts of the answer had been handed out.
    pub fn with_partial(mut self, partial: bool) -> Self {
        self.partial = partial;
        self
    }
    /// Whether it is worth to ask again: the same request may work a little later, or the model may answer better.
    pub fn is_retryable(&self) -> bool {
        matches!(self.trouble, Trouble::RateLimited | Trouble::Server | Trouble::Network | Trouble::Timeout | Trouble::Garbled)
    }
}
