//! What Google says when it does not answer.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::refused::{refused, trouble_of};
use crate::{ProviderError, Trouble};

#[derive(Deserialize)]
struct Body {
    error: Said,
}

/// The error object of an answer, and of an event in the stream.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Said {
    /// The status; what stands in between may put a word here.
    code: Value,
    message: String,
    status: String,
    details: Vec<Value>,
}

pub(super) fn of_answer(status: u16, body: &[u8]) -> ProviderError {
    match read(body) {
        Some(said) => explain(&said, status),
        None => refused(trouble_of(status), &String::from_utf8_lossy(body)).with_status(status),
    }
}

/// An error that came inside of a stream; it brings its own status.
pub(super) fn of_event(said: &Said) -> ProviderError {
    let code = said.code.as_u64().and_then(|code| u16::try_from(code).ok());
    explain(said, code.filter(|code| *code > 0).unwrap_or(500))
}

/// Some answers to a request for a stream hold the error in a list.
fn read(body: &[u8]) -> Option<Said> {
    let single = serde_json::from_slice::<Body>(body).ok();
    let first = || serde_json::from_slice::<Vec<Body>>(body).ok()?.into_iter().next();
    single.or_else(first).map(|body| body.error)
}

fn explain(said: &Said, status: u16) -> ProviderError {
    let message = if said.message.is_empty() { &said.status } else { &said.message };
    refused(said.trouble(status), message).with_status(status).with_retry_after(said.retry_after())
}

impl Said {
    fn trouble(&self, status: u16) -> Trouble {
        match self.status.as_str() {
            // A wrong key is an invalid argument like any other, but for this.
            _ if self.details.iter().any(|detail| detail["reason"] == "API_KEY_INVALID") => Trouble::Key,
            "INVALID_ARGUMENT" if self.message.contains("token count") && self.message.contains("exceeds") => Trouble::TooLong,
            "UNAUTHENTICATED" | "PERMISSION_DENIED" => Trouble::Key,
            "NOT_FOUND" => Trouble::NotFound,
            "RESOURCE_EXHAUSTED" => Trouble::RateLimited,
            "DEADLINE_EXCEEDED" => Trouble::Timeout,
            "INTERNAL" | "UNAVAILABLE" | "UNKNOWN" | "ABORTED" | "CANCELLED" => Trouble::Server,
            "INVALID_ARGUMENT" | "FAILED_PRECONDITION" | "OUT_OF_RANGE" => Trouble::BadRequest,
            _ => trouble_of(status),
        }
    }

    /// `{"@type": "…RetryInfo", "retryDelay": "34.07s"}`
    fn retry_after(&self) -> Option<Duration> {
        let delay = self.details.iter().find_map(|detail| detail["retryDelay"].as_str())?;
        let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
        Duration::try_from_secs_f64(seconds).ok()
    }
}
