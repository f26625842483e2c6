//! Errors of servers that speak the protocols of OpenAI.

use haft_redact::redact_key_like;
use haft_text::truncate::first_chars;
use serde_json::Value;

use crate::json::EventJson;
use crate::refused::{kind_of_status, refused};
use crate::{ProviderError, ProviderErrorKind};

/// Larger bodies are not parsed.
const LARGEST_BODY: usize = 1 << 20;
/// Chars of a text that are examined.
const EXAMINED: usize = 4_096;

/// The error of a response that is not a success.
pub(crate) fn refusal(status: u16, body: &[u8]) -> ProviderError {
    let report = ErrorReport::read(body);
    let kind = match status {
        // An error in a successful response.
        200..=299 if report.is_error => report.error_kind(),
        0..=399 => ProviderErrorKind::Malformed,
        400 | 422 if report.is_too_long() => ProviderErrorKind::TooLong,
        _ => kind_of_status(status),
    };
    report.error(kind).with_status(status)
}

/// The error of an event: one that has an `error`, or is named so.
pub(crate) fn error_event(name: &str, event: &Value) -> Option<ProviderError> {
    let has_error = event.get("error").is_some_and(|error| !error.is_null() && error != "");
    (has_error || name == "error").then(|| {
        let report = ErrorReport::from_value(event);
        let error = report.error(report.error_kind());
        report.status().map_or(error.clone(), |status| error.with_status(status))
    })
}

/// The error of a borrowed event.
pub(crate) fn error_in(name: &str, event: EventJson<'_>) -> Option<ProviderError> {
    let may_be = name == "error" || !event.at("error").is_null();
    may_be.then(|| error_event(name, &event.to_value())).flatten()
}

/// An event that is not JSON.
pub(crate) fn broken_event(data: &str) -> ProviderError {
    refused(ProviderErrorKind::Malformed, &format!("an event is not JSON: {}", examined(data)))
}

/// The stream ended before the answer did.
pub(crate) fn truncated() -> ProviderError {
    refused(ProviderErrorKind::Network, "the stream ended before the model was done")
}

/// The fields of an error, in any of the known shapes.
#[derive(Debug, Default)]
struct ErrorReport {
    message: String,
    code: String,
    kind: String,
    is_error: bool,
}

impl ErrorReport {
    fn read(body: &[u8]) -> Self {
        let small = Some(body).filter(|body| body.len() <= LARGEST_BODY);
        match small.and_then(|body| serde_json::from_slice::<Value>(body).ok()) {
            Some(value) => Self::from_value(&value),
            None => Self { message: plain(body), ..Self::default() },
        }
    }

    /// `{"error": {…}}`, `{"error": "…"}`, `[{"error": {…}}]`, `{"response": {"error": {…}}}`, `{"message": …}`, `{"detail": …}`.
    fn from_value(value: &Value) -> Self {
        let value = value.get(0).unwrap_or(value);
        let value = value.get("response").filter(|response| response.is_object()).unwrap_or(value);
        let error = value.get("error").filter(|error| !error.is_null());
        let inner = error.unwrap_or(value);
        let message = ["message", "detail", "error"].iter().find_map(|name| inner.get(name));
        let words = |name: &str| inner.get(name).map(text_of).unwrap_or_default();
        Self {
            message: examined(&text_of(message.unwrap_or(if error.is_some() { inner } else { &Value::Null }))),
            code: words("code"),
            kind: words("type"),
            is_error: error.is_some() || words("object") == "error",
        }
    }

    /// The status, which some gateways send as the code.
    fn status(&self) -> Option<u16> {
        self.code.parse().ok().filter(|status| (400..600).contains(status))
    }

    fn is_too_long(&self) -> bool {
        let message = self.message.to_ascii_lowercase();
        let phrases = ["maximum context length", "context window", "context length", "prompt is too long"];
        self.code == "context_length_exceeded" || phrases.iter().any(|phrase| message.contains(phrase))
    }

    fn has(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.code.contains(word) || self.kind.contains(word))
    }

    /// The kind by the code alone: a stream has no status.
    fn error_kind(&self) -> ProviderErrorKind {
        match self.status() {
            _ if self.is_too_long() => ProviderErrorKind::TooLong,
            Some(status) => kind_of_status(status),
            None if self.has(&["quota", "rate_limit", "billing"]) => ProviderErrorKind::RateLimited,
            None if self.has(&["api_key", "authentication", "permission"]) => ProviderErrorKind::Key,
            None if self.has(&["model_not_found", "not_found_error"]) => ProviderErrorKind::NotFound,
            None if self.has(&["server_error", "overloaded", "timeout", "unavailable"]) => ProviderErrorKind::Server,
            None if self.has(&["invalid", "policy", "image", "unsupported"]) => ProviderErrorKind::BadRequest,
            None => ProviderErrorKind::Server,
        }
    }

    fn error(&self, kind: ProviderErrorKind) -> ProviderError {
        if kind == ProviderErrorKind::RateLimited && self.has(&["insufficient_quota", "billing"]) {
            return refused(kind, &format!("no quota is left, so trying again does not help ({})", self.message.trim_end_matches('.')));
        }
        refused(kind, &self.message)
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A body that is not JSON.
fn plain(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(EXAMINED)]);
    let text = text.trim();
    if text.starts_with('<') {
        "it sent a web page".into()
    } else if text.contains('\0') || text.chars().filter(|ch| *ch == char::REPLACEMENT_CHARACTER).count() > 8 {
        format!("it sent {} bytes that are not text", body.len())
    } else {
        examined(text)
    }
}

/// The beginning of the text, redacted before the sentence is truncated, so that no key is cut in two and missed.
fn examined(text: &str) -> String {
    redact_key_like(first_chars(text, EXAMINED))
}

#[cfg(test)]
mod tests;
