//! What a conversation has cost, and the budget that it must keep.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use haft_contract::BoxFuture;
use haft_provider::Usage;
use haft_store::{SessionStore, UsageRecord, UsageSum};

use crate::cost::{Micros, Prices};

/// Counts what answers cost, and says when it is enough.
pub trait Meter: Send + Sync {
    /// A turn begins.
    fn begin(&self);
    /// Whether the model may be asked once more; if not, why, in a sentence for a person.
    fn permit(&self) -> BoxFuture<'_, Result<(), String>>;
    /// Counts an answer, durably, and says its price where it is known; or why it could not be counted.
    fn count<'a>(&'a self, model: &'a str, usage: Usage) -> BoxFuture<'a, Result<Option<Micros>, String>>;
}

/// Counts nothing and allows all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unmetered;

impl Meter for Unmetered {
    fn begin(&self) {}
    fn permit(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }
    fn count<'a>(&'a self, _: &'a str, _: Usage) -> BoxFuture<'a, Result<Option<Micros>, String>> {
        Box::pin(async { Ok(None) })
    }
}

/// How much may be spent; what is absent is not limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    /// In one turn.
    pub turn: Option<Micros>,
    /// In one session.
    pub session: Option<Micros>,
    /// In one day, by all sessions.
    pub day: Option<Micros>,
    /// Tokens sent and received in one session.
    pub tokens: Option<u64>,
}

/// Asked when a budget is used up.
pub trait Purse: Send + Sync {
    /// Whether as much again may be spent.
    fn more<'a>(&'a self, question: &'a str) -> BoxFuture<'a, bool>;
}

/// Gives no more than was agreed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Closed;

impl Purse for Closed {
    fn more<'a>(&'a self, _: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async { false })
    }
}

/// When it is: the moment, and the day where the person is.
pub type Today = Arc<dyn Fn() -> (SystemTime, String) + Send + Sync>;

/// The limits, in the order in which they are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    Turn,
    Session,
    Day,
    Tokens,
}

/// Counts into the store, and keeps a budget.
pub struct StoredMeter {
    store: Arc<dyn SessionStore>,
    session: String,
    prices: Prices,
    budget: Budget,
    purse: Arc<dyn Purse>,
    today: Today,
    turn: AtomicU64,
    spent: Mutex<Spent>,
}

/// What this process knows without asking the store.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    turn: Micros,
    /// How often each limit was raised.
    raised: [u64; 4],
}

impl std::fmt::Debug for StoredMeter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredMeter").field("session", &self.session).field("budget", &self.budget).finish_non_exhaustive()
    }
}

impl StoredMeter {
    /// Counts for a session; `turns` is how many it has had.
    pub fn new(store: Arc<dyn SessionStore>, session: impl Into<String>, turns: u64, prices: Prices, today: Today) -> Self {
        let (budget, purse) = (Budget::default(), Arc::new(Closed));
        Self { store, session: session.into(), prices, budget, purse, today, turn: AtomicU64::new(turns), spent: Mutex::default() }
    }

    /// With a budget, and whom to ask when it is used up.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget, purse: Arc<dyn Purse>) -> Self {
        (self.budget, self.purse) = (budget, purse);
        self
    }

    fn spent(&self) -> std::sync::MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first limit that is reached, and the sentence that says so.
    async fn reached(&self) -> Result<Option<(Limit, String)>, String> {
        let Spent { turn, raised } = *self.spent();
        let allowed = |limit: Limit, most: i64| Micros(most.saturating_mul(1 + i64::try_from(raised[limit as usize]).unwrap_or(i64::MAX)));
        let beyond = |limit: Limit, most: Option<Micros>, spent: Micros| {
            let allowed = allowed(limit, most?.0);
            (spent >= allowed).then_some((limit, allowed))
        };
        let (mut session, mut day) = (UsageSum::default(), UsageSum::default());
        if self.budget.session.is_some() || self.budget.tokens.is_some() {
            session = self.store.session_usage(&self.session).await.map_err(|error| error.to_string())?;
        }
        if self.budget.day.is_some() {
            day = self.store.day_usage(&(self.today)().1).await.map_err(|error| error.to_string())?;
        }
        for (limit, most, spent, what, key) in [
            (Limit::Turn, self.budget.turn, turn, "this turn", "budget.turn"),
            (Limit::Session, self.budget.session, Micros(session.cost_micros), "this session", "budget.session"),
            (Limit::Day, self.budget.day, Micros(day.cost_micros), "today", "budget.day"),
        ] {
            if let Some((limit, allowed)) = beyond(limit, most, spent) {
                return Ok(Some((limit, format!("{spent} of the {allowed} for {what} are spent ({key})"))));
            }
        }
        let tokens = session.input.saturating_add(session.output);
        let most = self.budget.tokens.map(|most| most.saturating_mul(1 + raised[Limit::Tokens as usize]));
        Ok(most
            .filter(|most| tokens >= *most)
            .map(|most| (Limit::Tokens, format!("{tokens} of the {most} tokens for this session are used (budget.tokens)"))))
    }
}

impl Meter for StoredMeter {
    fn begin(&self) {
        self.turn.fetch_add(1, Ordering::Relaxed);
        let mut spent = self.spent();
        spent.turn = Micros::default();
        spent.raised[Limit::Turn as usize] = 0;
    }

    fn permit(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            if self.budget == Budget::default() {
                return Ok(());
            }
            while let Some((limit, sentence)) = self.reached().await? {
                if !self.purse.more(&sentence).await {
                    return Err(sentence);
                }
                self.spent().raised[limit as usize] += 1;
            }
            Ok(())
        })
    }

    fn count<'a>(&'a self, model: &'a str, usage: Usage) -> BoxFuture<'a, Result<Option<Micros>, String>> {
        Box::pin(async move {
            let cost = self.prices.of(model).map(|price| price.of(usage));
            {
                let mut spent = self.spent();
                spent.turn = spent.turn.plus(cost.unwrap_or_default());
            }
            let (at, day) = (self.today)();
            let record = UsageRecord {
                session: self.session.clone(),
                turn: self.turn.load(Ordering::Relaxed),
                model: model.to_owned(),
                input: usage.input,
                output: usage.output,
                cached: usage.cached,
                cache_writes: usage.cache_writes,
                reasoning: usage.reasoning,
                cost_micros: cost.map(|cost| cost.0),
                at,
                day,
            };
            self.store.add_usage(record).await.map_err(|error| error.to_string())?;
            Ok(cost)
        })
    }
}
