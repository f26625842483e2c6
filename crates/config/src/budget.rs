//! How much conversations with models may cost, and how large they may grow.

use crate::config::{number, word};
use crate::provenance::Provenance;
use crate::{Config, Value};

/// What happens when a budget is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BudgetThen {
    /// A person is asked whether to go on.
    #[default]
    Ask,
    /// The turn ends.
    Stop,
}

/// What may be used; `None` is no limit. Money is in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Budget {
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
pub struct Context {
    /// At which part of the model's window it is summed up, in percent.
    pub compact_percent: u8,
}

impl From<&Provenance> for Budget {
    fn from(settings: &Provenance) -> Self {
        Self {
            turn: money(settings, "budget.turn"),
            session: money(settings, "budget.session"),
            day: money(settings, "budget.day"),
            tokens: settings.was_set(&["budget", "tokens"]).then(|| number(settings, "budget.tokens")),
            then: if word(settings, "budget.then") == Some("ask") { BudgetThen::Ask } else { BudgetThen::Stop },
        }
    }
}

impl From<&Provenance> for Context {
    fn from(settings: &Provenance) -> Self {
        Self { compact_percent: number(settings, "context.compact_percent") }
    }
}

impl Default for Budget {
    /// What holds without any file.
    fn default() -> Self {
        Config::default().budget
    }
}

fn money(settings: &Provenance, key: &str) -> Option<i64> {
    match settings.get(key)?.value {
        Value::Money(micros) => Some(micros),
        _ => None,
    }
}
