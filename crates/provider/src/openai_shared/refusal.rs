//! What a provider says when it does not answer.

use serde_json::Value;

use crate::json::Json;
use crate::redact::without_keys;
use crate::refused::{refused, trouble_of};
use crate::{ProviderError, Trouble};

/// Larger bodies are not parsed; nothing worth reading is that long.
const LARGEST_BODY: usize = 1 << 20;
/// How much of a text is looked at.
const LOOKED_AT: usize = 4_096;

/// What an answer that is no success means.
pub(crate) fn refusal(status: u16, body: &[u8]) -> ProviderError {
    let report = Report::read(body);
    let trouble = match status {
        // An error that came as a success.
        200..=299 if report.is_error => report.trouble(),
        0..=399 => Trouble::Malformed,
        400 | 422 if report.is_too_long() => Trouble::TooLong,
        _ => trouble_of(status),
    };
    report.error(trouble).with_status(status)
}

/// What an error in the middle of a stream means. It is one if it holds an `error`, or is called so.
pub(crate) fn error_event(name: &str, event: &Value) -> Option<ProviderError> {
    let has_error = event.get("error").is_some_and(|error| !error.is_null() && error != "");
    (has_error || name == "error").then(|| {
        let report = Report::of(event);
        let error = report.error(report.trouble());
        report.status().map_or(error.clone(), |status| error.with_status(status))
    })
}

/// The same of an event that was only looked at.
pub(crate) fn error_in(name: &str, event: &Json<'_>) -> Option<ProviderError> {
    let may_be = name == "error" || !event.at("error").is_null();
    may_be.then(|| error_event(name, &event.to_value())).flatten()
}

/// An event that is not JSON.
pub(crate) fn broken_event(data: &str) -> ProviderError {
    refused(Trouble::Malformed, &format!("an event is not JSON: {}", bounded(data)))
}

/// The stream ended before the answer did.
pub(crate) fn cut() -> ProviderError {
    refused(Trouble::Network, "the stream ended before the model was done")
}

/// What an error says, in whatever shape.
#[derive(Debug, Default)]
struct Report {
    message: String,
    code: String,
    kind: String,
    is_error: bool,
}

impl Report {
    fn read(body: &[u8]) -> Self {
        let small = Some(body).filter(|body| body.len() <= LARGEST_BODY);
        match small.and_then(|body| serde_json::from_slice::<Value>(body).ok()) {
            Some(value) => Self::of(&value),
            None => Self { message: plain(body), ..Self::default() },
        }
    }

    /// `{"error": {…}}`, `{"error": "…"}`, `[{"error": {…}}]`, `{"response": {"error": {…}}}`, `{"message": …}`, `{"detail": …}`.
    fn of(value: &Value) -> Self {
        let value = value.get(0).unwrap_or(value);
        let value = value.get("response").filter(|response| response.is_object()).unwrap_or(value);
        let error = value.get("error").filter(|error| !error.is_null());
        let inner = error.unwrap_or(value);
        let message = ["message", "detail", "error"].iter().find_map(|name| inner.get(name));
        let words = |name: &str| inner.get(name).map(text_of).unwrap_or_default();
        Self {
            message: bounded(&text_of(message.unwrap_or(if error.is_some() { inner } else { &Value::Null }))),
            code: words("code"),
            kind: words("type"),
            is_error: error.is_some() || words("object") == "error",
        }
    }

    /// Some gateways send the status of the provider behind them as the code.
    fn status(&self) -> Option<u16> {
        self.code.parse().ok().filter(|status| (400..600).contains(status))
    }

    fn is_too_long(&self) -> bool {
        let message = self.message.to_ascii_lowercase();
        let signs = ["maximum context length", "context window", "context length", "prompt is too long"];
        self.code == "context_length_exceeded" || signs.iter().any(|sign| message.contains(sign))
    }

    fn has(&self, signs: &[&str]) -> bool {
        signs.iter().any(|sign| self.code.contains(sign) || self.kind.contains(sign))
    }

    /// By the code alone: inside a stream there is no status.
    fn trouble(&self) -> Trouble {
        match self.status() {
            _ if self.is_too_long() => Trouble::TooLong,
            Some(status) => trouble_of(status),
            None if self.has(&["quota", "rate_limit", "billing"]) => Trouble::RateLimited,
            None if self.has(&["api_key", "authentication", "permission"]) => Trouble::Key,
            None if self.has(&["model_not_found", "not_found_error"]) => Trouble::NotFound,
            None if self.has(&["server_error", "overloaded", "timeout", "unavailable"]) => Trouble::Server,
            None if self.has(&["invalid", "policy", "image", "unsupported"]) => Trouble::BadRequest,
            None => Trouble::Server,
        }
    }

    fn error(&self, trouble: Trouble) -> ProviderError {
        if trouble == Trouble::RateLimited && self.has(&["insufficient_quota", "billing"]) {
            return refused(trouble, &format!("no quota is left, so trying again does not help ({})", self.message.trim_end_matches('.')));
        }
        refused(trouble, &self.message)
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
    let text = String::from_utf8_lossy(&body[..body.len().min(LOOKED_AT)]);
    let text = text.trim();
    if text.starts_with('<') {
        "it sent a web page".into()
    } else if text.contains('\0') || text.chars().filter(|letter| *letter == char::REPLACEMENT_CHARACTER).count() > 8 {
        format!("it sent {} bytes that are not text", body.len())
    } else {
        bounded(text)
    }
}

/// The beginning without keys. They are taken out before the sentence is cut, so that none is cut in two and missed.
fn bounded(text: &str) -> String {
    let end = text.char_indices().nth(LOOKED_AT).map_or(text.len(), |(end, _)| end);
    without_keys(&text[..end])
}

#[cfg(test)]
mod tests;
