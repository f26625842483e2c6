//! The state of a turn: its progress, its end, and messages that arrive meanwhile.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use haft_contract::BoxFuture;
use haft_contract::ports::{WakeReason, WakeSource};
use haft_provider::transcript::ValidatedPrefix;
use haft_provider::{Block, ProviderError, ProviderErrorKind, Usage};
use tokio::sync::Notify;

use crate::context_budget::TokenCount;
use crate::cost::Micros;
use crate::events::{EndReason, TurnEnd};
use crate::ledger::LedgerEntry;

/// Messages of the user that arrive during a turn; they are delivered with the next results, and wake a call that waits.
#[derive(Debug, Clone, Default)]
pub struct Steering(Arc<SteeringState>);

#[derive(Debug, Default)]
struct SteeringState {
    messages: Mutex<SteeringMessages>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct SteeringMessages {
    /// With the id of each that someone stores until the conversation has it.
    waiting: Vec<(Option<String>, String)>,
    /// Ids of those that were taken, and of which the next entry of the conversation says that it has them.
    taken: Vec<String>,
    /// Ids of those that the conversation has.
    heard: Vec<String>,
}

impl Steering {
    /// Queues a message for the model.
    pub fn say(&self, text: impl Into<String>) {
        self.push(None, text.into());
    }
    /// Queues a message that is stored under this id until [`take_heard`](Self::take_heard) names it.
    pub fn say_stored(&self, id: impl Into<String>, text: impl Into<String>) {
        self.push(Some(id.into()), text.into());
    }
    fn push(&self, id: Option<String>, text: String) {
        self.messages().waiting.push((id, text));
        self.0.arrived.notify_waiters();
    }
    /// Takes the ids of messages that the conversation has.
    pub fn take_heard(&self) -> Vec<String> {
        std::mem::take(&mut self.messages().heard)
    }
    /// The entry which says that the one after it has messages that were taken; `None` if there are none.
    pub(crate) fn heard_entry(&self) -> Option<LedgerEntry> {
        let messages = self.messages().taken.clone();
        (!messages.is_empty()).then_some(LedgerEntry::Heard { messages })
    }
    /// That entry is stored.
    pub(crate) fn mark_heard(&self) {
        let mut messages = self.messages();
        let taken = std::mem::take(&mut messages.taken);
        messages.heard.extend(taken);
    }
    /// Removes the last message, unless it is delivered already.
    pub fn take_back(&self) -> Option<String> {
        self.messages().waiting.pop().map(|(_, text)| text)
    }
    /// Takes all messages.
    pub(crate) fn texts(&self) -> Vec<String> {
        let mut messages = self.messages();
        let (ids, texts): (Vec<_>, Vec<_>) = std::mem::take(&mut messages.waiting).into_iter().unzip();
        messages.taken.extend(ids.into_iter().flatten());
        texts
    }
    pub(crate) fn take(&self) -> Vec<Block> {
        self.texts().into_iter().map(Block::text).collect()
    }
    fn messages(&self) -> MutexGuard<'_, SteeringMessages> {
        self.0.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Resolves when there is a message that is not delivered yet.
    async fn arrived(&self) {
        loop {
            // Registered before the look, so that a message in between is not missed.
            let mut arrived = std::pin::pin!(self.0.arrived.notified());
            arrived.as_mut().enable();
            if !self.messages().waiting.is_empty() {
                return;
            }
            arrived.await;
        }
    }
}

impl WakeSource for Steering {
    fn wake<'a>(&'a self, _: &'a str) -> BoxFuture<'a, WakeReason> {
        Box::pin(async {
            self.arrived().await;
            WakeReason::Message
        })
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
    /// How often the model was told to give structured output.
    pub(crate) reminders: u32,
    /// How often the conversation was made shorter, because the model refused it as too long.
    pub(crate) shortenings: u32,
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
            reminders: 0,
            shortenings: 0,
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
        TurnEnd { reason, text, rounds, calls, usage, cost, context: context as u64, elapsed: began.elapsed(), output: None, error }
    }
}

/// Why a turn stops before the model is done.
pub(crate) enum TurnStop {
    Provider(ProviderError),
    NotKept(String),
    Budget(String),
    NoOutput(String),
}

impl TurnStop {
    pub(crate) fn into_end(self) -> (EndReason, Option<String>) {
        match self {
            Self::Provider(error) if error.kind == ProviderErrorKind::Cancelled => (EndReason::Cancelled, None),
            Self::Provider(error) => (EndReason::Failed, Some(error.message)),
            Self::NotKept(why) => (EndReason::Failed, Some(format!("The turn stops, because the conversation could not be stored: {why}"))),
            Self::NoOutput(why) => (EndReason::NoOutput, Some(why)),
            Self::Budget(why) => (EndReason::Budget, Some(format!("The budget is used up: {why}."))),
        }
    }
}

/// What follows a round.
pub(crate) enum RoundOutcome {
    Continue,
    End(EndReason),
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_message_wakes_a_call_that_waits_until_it_is_delivered() {
        let steering = Steering::default();
        let wait = || tokio::time::timeout(Duration::from_secs(9), steering.wake("s"));
        assert!(wait().await.is_err(), "nothing was said");
        let (woken, ()) = tokio::join!(wait(), async {
            tokio::task::yield_now().await;
            steering.say("stop");
        });
        assert_eq!(woken, Ok(WakeReason::Message));
        assert_eq!(wait().await, Ok(WakeReason::Message), "it was said before");
        assert_eq!(steering.take(), [Block::text("stop")]);
        assert!(wait().await.is_err(), "it is delivered");
    }
}
