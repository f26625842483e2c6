//! A try that failed, in words, and whether another one may do better.

use std::io;
use std::time::Duration;

use haft_contract::causes::{find, innermost};

use super::request::Request;
use crate::sse::TooLarge;
use crate::{ProviderError, Trouble};

/// Why a try failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: ProviderError,
    /// Whether the same request may be sent again, as long as nothing of the answer was handed out.
    pub(super) again: bool,
}

impl Failure {
    /// A failure that the same request would meet again.
    pub(super) fn lasting(trouble: Trouble, message: String) -> Self {
        Self { error: ProviderError::new(trouble, message), again: false }
    }
    /// A failure that may pass.
    pub(super) fn passing(trouble: Trouble, message: String) -> Self {
        Self { error: ProviderError::new(trouble, message), again: true }
    }
    /// Nothing came in time.
    pub(super) fn late(host: &str, what: &str, limit: Duration) -> Self {
        Self::passing(Trouble::Timeout, format!("{host} {what} within {limit:?}. Try again later, or raise the provider's timeouts."))
    }
}

/// What adapters and decoders say; they know whether it may pass. What the model wrote does not pass: whether it is asked again
/// is for those to decide who count its tries.
impl From<ProviderError> for Failure {
    fn from(error: ProviderError) -> Self {
        Self { again: error.is_retryable() && error.trouble != Trouble::Garbled, error }
    }
}

impl From<TooLarge> for Failure {
    fn from(large: TooLarge) -> Self {
        Self::lasting(Trouble::Malformed, format!("The provider's answer is no stream of this protocol: {large}. Check its base address."))
    }
}

/// An exchange that broke.
pub(super) fn describe(error: &reqwest::Error, request: &Request) -> Failure {
    let host = &request.host;
    if let Some(problem) = find::<rustls::Error>(error) {
        return Failure::lasting(Trouble::Network, explain_tls(problem, host));
    }
    if error.is_timeout() && error.is_connect() {
        return Failure::late(host, "accepted no connection", request.timeouts.connect);
    }
    if find::<io::Error>(error).is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
        return refused(request);
    }
    if error.is_connect() {
        let message = format!("{host} cannot be reached: {}. Check the provider's base address and the network.", innermost(error));
        return Failure::passing(Trouble::Network, message);
    }
    Failure::passing(Trouble::Network, format!("The connection to {host} broke: {}. Try again.", innermost(error)))
}

/// A server elsewhere may be starting again; one on this machine was not started, and waiting for it only hides that.
fn refused(request: &Request) -> Failure {
    let again = !request.local;
    let advice = if again {
        "Check the provider's base address, and the proxy if there is one"
    } else {
        "Start the server, or check the base address"
    };
    let message = format!("Nothing listens at {}. {advice}.", request.host);
    Failure { error: ProviderError::new(Trouble::Network, message), again }
}

fn explain_tls(problem: &rustls::Error, host: &str) -> String {
    match problem {
        rustls::Error::InvalidCertificate(why) => format!(
            "The certificate of {host} was not accepted: {why}. Nothing was sent. If a proxy of your network signs it, \
             name its certificates in SSL_CERT_FILE."
        ),
        other => format!("No secure connection to {host}: {other}. Check that the base address speaks https."),
    }
}

/// Adds a sentence to a message, however that ends.
pub(super) fn add(error: &mut ProviderError, sentence: &str) {
    error.message = format!("{}. {sentence}", error.message.trim_end_matches(['.', ' ']));
}
