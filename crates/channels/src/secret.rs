//! Tokens and signing keys.

/// A secret: it is not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ChannelSecret(String);

impl ChannelSecret {
    /// Takes a secret.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }
    /// The secret itself, for a request.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ChannelSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}
