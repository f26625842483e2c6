//! The state of a turn: its progress, its end, and messages that arrive meanwhile.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use haft_provider::transcript::ValidatedPrefix;
use haft_provider::{Block, ProviderError, ProviderErrorKind, Usage};

use crate::context_budget::TokenCount;
use crate::cost::Micros;
use crate::events::{EndReason, TurnEnd};

/// Messages of the user that arrive during a turn; they are delivered with the next results.
#[derive(Debug, Clone, Default)]
pub struct Steering(Arc<Mutex<Vec<String>>>);

impl Steering {
    /// Queues a message for the model.
    pub fn say(&self, text: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text.into());
    }
    /// Removes the last message, unless it is delivered already.
    pub fn take_back(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
    pub(crate) fn take(&self) -> Vec<Block> {
        let texts = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        texts.into_iter().map(Block::text).collect()
    }
}

/// The counters of a turn.
#[derive(Debug)]
pub(crate) struct TurnProgress {
    began: Instant,
    pub(crate) rounds: u32,
    pub(crate) calls: u32,
    pub(crate) breaks: u32,
    pub(crate) pauses: u32,
    /// How often the conversation was summarized.
    pub(crate) summaries: u32,
    /// How far the conversation is known to be well-formed.
    pub(crate) checked: ValidatedPrefix,
    /// Its estimated tokens.
    pub(crate) tokens: TokenCount,
    pub(crate) usage: Usage,
    /// `None` once an answer had no known price.
    pub(crate) cost: Option<Micros>,
    pub(crate) text: String,
}

impl TurnProgress {
    pub(crate) fn begin() -> Self {
        Self {
            began: Instant::now(),
            rounds: 0,
            calls: 0,
            breaks: 0,
            pauses: 0,
            summaries: 0,
            checked: ValidatedPrefix::default(),
            tokens: TokenCount::default(),
            usage: Usage::default(),
            cost: Some(Micros::default()),
            text: String::new(),
        }
    }

    pub(crate) fn end(self, reason: EndReason, error: Option<String>, context: usize) -> TurnEnd {
        let Self { began, rounds, calls, usage, text, .. } = self;
        let cost = self.cost.filter(|_| usage != Usage::default());
        TurnEnd { reason, text, rounds, calls, usage, cost, context: context as u64, elapsed: began.elapsed(), error }
    }
}

/// Why a turn stops before the model is done.
pub(crate) enum TurnStop {
    Provider(ProviderError),
    NotKept(String),
    Budget(String),
}

impl TurnStop {
    pub(crate) fn into_end(self) -> (EndReason, Option<String>) {
        match self {
            Self::Provider(error) if error.kind == ProviderErrorKind::Cancelled => (EndReason::Cancelled, None),
            Self::Provider(error) => (EndReason::Failed, Some(error.message)),
            Self::NotKept(why) => (EndReason::Failed, Some(format!("The turn stops, because the conversation could not be stored: {why}"))),
            Self::Budget(why) => (EndReason::Budget, Some(format!("The budget is used up: {why}."))),
        }
    }
}

/// What follows a round.
pub(crate) enum RoundOutcome {
    Continue,
    End(EndReason),
}
