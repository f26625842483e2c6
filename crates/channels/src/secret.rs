//! Tokens and signing keys.

/// A secret: it is not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a secret.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }
    /// The secret itself, for a request.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}
