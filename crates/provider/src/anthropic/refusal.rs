//! What Anthropic says when it does not answer.

use serde::Deserialize;

use crate::refused::{refused, trouble_of};
use crate::{ProviderError, Trouble};

#[derive(Deserialize)]
struct Body {
    error: Said,
}

/// The error object of an answer, and of an event in the stream.
#[derive(Deserialize)]
pub(super) struct Said {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    message: String,
}

pub(super) fn of_answer(status: u16, body: &[u8]) -> ProviderError {
    let error = match serde_json::from_slice::<Body>(body) {
        Ok(Body { error }) => refused(error.trouble().unwrap_or_else(|| trouble_of(status)), &error.message),
        Err(_) => refused(trouble_of(status), &String::from_utf8_lossy(body)),
    };
    error.with_status(status)
}

/// An error that came inside of a stream, where there is no status.
pub(super) fn of_event(error: &Said) -> ProviderError {
    let said = if error.message.is_empty() { &error.kind } else { &error.message };
    refused(error.trouble().unwrap_or(Trouble::Server), said)
}

/// The same, of data that is no event of the protocol but holds an error.
pub(super) fn inside(data: &str) -> Option<ProviderError> {
    serde_json::from_str::<Body>(data).ok().map(|body| of_event(&body.error))
}

impl Said {
    fn trouble(&self) -> Option<Trouble> {
        Some(match self.kind.as_str() {
            "authentication_error" | "permission_error" | "billing_error" => Trouble::Key,
            "rate_limit_error" => Trouble::RateLimited,
            "overloaded_error" | "api_error" | "conflict_error" => Trouble::Server,
            "timeout_error" => Trouble::Timeout,
            "not_found_error" => Trouble::NotFound,
            "request_too_large" => Trouble::TooLong,
            "invalid_request_error" => self.of_the_request(),
            _ => return None,
        })
    }

    /// Length and an empty account have no type of their own.
    fn of_the_request(&self) -> Trouble {
        if ["prompt is too long", "exceed context limit"].iter().any(|mark| self.message.contains(mark)) {
            Trouble::TooLong
        } else if self.message.contains("credit balance") {
            Trouble::Key
        } else {
            Trouble::BadRequest
        }
    }
}
