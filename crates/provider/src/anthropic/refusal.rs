//! Errors of Anthropic.

use serde::Deserialize;

use crate::json::EventJson;
use crate::refused::{kind_of_status, refused};
use crate::{ProviderError, ProviderErrorKind};

#[derive(Deserialize)]
struct AnthropicErrorBody {
    error: AnthropicError,
}

/// Error object of a response.
#[derive(Deserialize)]
struct AnthropicError {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    message: String,
}

pub(super) fn from_response(status: u16, body: &[u8]) -> ProviderError {
    let error = match serde_json::from_slice::<AnthropicErrorBody>(body) {
        Ok(AnthropicErrorBody { error }) => refused(error.error_kind().unwrap_or_else(|| kind_of_status(status)), &error.message),
        Err(_) => refused(kind_of_status(status), &String::from_utf8_lossy(body)),
    };
    error.with_status(status)
}

/// An error inside a stream, where there is no status.
pub(super) fn from_event(error: EventJson<'_>) -> ProviderError {
    let error = AnthropicError { kind: error.text("type").to_owned(), message: error.text("message").to_owned() };
    let message = if error.message.is_empty() { &error.kind } else { &error.message };
    refused(error.error_kind().unwrap_or(ProviderErrorKind::Server), message)
}

impl AnthropicError {
    fn error_kind(&self) -> Option<ProviderErrorKind> {
        Some(match self.kind.as_str() {
            "authentication_error" | "permission_error" | "billing_error" => ProviderErrorKind::Key,
            "rate_limit_error" => ProviderErrorKind::RateLimited,
            "overloaded_error" | "api_error" | "conflict_error" => ProviderErrorKind::Server,
            "timeout_error" => ProviderErrorKind::Timeout,
            "not_found_error" => ProviderErrorKind::NotFound,
            "request_too_large" => ProviderErrorKind::TooLong,
            "invalid_request_error" => self.invalid_request_kind(),
            _ => return None,
        })
    }

    /// The API has no type for a request that is too long or an account without credit.
    fn invalid_request_kind(&self) -> ProviderErrorKind {
        if ["prompt is too long", "exceed context limit"].iter().any(|phrase| self.message.contains(phrase)) {
            ProviderErrorKind::TooLong
        } else if self.message.contains("credit balance") {
            ProviderErrorKind::Key
        } else {
            ProviderErrorKind::BadRequest
        }
    }
}
