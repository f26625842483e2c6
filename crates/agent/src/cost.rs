//! Prices of models: a shipped table with a date, which the user's own prices override.

use std::fmt;

use haft_pattern::NameGlob;
use haft_provider::Usage;

/// Money in millionths of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Micros(pub i64);

impl Micros {
    /// The sum.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Micros {
    /// `$1.25`; small amounts with more digits, so that no cost reads as zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, micros) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        let (whole, rest) = (micros / 1_000_000, micros % 1_000_000);
        match (whole, rest) {
            (0, 1..=99) => f.pad(&format!("{sign}$0.{rest:06}")),
            (0, 100..=99_999) => f.pad(&format!("{sign}$0.{:04}", rest / 100)),
            _ => f.pad(&format!("{sign}${whole}.{:02}", rest / 10_000)),
        }
    }
}

/// The price of a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Price {
    /// Input.
    pub input: i64,
    /// Output.
    pub output: i64,
    /// Input that was read from a cache; absent means the price of input.
    pub cached: Option<i64>,
    /// Input that was written to a cache; absent means the price of input.
    pub cache_writes: Option<i64>,
}

impl Price {
    /// Prices in millionths of a dollar for a million tokens.
    pub const fn new(input: i64, output: i64) -> Self {
        Self { input, output, cached: None, cache_writes: None }
    }

    /// With prices of cached input.
    #[must_use]
    pub const fn with_cache(mut self, cached: Option<i64>, cache_writes: Option<i64>) -> Self {
        (self.cached, self.cache_writes) = (cached, cache_writes);
        self
    }

    /// The cost of an answer.
    pub fn cost(&self, usage: Usage) -> Micros {
        let plain = usage.input.saturating_sub(usage.cached).saturating_sub(usage.cache_writes);
        let parts = [
            (plain, self.input),
            (usage.cached, self.cached.unwrap_or(self.input)),
            (usage.cache_writes, self.cache_writes.unwrap_or(self.input)),
            (usage.output, self.output),
        ];
        let total: i128 = parts.iter().map(|(tokens, price)| i128::from(*tokens) * i128::from(*price)).sum();
        Micros(i64::try_from((total + 500_000) / 1_000_000).unwrap_or(i64::MAX))
    }
}

/// Prices by the names of models, as `provider/model`; `*` stands for any characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prices(Vec<(NameGlob, Price)>);

impl Prices {
    /// The date of the shipped prices. They change; the user's own override them.
    pub const DATE: &str = "2025-11-30";

    /// The prices of providers on [`Prices::DATE`].
    pub fn shipped() -> Self {
        Self(SHIPPED.iter().map(|(name, price)| (NameGlob::parse_stars(name), *price)).collect())
    }

    /// Sets a price; it overrides all that were set before.
    pub fn set(&mut self, pattern: &str, price: Price) {
        self.0.push((NameGlob::parse_stars(pattern), price));
    }

    /// The price of a model: the longest matching pattern counts, of equal ones the newest.
    pub fn find(&self, model: &str) -> Option<&Price> {
        let fitting = self.0.iter().filter(|(pattern, _)| pattern.matches(model));
        fitting.max_by_key(|(pattern, _)| pattern.literal_start().len()).map(|(_, price)| price)
    }
}

/// Cents for a million tokens, with tenths of them.
const fn cents(input: i64, output: i64, cached: i64, cache_writes: Option<i64>) -> Price {
    /// Of a tenth of a cent.
    const MICROS: i64 = 1_000;
    let cache_writes = match cache_writes {
        Some(price) => Some(price * MICROS),
        None => None,
    };
    Price::new(input * MICROS, output * MICROS).with_cache(Some(cached * MICROS), cache_writes)
}

/// In tenths of cents for a million tokens. The larger sizes of a request, for which some ask more, are not told apart.
#[rustfmt::skip] // one model a line
const SHIPPED: &[(&str, Price)] = &[
    ("anthropic/claude-opus-4-5*", cents(5_000, 25_000, 500, Some(6_250))),
    ("anthropic/claude-opus-4*", cents(15_000, 75_000, 1_500, Some(18_750))),
    ("anthropic/claude-sonnet-4*", cents(3_000, 15_000, 300, Some(3_750))),
    ("anthropic/claude-haiku-4-5*", cents(1_000, 5_000, 100, Some(1_250))),
    ("anthropic/claude-3-5-haiku*", cents(800, 4_000, 80, Some(1_000))),
    ("openai/gpt-5.1*", cents(1_250, 10_000, 125, None)),
    ("openai/gpt-5", cents(1_250, 10_000, 125, None)),
    ("openai/gpt-5-mini*", cents(250, 2_000, 25, None)),
    ("openai/gpt-5-nano*", cents(50, 400, 5, None)),
    ("openai/gpt-4.1", cents(2_000, 8_000, 500, None)),
    ("openai/gpt-4.1-mini*", cents(400, 1_600, 100, None)),
    ("openai/gpt-4.1-nano*", cents(100, 400, 25, None)),
    ("openai/gpt-4o", cents(2_500, 10_000, 1_250, None)),
    ("openai/gpt-4o-mini*", cents(150, 600, 75, None)),
    ("gemini/gemini-2.5-pro*", cents(1_250, 10_000, 125, None)),
    ("gemini/gemini-2.5-flash", cents(300, 2_500, 30, None)),
    ("gemini/gemini-2.5-flash-lite*", cents(100, 400, 10, None)),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, output: u64, cached: u64, cache_writes: u64) -> Usage {
        let mut usage = Usage::default();
        (usage.input, usage.output, usage.cached, usage.cache_writes) = (input, output, cached, cache_writes);
        usage
    }

    #[test]
    fn every_kind_of_token_has_its_price() {
        let price = Price::new(3_000_000, 15_000_000).with_cache(Some(300_000), Some(3_750_000));
        for (used, micros) in [
            (usage(0, 0, 0, 0), 0),
            (usage(1_000_000, 0, 0, 0), 3_000_000),
            (usage(0, 1_000, 0, 0), 15_000),
            (usage(1_000, 0, 1_000, 0), 300),
            (usage(1_000, 10, 500, 250), 750 + 150 + 938 + 150),
            (usage(10, 0, 50, 0), 15),
            (usage(u64::MAX, u64::MAX, 0, 0), i64::MAX),
        ] {
            assert_eq!(price.cost(used), Micros(micros), "{used:?}");
        }
        assert_eq!(Price::new(1_000_000, 0).cost(usage(3, 0, 2, 1)), Micros(3), "without a price of its own a cache costs as the rest");
    }

    #[test]
    fn the_nearest_name_wins_and_an_unknown_model_has_no_price() {
        let mut prices = Prices::shipped();
        let input = |prices: &Prices, model: &str| prices.find(model).map(|price| price.input);
        assert_eq!(input(&prices, "anthropic/claude-opus-4-1"), Some(15_000_000));
        assert_eq!(input(&prices, "anthropic/claude-opus-4-5-20251101"), Some(5_000_000));
        assert_eq!(input(&prices, "openai/gpt-5-mini-2025-08-07"), Some(250_000));
        assert_eq!(input(&prices, "work/qwen3"), None);
        assert_eq!(input(&prices, "openai/gpt-5-pro"), None, "a dearer sister is not priced like the plain one");
        prices.set("anthropic/claude-opus-4*", Price::new(7, 8));
        prices.set("work/*", Price::new(1, 2));
        assert_eq!(input(&prices, "anthropic/claude-opus-4-1"), Some(7));
        assert_eq!(input(&prices, "work/qwen3"), Some(1));
    }

    #[test]
    fn money_is_written_so_that_little_is_not_nothing() {
        for (micros, text) in [
            (0, "$0.00"),
            (7, "$0.000007"),
            (999, "$0.0009"),
            (20_950, "$0.0209"),
            (120_000, "$0.12"),
            (1_250_000, "$1.25"),
            (123_456_789, "$123.45"),
            (-120_000, "-$0.12"),
        ] {
            assert_eq!(Micros(micros).to_string(), text);
        }
    }
}
