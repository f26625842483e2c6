//! Errors of Google.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::json::EventJson;
use crate::refused::{kind_of_status, refused};
use crate::{ProviderError, ProviderErrorKind};

#[derive(Deserialize)]
struct GeminiErrorBody {
    error: GeminiError,
}

/// Error object of a response or of a stream event.
#[derive(Deserialize, Default)]
#[serde(default)]
struct GeminiError {
    /// Status code; a gateway may send a word instead.
    code: Value,
    message: String,
    status: String,
    details: Vec<Value>,
}

pub(super) fn from_response(status: u16, body: &[u8]) -> ProviderError {
    match read(body) {
        Some(error) => explain(&error, status),
        None => refused(kind_of_status(status), &String::from_utf8_lossy(body)).with_status(status),
    }
}

/// An error inside a stream; it carries its status.
pub(super) fn from_event(event: EventJson<'_>) -> ProviderError {
    let error: GeminiError = serde_json::from_value(event.to_value()).unwrap_or_default();
    let code = error.code.as_u64().and_then(|code| u16::try_from(code).ok());
    explain(&error, code.filter(|code| *code > 0).unwrap_or(500))
}

/// Some responses to a streaming request wrap the error in a list.
fn read(body: &[u8]) -> Option<GeminiError> {
    let single = serde_json::from_slice::<GeminiErrorBody>(body).ok();
    let first = || serde_json::from_slice::<Vec<GeminiErrorBody>>(body).ok()?.into_iter().next();
    single.or_else(first).map(|body| body.error)
}

fn explain(error: &GeminiError, status: u16) -> ProviderError {
    let message = if error.message.is_empty() { &error.status } else { &error.message };
    refused(error.error_kind(status), message).with_status(status).with_retry_after(error.retry_after())
}

impl GeminiError {
    fn error_kind(&self, status: u16) -> ProviderErrorKind {
        match self.status.as_str() {
            // Only this reason distinguishes a wrong key from any other invalid argument.
            _ if self.details.iter().any(|detail| detail["reason"] == "API_KEY_INVALID") => ProviderErrorKind::Key,
            "INVALID_ARGUMENT" if self.message.contains("token count") && self.message.contains("exceeds") => ProviderErrorKind::TooLong,
            "UNAUTHENTICATED" | "PERMISSION_DENIED" => ProviderErrorKind::Key,
            "NOT_FOUND" => ProviderErrorKind::NotFound,
            "RESOURCE_EXHAUSTED" => ProviderErrorKind::RateLimited,
            "DEADLINE_EXCEEDED" => ProviderErrorKind::Timeout,
            "INTERNAL" | "UNAVAILABLE" | "UNKNOWN" | "ABORTED" | "CANCELLED" => ProviderErrorKind::Server,
            "INVALID_ARGUMENT" | "FAILED_PRECONDITION" | "OUT_OF_RANGE" => ProviderErrorKind::BadRequest,
            _ => kind_of_status(status),
        }
    }

    /// `{"@type": "…RetryInfo", "retryDelay": "34.07s"}`
    fn retry_after(&self) -> Option<Duration> {
        let delay = self.details.iter().find_map(|detail| detail["retryDelay"].as_str())?;
        let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
        Duration::try_from_secs_f64(seconds).ok()
    }
}
