//! Scopes of a token.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// See everything.
    View,
    /// Begin and change sessions, send messages.
    Chat,
    /// Answer approvals.
    Approve,
    /// Everything else: call tools, undo, change settings and tokens.
    Admin,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::View, Self::Chat, Self::Approve, Self::Admin];

    /// The word in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Chat => "chat",
            Self::Approve => "approve",
            Self::Admin => "admin",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl std::str::FromStr for Scope {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|scope| scope.as_str() == word.trim());
        known.ok_or_else(|| format!("there is no scope '{word}': use view, chat, approve or admin"))
    }
}

/// A set of scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Scopes(u8);

impl Scopes {
    /// Every scope.
    pub(crate) fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }
    /// Whether it has this one.
    pub(crate) const fn has(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }
    /// Whether it has every scope of the other.
    pub(crate) const fn contains(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }
    /// Its scopes.
    pub(crate) fn to_vec(self) -> Vec<Scope> {
        Scope::ALL.into_iter().filter(|scope| self.has(*scope)).collect()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_contain_their_subsets_alone() {
        let [view, both] = [Scopes::from_iter([Scope::View]), Scopes::from_iter([Scope::View, Scope::Approve])];
        assert!(both.contains(view) && both.contains(both) && Scopes::all().contains(both) && view.contains(Scopes::default()));
        assert!(!view.contains(both) && !both.contains(Scopes::all()));
        assert_eq!(both.to_vec(), [Scope::View, Scope::Approve]);
    }
}
