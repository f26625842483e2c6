//! Failures of an attempt, and whether a retry can help.

use std::io;
use std::time::Duration;

use haft_contract::causes::{find, innermost};

use super::request::PreparedRequest;
use crate::sse::EventTooLarge;
use crate::{ProviderError, ProviderErrorKind};

/// Why an attempt failed.
#[derive(Debug)]
pub(super) struct AttemptFailure {
    pub(super) error: ProviderError,
    /// Whether a retry can help, as long as nothing of the answer was passed on.
    pub(super) retry: bool,
    /// Whether nothing of the provider answers at this address.
    pub(super) is_elsewhere: bool,
}

impl AttemptFailure {
    /// A failure that a retry would repeat.
    pub(super) fn permanent(kind: ProviderErrorKind, message: String) -> Self {
        Self { error: ProviderError::new(kind, message), retry: false, is_elsewhere: false }
    }
    /// A failure that a retry may fix.
    pub(super) fn transient(kind: ProviderErrorKind, message: String) -> Self {
        Self { error: ProviderError::new(kind, message), retry: true, is_elsewhere: false }
    }
    /// A timeout.
    pub(super) fn timed_out(host: &str, what: &str, limit: Duration) -> Self {
        Self::transient(
            ProviderErrorKind::Timeout,
            format!("{host} {what} within {limit:?}. Try again later, or raise the provider's timeouts."),
        )
    }
}

/// Errors of adapters and decoders. Garbled output of the model is not retried here: the agent loop counts its attempts.
impl From<ProviderError> for AttemptFailure {
    fn from(error: ProviderError) -> Self {
        Self { retry: error.is_retryable() && error.kind != ProviderErrorKind::Garbled, error, is_elsewhere: false }
    }
}

impl From<EventTooLarge> for AttemptFailure {
    fn from(large: EventTooLarge) -> Self {
        Self::permanent(ProviderErrorKind::Malformed, format!("The answer is not a stream of this protocol: {large}. Check the base_url."))
    }
}

/// The failure of a connection.
pub(super) fn describe(error: &reqwest::Error, request: &PreparedRequest) -> AttemptFailure {
    let host = &request.host;
    if let Some(problem) = find::<rustls::Error>(error) {
        return AttemptFailure::permanent(ProviderErrorKind::Network, explain_tls(problem, host));
    }
    if error.is_timeout() && error.is_connect() {
        return AttemptFailure::timed_out(host, "did not accept a connection", request.timeouts.connect);
    }
    if find::<io::Error>(error).is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
        return refused(request);
    }
    if error.is_connect() {
        let message = format!("Cannot reach {host}: {}. Check the base_url and the network.", innermost(error));
        return AttemptFailure::transient(ProviderErrorKind::Network, message);
    }
    AttemptFailure::transient(ProviderErrorKind::Network, format!("The connection to {host} broke: {}. Try again.", innermost(error)))
}

/// A refused connection: retried for a remote server, which may be restarting; not for one on this machine.
fn refused(request: &PreparedRequest) -> AttemptFailure {
    let retry = !request.local;
    let advice = if retry { "Check the base_url, and the proxy if there is one" } else { "Start the server, or check the base_url" };
    let message = format!("Nothing listens at {}. {advice}.", request.host);
    AttemptFailure { error: ProviderError::new(ProviderErrorKind::Network, message), retry, is_elsewhere: false }
}

fn explain_tls(problem: &rustls::Error, host: &str) -> String {
    match problem {
        rustls::Error::InvalidCertificate(why) => format!(
            "The certificate of {host} was not accepted: {why}. Nothing was sent. If a proxy of your network signs it, \
             name its certificates in SSL_CERT_FILE."
        ),
        other => format!("No secure connection to {host}: {other}. Check that the base_url uses https."),
    }
}

/// Adds a sentence to a message.
pub(super) fn add(error: &mut ProviderError, sentence: &str) {
    error.message = format!("{}. {sentence}", error.message.trim_end_matches(['.', ' ']));
}
