//! The cost of a conversation, and its budget.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use haft_contract::BoxFuture;
use haft_provider::Usage;
use haft_store::{SessionStore, UsageRecord, UsageSum};

use crate::cost::{Micros, Prices};

/// Counts the cost of answers, and enforces a budget.
pub trait Meter: Send + Sync {
    /// A turn begins.
    fn begin(&self);
    /// Whether the model may be asked once more; if not, the reason, for the user.
    fn permit(&self) -> BoxFuture<'_, Result<(), String>>;
    /// Counts an answer durably; returns its price where that is known.
    fn count<'a>(&'a self, model: &'a str, usage: Usage) -> BoxFuture<'a, Result<Option<Micros>, String>>;
    /// Adds what a sub-agent has spent to the turn; the store knows it already.
    fn add_below(&self, _cost: Micros) {}
}

/// Counts nothing and allows everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullMeter;

impl Meter for NullMeter {
    fn begin(&self) {}
    fn permit(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }
    fn count<'a>(&'a self, _: &'a str, _: Usage) -> BoxFuture<'a, Result<Option<Micros>, String>> {
        Box::pin(async { Ok(None) })
    }
}

/// How much may be spent; an absent limit does not apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpendingBudget {
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
pub trait SpendingApprover: Send + Sync {
    /// Whether as much again may be spent.
    fn more<'a>(&'a self, question: &'a str) -> BoxFuture<'a, bool>;
}

/// Never raises a budget.
#[derive(Debug, Clone, Copy, Default)]
pub struct DenySpending;

impl SpendingApprover for DenySpending {
    fn more<'a>(&'a self, _: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async { false })
    }
}

/// The current time, and the date in the time zone of the user.
pub type Today = Arc<dyn Fn() -> (SystemTime, String) + Send + Sync>;

/// The limits, in the order in which they are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BudgetLimit {
    Turn,
    Session,
    Day,
    Tokens,
}

/// A [`Meter`] that counts into the store.
pub struct StoredMeter {
    store: Arc<dyn SessionStore>,
    session: String,
    prices: Prices,
    budget: SpendingBudget,
    approver: Arc<dyn SpendingApprover>,
    today: Today,
    turn: AtomicU64,
    spent: Mutex<SpendingState>,
    /// Several sub-agents may reach a limit at once, and the user is asked once.
    asking: tokio::sync::Mutex<()>,
}

/// Spending of the current turn, and raised limits: known without the store.
#[derive(Debug, Clone, Copy, Default)]
struct SpendingState {
    turn: Micros,
    /// How often each limit was raised.
    raised: [u64; 4],
}

haft_contract::opaque_debug!(StoredMeter: session = session, budget = budget);

impl StoredMeter {
    /// Counts for a session; `turns` is how many it has had.
    pub fn new(store: Arc<dyn SessionStore>, session: impl Into<String>, turns: u64, prices: Prices, today: Today) -> Self {
        let (budget, approver) = (SpendingBudget::default(), Arc::new(DenySpending));
        Self {
            store,
            session: session.into(),
            prices,
            budget,
            approver,
            today,
            turn: AtomicU64::new(turns),
            spent: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        }
    }

    /// With a budget, and the approver to ask when it is used up.
    #[must_use]
    pub fn with_budget(mut self, budget: SpendingBudget, approver: Arc<dyn SpendingApprover>) -> Self {
        (self.budget, self.approver) = (budget, approver);
        self
    }

    fn lock_spending(&self) -> std::sync::MutexGuard<'_, SpendingState> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first limit that is reached, and a sentence about it.
    async fn reached_limit(&self) -> Result<Option<(BudgetLimit, String)>, String> {
        let SpendingState { turn, raised } = *self.lock_spending();
        let allowed =
            |limit: BudgetLimit, most: i64| Micros(most.saturating_mul(1 + i64::try_from(raised[limit as usize]).unwrap_or(i64::MAX)));
        let beyond = |limit: BudgetLimit, most: Option<Micros>, spent: Micros| {
            let allowed = allowed(limit, most?.0);
            (spent >= allowed).then_some((limit, allowed))
        };
        let (mut session, mut day) = (UsageSum::default(), UsageSum::default());
        if self.budget.session.is_some() || self.budget.tokens.is_some() {
            session = self.store.tree_usage(&self.session).await.map_err(|error| error.to_string())?;
        }
        if self.budget.day.is_some() {
            day = self.store.day_usage(&(self.today)().1).await.map_err(|error| error.to_string())?;
        }
        for (limit, most, spent, what, key) in [
            (BudgetLimit::Turn, self.budget.turn, turn, "this turn", "budget.turn"),
            (BudgetLimit::Session, self.budget.session, Micros(session.cost_micros), "this session", "budget.session"),
            (BudgetLimit::Day, self.budget.day, Micros(day.cost_micros), "today", "budget.day"),
        ] {
            if let Some((limit, allowed)) = beyond(limit, most, spent) {
                return Ok(Some((limit, format!("{spent} of the {allowed} for {what} are spent ({key})"))));
            }
        }
        let tokens = session.input.saturating_add(session.output);
        let most = self.budget.tokens.map(|most| most.saturating_mul(1 + raised[BudgetLimit::Tokens as usize]));
        Ok(most
            .filter(|most| tokens >= *most)
            .map(|most| (BudgetLimit::Tokens, format!("{tokens} of the {most} tokens for this session are used (budget.tokens)"))))
    }
}

impl Meter for StoredMeter {
    fn begin(&self) {
        self.turn.fetch_add(1, Ordering::Relaxed);
        let mut spent = self.lock_spending();
        spent.turn = Micros::default();
        spent.raised[BudgetLimit::Turn as usize] = 0;
    }

    fn permit(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            if self.budget == SpendingBudget::default() {
                return Ok(());
            }
            let _asking = self.asking.lock().await;
            while let Some((limit, sentence)) = self.reached_limit().await? {
                if !self.approver.more(&sentence).await {
                    return Err(sentence);
                }
                self.lock_spending().raised[limit as usize] += 1;
            }
            Ok(())
        })
    }

    fn count<'a>(&'a self, model: &'a str, usage: Usage) -> BoxFuture<'a, Result<Option<Micros>, String>> {
        Box::pin(async move {
            let cost = self.prices.find(model).map(|price| price.cost(usage));
            {
                let mut spent = self.lock_spending();
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

    fn add_below(&self, cost: Micros) {
        let mut spent = self.lock_spending();
        spent.turn = spent.turn.plus(cost);
    }
}
