//! A provider's key: it goes into one header and nowhere else.

use std::fmt;

use crate::{ProviderError, Trouble};

/// Shorter ones are what people write where a local server wants any key at all; they are words that occur in messages.
const SECRET_LENGTH: usize = 8;
const HIDDEN: &str = "***";

/// A key. It is shown to nobody: `Debug` prints `***`, and errors never hold it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    secret: String,
    variable: Option<String>,
}

impl Key {
    /// A key from somewhere else than the environment.
    pub fn new(secret: impl Into<String>) -> Self {
        Self { secret: secret.into(), variable: None }
    }

    /// The key that a variable of the environment holds. Errors name the variable.
    pub fn from_env(name: &str, lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ProviderError> {
        let trouble = |message: String| Err(ProviderError::new(Trouble::Key, message));
        match lookup(name).as_deref().map(str::trim) {
            None => trouble(format!("No key: {name} is not set. Set it to the provider's API key.")),
            Some("") => trouble(format!("No key: {name} is empty. Set it to the provider's API key.")),
            Some(secret) => Ok(Self { secret: secret.to_owned(), variable: Some(name.to_owned()) }),
        }
    }

    /// Where it came from, if that was the environment.
    pub fn variable(&self) -> Option<&str> {
        self.variable.as_deref()
    }

    pub(super) fn secret(&self) -> &str {
        &self.secret
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

/// The message with every secret in it replaced: some servers repeat the key that they refuse.
pub(super) fn without(message: &str, secrets: &[String]) -> String {
    let secrets = secrets.iter().filter(|secret| secret.len() >= SECRET_LENGTH);
    secrets.fold(message.to_owned(), |message, secret| message.replace(secret.as_str(), HIDDEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_key_is_one_sentence_with_the_variables_name() {
        for (value, expected) in [
            (None, Err("No key: ACME_KEY is not set. Set it to the provider's API key.")),
            (Some(""), Err("No key: ACME_KEY is empty. Set it to the provider's API key.")),
            (Some(" \n"), Err("No key: ACME_KEY is empty. Set it to the provider's API key.")),
            (Some(" sk-123\n"), Ok("sk-123")),
        ] {
            let key = Key::from_env("ACME_KEY", |name| value.filter(|_| name == "ACME_KEY").map(str::to_owned));
            let expected = expected.map_err(|message| ProviderError::new(Trouble::Key, message));
            assert_eq!(
                key.as_ref().map(|key| (key.secret(), key.variable())).map_err(Clone::clone),
                expected.map(|secret| (secret, Some("ACME_KEY")))
            );
        }
    }

    #[test]
    fn it_is_not_shown() {
        assert_eq!(format!("{:?}", Some(Key::new("sk-secret-1"))), "Some(***)");
        let secrets = ["sk-secret-1".to_owned(), "any".to_owned()];
        assert_eq!(without("Is any key sk-secret-1 (or xsk-secret-1y)?", &secrets), "Is any key *** (or x***y)?");
    }
}
