//! API key of a provider: sent in one header, displayed nowhere.

use std::fmt;

use crate::{ProviderError, ProviderErrorKind};

/// Shorter keys are placeholders for local servers: ordinary words, which are not redacted.
const MIN_SECRET_LENGTH: usize = 8;
const HIDDEN: &str = "***";

/// An API key. `Debug` prints `***`, and errors never contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    secret: String,
    variable: Option<String>,
}

impl ApiKey {
    /// A key that does not come from the environment.
    pub fn new(secret: impl Into<String>) -> Self {
        Self { secret: secret.into(), variable: None }
    }

    /// The key in an environment variable. Errors name the variable.
    pub fn from_env(name: &str, lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ProviderError> {
        let error = |message: String| Err(ProviderError::new(ProviderErrorKind::Key, message));
        match lookup(name).as_deref().map(str::trim) {
            None => error(format!("No key: {name} is not set. Set it to the provider's API key.")),
            Some("") => error(format!("No key: {name} is empty. Set it to the provider's API key.")),
            Some(secret) => Ok(Self { secret: secret.to_owned(), variable: Some(name.to_owned()) }),
        }
    }

    /// The environment variable it came from.
    pub fn variable(&self) -> Option<&str> {
        self.variable.as_deref()
    }

    pub(super) fn secret(&self) -> &str {
        &self.secret
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

/// The message without the secrets: some servers repeat the key that they refuse.
pub(super) fn scrub_secrets(message: &str, secrets: &[String]) -> String {
    let secrets = secrets.iter().filter(|secret| secret.len() >= MIN_SECRET_LENGTH);
    secrets.fold(message.to_owned(), |message, secret| message.replace(secret.as_str(), HIDDEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_key_error_names_the_variable() {
        for (value, expected) in [
            (None, Err("No key: ACME_KEY is not set. Set it to the provider's API key.")),
            (Some(""), Err("No key: ACME_KEY is empty. Set it to the provider's API key.")),
            (Some(" \n"), Err("No key: ACME_KEY is empty. Set it to the provider's API key.")),
            (Some(" sk-123\n"), Ok("sk-123")),
        ] {
            let key = ApiKey::from_env("ACME_KEY", |name| value.filter(|_| name == "ACME_KEY").map(str::to_owned));
            let expected = expected.map_err(|message| ProviderError::new(ProviderErrorKind::Key, message));
            assert_eq!(
                key.as_ref().map(|key| (key.secret(), key.variable())).map_err(Clone::clone),
                expected.map(|secret| (secret, Some("ACME_KEY")))
            );
        }
    }

    #[test]
    fn key_is_never_displayed() {
        assert_eq!(format!("{:?}", Some(ApiKey::new("sk-secret-1"))), "Some(***)");
        let secrets = ["sk-secret-1".to_owned(), "any".to_owned()];
        assert_eq!(scrub_secrets("Is any key sk-secret-1 (or xsk-secret-1y)?", &secrets), "Is any key *** (or x***y)?");
    }
}
