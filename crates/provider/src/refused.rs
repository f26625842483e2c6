//! Errors for a person, from whatever a provider says went wrong.

use crate::redact::without_keys;
use crate::{ProviderError, Trouble};

/// How much of a provider's own words is passed on.
const QUOTED: usize = 300;

/// An error in one or two sentences: what happened, in the provider's words, and what to do next.
pub(crate) fn refused(trouble: Trouble, said: &str) -> ProviderError {
    let (what, next) = match trouble {
        Trouble::Key => ("The provider does not accept the key", "Check the key, its rights and its account"),
        Trouble::RateLimited => ("The provider limits requests", "Wait a little, or raise the limit with the provider"),
        Trouble::Server => ("The provider failed", "Try again in a moment"),
        Trouble::Timeout => ("The provider ran out of time", "Try again in a moment"),
        Trouble::NotFound => ("The provider has no such model or address", "Check the model's name and the provider's base_url"),
        Trouble::TooLong => ("The request is too long for the model", "Shorten the conversation, or use a model with a larger window"),
        Trouble::Network => ("The answer was cut off", "Try again"),
        Trouble::Malformed => {
            ("The answer is not what the protocol says", "Try again; if it stays so, check the provider's protocol and base_url")
        }
        Trouble::Garbled => ("The model's answer cannot be used", "Ask again"),
        _ => ("The provider refuses the request", "Check the model's settings"),
    };
    // Some repeat the key that they refuse.
    let said = quoted(&without_keys(said));
    let colon = if said.is_empty() { "" } else { ": " };
    ProviderError::new(trouble, format!("{what}{colon}{said}. {next}."))
}

/// The trouble that a status alone means.
pub(crate) fn trouble_of(status: u16) -> Trouble {
    match status {
        401..=403 => Trouble::Key,
        404 => Trouble::NotFound,
        408 => Trouble::Timeout,
        409 | 500.. => Trouble::Server,
        413 => Trouble::TooLong,
        429 => Trouble::RateLimited,
        _ => Trouble::BadRequest,
    }
}

/// Foreign text on one line, cut to a bearable length.
pub(crate) fn quoted(text: &str) -> String {
    let mut words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut line = words.next().unwrap_or_default().to_owned();
    for word in words.take(QUOTED) {
        line.push(' ');
        line.push_str(word);
    }
    match line.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.trim_end_matches('.').to_owned(),
    }
}
