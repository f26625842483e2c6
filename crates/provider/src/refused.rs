//! Error messages for the user, made from what a provider reports.

use std::borrow::Cow;

use haft_redact::redact_key_like;
use haft_text::truncate::ellipsize;

use crate::{ProviderError, ProviderErrorKind};

/// Length to which the text of a provider is truncated.
const MAX_QUOTE: usize = 300;

/// An error in two sentences: what failed, with the text of the provider, and what to do next.
pub(crate) fn refused(kind: ProviderErrorKind, reason: &str) -> ProviderError {
    let (what, next) = match kind {
        ProviderErrorKind::Key => ("The provider does not accept the key", "Check the key, its rights and its account"),
        ProviderErrorKind::RateLimited => ("The provider limits requests", "Wait a little, or raise the limit with the provider"),
        ProviderErrorKind::Server => ("The provider failed", "Try again in a moment"),
        ProviderErrorKind::Timeout => ("The provider ran out of time", "Try again in a moment"),
        ProviderErrorKind::NotFound => ("The provider has no such model or address", "Check the model's name and the provider's base_url"),
        ProviderErrorKind::TooLong => {
            ("The request is too long for the model", "Shorten the conversation, or use a model with a larger window")
        }
        ProviderErrorKind::Network => ("The answer was cut off", "Try again"),
        ProviderErrorKind::Malformed => {
            ("The answer is not what the protocol says", "Try again; if it stays so, check the provider's protocol and base_url")
        }
        ProviderErrorKind::Garbled => ("The model's answer cannot be used", "Ask again"),
        _ => ("The provider refuses the request", "Check the model's settings"),
    };
    // Some providers repeat the key that they refuse.
    let reason = quoted(&redact_key_like(reason));
    let colon = if reason.is_empty() { "" } else { ": " };
    ProviderError::new(kind, format!("{what}{colon}{reason}. {next}."))
}

/// The kind of an error by its status alone.
pub(crate) fn kind_of_status(status: u16) -> ProviderErrorKind {
    match status {
        401..=403 => ProviderErrorKind::Key,
        404 => ProviderErrorKind::NotFound,
        408 => ProviderErrorKind::Timeout,
        409 | 500.. => ProviderErrorKind::Server,
        413 => ProviderErrorKind::TooLong,
        429 => ProviderErrorKind::RateLimited,
        _ => ProviderErrorKind::BadRequest,
    }
}

/// Foreign text on one line, truncated.
pub(crate) fn quoted(text: &str) -> String {
    let mut words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut line = words.next().unwrap_or_default().to_owned();
    for word in words.take(MAX_QUOTE) {
        line.push(' ');
        line.push_str(word);
    }
    match ellipsize(&line, MAX_QUOTE) {
        Cow::Owned(cut) => cut,
        Cow::Borrowed(whole) => whole.trim_end_matches('.').to_owned(),
    }
}
