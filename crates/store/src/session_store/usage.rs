//! What requests to models used, for budgets.

use std::time::SystemTime;

/// What one request used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRecord {
    /// The session it was made for.
    pub session: String,
    /// The turn of the session; a turn may need several requests.
    pub turn: u64,
    /// The model, as `provider/model`.
    pub model: String,
    /// Tokens that the model read.
    pub input: u64,
    /// Tokens that it wrote.
    pub output: u64,
    /// Tokens that it had read before.
    pub cached: u64,
    /// Tokens that were written to the provider's cache.
    pub cache_writes: u64,
    /// Tokens that it thought.
    pub reasoning: u64,
    /// Its price in millionths of the currency, if it is known.
    pub cost_micros: Option<i64>,
    /// When it was made.
    pub at: SystemTime,
    /// The date in the time zone of the user, such as `2026-05-31`. The store only compares it.
    pub day: String,
}

/// What several requests used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsageSum {
    /// How many they were.
    pub requests: u64,
    /// See [`UsageRecord::input`].
    pub input: u64,
    /// See [`UsageRecord::output`].
    pub output: u64,
    /// See [`UsageRecord::cached`].
    pub cached: u64,
    /// See [`UsageRecord::cache_writes`].
    pub cache_writes: u64,
    /// See [`UsageRecord::reasoning`].
    pub reasoning: u64,
    /// What those with a known price cost together.
    pub cost_micros: i64,
    /// How many had no known price.
    pub unpriced: u64,
}

/// What all sessions used of one model on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelUsage {
    /// See [`UsageRecord::day`].
    pub day: String,
    /// See [`UsageRecord::model`].
    pub model: String,
    /// The sum over its requests.
    pub sum: UsageSum,
}

impl UsageSum {
    /// Adds one more request.
    pub fn add(&mut self, usage: &UsageRecord) {
        let count = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        count(&mut self.requests, 1);
        count(&mut self.input, usage.input);
        count(&mut self.output, usage.output);
        count(&mut self.cached, usage.cached);
        count(&mut self.cache_writes, usage.cache_writes);
        count(&mut self.reasoning, usage.reasoning);
        count(&mut self.unpriced, u64::from(usage.cost_micros.is_none()));
        self.cost_micros = self.cost_micros.saturating_add(usage.cost_micros.unwrap_or(0));
    }

    /// Adds the requests of another sum.
    pub fn merge(&mut self, other: &Self) {
        let count = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        count(&mut self.requests, other.requests);
        count(&mut self.input, other.input);
        count(&mut self.output, other.output);
        count(&mut self.cached, other.cached);
        count(&mut self.cache_writes, other.cache_writes);
        count(&mut self.reasoning, other.reasoning);
        count(&mut self.unpriced, other.unpriced);
        self.cost_micros = self.cost_micros.saturating_add(other.cost_micros);
    }
}
