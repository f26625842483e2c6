//! Limits on the cost and the size of conversations.

use crate::Config;
use crate::config::{number, word};
use crate::provenance::Provenance;

/// What happens when a budget is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BudgetThen {
    /// The user is asked whether to continue.
    #[default]
    Ask,
    /// The turn ends.
    Stop,
}

/// What may be used; `None` is no limit. Money is in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BudgetSettings {
    /// Money for one turn.
    pub turn: Option<i64>,
    /// Money for one session.
    pub session: Option<i64>,
    /// Money for all sessions of a day.
    pub day: Option<i64>,
    /// Tokens for one session.
    pub tokens: Option<u64>,
    /// What happens when one of them is used up.
    pub then: BudgetThen,
}

/// How large a conversation may grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextSettings {
    /// The percentage of the model's context window at which it is compacted.
    pub compact_percent: u8,
}

impl From<&Provenance> for BudgetSettings {
    fn from(settings: &Provenance) -> Self {
        Self {
            turn: settings.value("budget.turn").as_money(),
            session: settings.value("budget.session").as_money(),
            day: settings.value("budget.day").as_money(),
            tokens: settings.value("budget.tokens").as_count(),
            then: if word(settings, "budget.then") == Some("ask") { BudgetThen::Ask } else { BudgetThen::Stop },
        }
    }
}

impl From<&Provenance> for ContextSettings {
    fn from(settings: &Provenance) -> Self {
        Self { compact_percent: number(settings, "context.compact_percent") }
    }
}

impl Default for BudgetSettings {
    /// The budget without any file.
    fn default() -> Self {
        Config::default().budget
    }
}
