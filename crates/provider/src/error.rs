//! Errors of requests to a provider.

use std::time::Duration;

/// Kind of a provider error; decides whether a retry can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProviderErrorKind {
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
    /// The provider could not be reached, or the connection broke.
    Network,
    /// Nothing came for too long.
    Timeout,
    /// The response is not valid in the protocol.
    Malformed,
    /// The model wrote output that its provider could not use; another attempt may succeed.
    Garbled,
    /// The user or the program cancelled it.
    Cancelled,
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ProviderError {
    /// Kind of the error.
    pub kind: ProviderErrorKind,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
    /// One or two sentences for the user, with what to do next; never contains a key.
    pub message: String,
    /// Delay that the provider asks for.
    pub retry_after: Option<Duration>,
    /// Whether parts of the response were passed on already: a retry would repeat them.
    pub partial: bool,
}

impl ProviderError {
    /// An error.
    pub fn new(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self { kind, status: None, message: message.into(), retry_after: None, partial: false }
    }
    /// Sets the HTTP status.
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }
    /// Sets the delay that the provider asks for.
    pub fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }
    /// Sets whether parts of the response were passed on.
    pub fn with_partial(mut self, partial: bool) -> Self {
        self.partial = partial;
        self
    }
    /// Whether a retry can help: the same request may work later, or the model may answer better.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.kind,
            ProviderErrorKind::RateLimited
                | ProviderErrorKind::Server
                | ProviderErrorKind::Network
                | ProviderErrorKind::Timeout
                | ProviderErrorKind::Garbled
        )
    }
}
