/// What calls of a session have brought in, as far as it matters for leaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoredTaint {
    /// It has read private data.
    pub private: bool,
    /// It has seen untrusted content.
    pub untrusted: bool,
}

impl StoredTaint {
    /// Both together.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { private: self.private || other.private, untrusted: self.untrusted || other.untrusted }
    }
}
