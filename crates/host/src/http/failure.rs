//! What went wrong on the way, in words.

use std::io;

use haft_contract::causes::{find, innermost};
use haft_contract::{ErrorKind, ToolError};

use super::client::HttpOptions;
use super::guard::Refusal;
use super::resolver::Unresolved;
use super::target::RequestTarget;

/// The error of an exchange that failed.
pub(crate) fn describe(error: reqwest::Error, target: &RequestTarget, options: &HttpOptions) -> ToolError {
    let (kind, message) = explain(&error, target, options);
    // The URL is in the message already, shortened.
    ToolError::new(kind, message).with_source(error.without_url())
}

fn explain(error: &reqwest::Error, target: &RequestTarget, options: &HttpOptions) -> (ErrorKind, String) {
    let (host, url) = (&target.connect.host, target.display_url());
    if let Some(refusal) = find::<Refusal>(error) {
        return (ErrorKind::NetworkError, refusal.to_string());
    }
    if let Some(unresolved) = find::<Unresolved>(error) {
        return (ErrorKind::NetworkError, format!("Cannot resolve host: {host} ({unresolved}). Check the spelling and the connection."));
    }
    if let Some(problem) = find::<rustls::Error>(error) {
        return (ErrorKind::NetworkError, explain_tls(problem, host));
    }
    if error.is_timeout() {
        return (ErrorKind::Timeout, timed_out(error, host, options));
    }
    if find::<io::Error>(error).is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
        return (ErrorKind::NetworkError, format!("Connection refused: {url}. Nothing listens there, or it does not accept connections."));
    }
    (ErrorKind::NetworkError, format!("HTTP request failed: {url}: {}.", innermost(error)))
}

fn timed_out(error: &reqwest::Error, host: &str, options: &HttpOptions) -> String {
    let (what, limit) = if error.is_connect() { ("no connection", options.connect_timeout) } else { ("no data", options.idle_timeout) };
    format!("HTTP request timed out: {what} from {host} within {limit:?}. Try again later, or another address.")
}

fn explain_tls(problem: &rustls::Error, host: &str) -> String {
    match problem {
        rustls::Error::InvalidCertificate(why) => {
            format!("The certificate of {host} was not accepted: {why}. The connection was not made; nothing was sent.")
        }
        other => format!("No secure connection to {host}: {other}. Check that the port speaks https."),
    }
}
