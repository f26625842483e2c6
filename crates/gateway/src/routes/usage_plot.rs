//! What the page draws of the usage of days: tokens or cost by model, or tokens by kind.

use std::collections::BTreeMap;

use haft_store::{ModelUsage, UsageSum};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::render::{BarPlot, MOST_SERIES};

/// The models that have no series of their own.
const OTHERS: &str = "others";

/// What the plot shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Measure {
    /// Tokens by model.
    #[default]
    Tokens,
    /// Cost by model.
    Cost,
    /// Tokens by what they are.
    Kind,
}

/// The names of the series, and a row for each day with a value for each of them.
type Bars = (Vec<String>, Vec<(String, Vec<f64>)>);

/// Days as bars, with the budget of a day where money is shown.
pub(super) fn draw(usage: &[ModelUsage], by: Measure, budget: Option<&str>) -> Value {
    if usage.is_empty() {
        return Value::Null;
    }
    let (title, format): (_, fn(f64) -> String) = match by {
        Measure::Tokens => ("Tokens by day and model", tokens),
        Measure::Cost => ("Cost by day and model, in dollars", dollars),
        Measure::Kind => ("Tokens by day and kind", tokens),
    };
    let (series, rows) = if by == Measure::Kind { by_kind(usage) } else { by_model(usage, by) };
    let limit = budget.and_then(|text| text.trim_start_matches('$').parse().ok()).filter(|_| by == Measure::Cost);
    let plot = BarPlot { title, series: &series, rows: &rows, format, limit };
    json!({ "title": title, "html": plot.html(), "csv": plot.csv() })
}

/// The sum of each day.
pub(super) fn by_day(usage: &[ModelUsage]) -> BTreeMap<&str, UsageSum> {
    let mut days: BTreeMap<&str, UsageSum> = BTreeMap::new();
    for row in usage {
        days.entry(&row.day).or_default().merge(&row.sum);
    }
    days
}

fn by_kind(usage: &[ModelUsage]) -> Bars {
    let kinds = ["input, new", "input, cached", "output"].map(str::to_owned);
    let values = |sum: &UsageSum| vec![count(sum.input.saturating_sub(sum.cached)), count(sum.cached), count(sum.output)];
    (kinds.into(), by_day(usage).into_iter().map(|(day, sum)| (label(day), values(&sum))).collect())
}

/// The models that used the most have a series each. The rest share the last one.
fn by_model(usage: &[ModelUsage], by: Measure) -> Bars {
    let ranked = rank(usage, by);
    let own = if ranked.len() > MOST_SERIES { MOST_SERIES - 1 } else { ranked.len() };
    let place_of = |model: &str| ranked.iter().position(|(name, _)| *name == model).unwrap_or(own).min(own);
    let mut series: Vec<String> = ranked[..own].iter().map(|(name, sum)| series_name(name, sum, by)).collect();
    if own < ranked.len() {
        let mut rest = UsageSum::default();
        ranked[own..].iter().for_each(|(_, sum)| rest.merge(sum));
        series.push(series_name(OTHERS, &rest, by));
    }
    let mut days: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for row in usage {
        let values = days.entry(&row.day).or_insert_with(|| vec![0.0; series.len()]);
        values[place_of(&row.model)] += amount(&row.sum, by);
    }
    (series, days.into_iter().map(|(day, values)| (label(day), values)).collect())
}

/// The models with their sums, the one that used the most first.
fn rank(usage: &[ModelUsage], by: Measure) -> Vec<(&str, UsageSum)> {
    let mut models: BTreeMap<&str, UsageSum> = BTreeMap::new();
    for row in usage {
        models.entry(&row.model).or_default().merge(&row.sum);
    }
    let mut ranked: Vec<(&str, UsageSum)> = models.into_iter().collect();
    ranked.sort_by(|(_, one), (_, other)| amount(other, by).total_cmp(&amount(one, by)));
    ranked
}

/// An unknown price is not zero: the name says that it is missing.
fn series_name(model: &str, sum: &UsageSum, by: Measure) -> String {
    let note = match sum.unpriced {
        0 => "",
        _ if by != Measure::Cost => "",
        unpriced if unpriced == sum.requests => " (price unknown)",
        _ => " (some prices unknown)",
    };
    format!("{model}{note}")
}

fn amount(sum: &UsageSum, by: Measure) -> f64 {
    if by == Measure::Cost { dollars_of(sum) } else { count(sum.input.saturating_add(sum.output)) }
}

/// Of the requests with a known price.
#[allow(clippy::cast_precision_loss, reason = "a plot has some hundred pixels")]
fn dollars_of(sum: &UsageSum) -> f64 {
    sum.cost_micros as f64 / 1e6
}

#[allow(clippy::cast_precision_loss, reason = "a plot has some hundred pixels")]
fn count(tokens: u64) -> f64 {
    tokens as f64
}

/// The year says nothing here.
fn label(day: &str) -> String {
    day.get(5..).unwrap_or(day).to_owned()
}

fn dollars(amount: f64) -> String {
    if amount == 0.0 {
        "$0".to_owned()
    } else if amount < 0.01 {
        format!("${amount:.4}")
    } else {
        format!("${amount:.2}")
    }
}

fn tokens(count: f64) -> String {
    match count {
        ..1e3 => format!("{count:.0}"),
        ..1e5 => format!("{:.1}k", count / 1e3),
        ..1e6 => format!("{:.0}k", count / 1e3),
        _ => format!("{:.2}M", count / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(day: &str, model: &str, tokens: u64, cost_micros: Option<i64>) -> ModelUsage {
        let unpriced = u64::from(cost_micros.is_none());
        let sum = UsageSum { requests: 1, input: tokens, cost_micros: cost_micros.unwrap_or(0), unpriced, ..UsageSum::default() };
        ModelUsage { day: day.into(), model: model.into(), sum }
    }

    #[test]
    fn each_model_is_a_series_and_the_one_with_most_is_first() {
        let usage = [
            used("2026-11-17", "a/x", 5, None),
            used("2026-11-18", "a/x", 5, Some(3_000_000)),
            used("2026-11-18", "b/y", 90, Some(1_000_000)),
        ];
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let rows = |first: [f64; 2], second: [f64; 2]| vec![("11-17".to_owned(), first.to_vec()), ("11-18".to_owned(), second.to_vec())];
        assert_eq!(by_model(&usage, Measure::Tokens), (names(&["b/y", "a/x"]), rows([0.0, 5.0], [90.0, 5.0])));
        assert_eq!(by_model(&usage, Measure::Cost), (names(&["a/x (some prices unknown)", "b/y"]), rows([0.0, 0.0], [3.0, 1.0])));
        let (kinds, days) = by_kind(&usage);
        assert_eq!((kinds.len(), days), (3, vec![("11-17".to_owned(), vec![5.0, 0.0, 0.0]), ("11-18".to_owned(), vec![95.0, 0.0, 0.0])]));
    }

    #[test]
    fn the_rest_of_many_models_share_a_series_and_nothing_is_lost() {
        let usage: Vec<ModelUsage> = (1..=9).map(|number| used("2026-11-18", &format!("a/{number}"), number, None)).collect();
        let (series, rows) = by_model(&usage, Measure::Tokens);
        assert_eq!(series, ["a/9", "a/8", "a/7", "a/6", "a/5", OTHERS]);
        assert_eq!(rows, [("11-18".to_owned(), vec![9.0, 8.0, 7.0, 6.0, 5.0, 10.0])]);
        assert_eq!(by_model(&usage[..6], Measure::Tokens).0.len(), MOST_SERIES, "six have one each");
        assert_eq!(by_model(&usage, Measure::Cost).0[5], "others (price unknown)");
        assert_eq!(draw(&[], Measure::Tokens, None), Value::Null);
    }
}
