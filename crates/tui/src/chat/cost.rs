//! `/cost`: tokens and money of the last turn, of the session, and of today.

use haft_agent::TurnEnd;
use haft_store::UsageSum;
use serde_json::{Value, json};

use super::status::cost;
use crate::table::{ColumnFit, Table, TableCell};
use crate::terminal::short;

/// Usage of the last turn, the session and the day.
pub(super) struct CostSummary {
    pub(super) turn: Option<UsageSum>,
    pub(super) session: UsageSum,
    pub(super) today: UsageSum,
}

impl CostSummary {
    fn parts(&self) -> impl Iterator<Item = (&'static str, &UsageSum)> {
        let turn = self.turn.iter().map(|turn| ("last turn", turn));
        turn.chain([("this session", &self.session), ("today", &self.today)])
    }

    pub(super) fn table(&self) -> Table {
        let columns = [
            ("", ColumnFit::Keep),
            ("IN", ColumnFit::Keep),
            ("CACHED", ColumnFit::Drop(1)),
            ("OUT", ColumnFit::Keep),
            ("COST", ColumnFit::Wrap),
        ];
        let mut table = Table::new(&columns);
        for (what, sum) in self.parts() {
            let cells = [what, &short(sum.input), &short(sum.cached), &short(sum.output), &money(sum)];
            table.row(cells.into_iter().map(TableCell::new).collect());
        }
        table
    }

    pub(super) fn to_json(&self) -> Value {
        self.parts().map(|(what, sum)| (what.replace(' ', "_"), sum_to_json(sum))).collect()
    }
}

/// The cost; an unknown price is not free.
fn money(sum: &UsageSum) -> String {
    match sum.input + sum.output {
        0 => "none".to_owned(),
        _ if sum.requests == sum.unpriced => "unknown".to_owned(),
        _ => cost(sum).unwrap_or_default(),
    }
}

#[allow(clippy::cast_precision_loss, reason = "amounts of money here are far below 2^52 micros")]
fn sum_to_json(sum: &UsageSum) -> Value {
    let cost = (sum.unpriced == 0).then_some(sum.cost_micros as f64 / 1e6);
    json!({
        "answers": sum.requests, "input_tokens": sum.input, "output_tokens": sum.output, "cached_tokens": sum.cached,
        "reasoning_tokens": sum.reasoning, "cost": cost,
    })
}

/// The usage of a turn.
pub(super) fn turn_usage(end: &TurnEnd) -> UsageSum {
    let rounds = u64::from(end.rounds);
    UsageSum {
        requests: rounds,
        input: end.usage.input,
        output: end.usage.output,
        cached: end.usage.cached,
        cache_writes: end.usage.cache_writes,
        reasoning: end.usage.reasoning,
        cost_micros: end.cost.map_or(0, |cost| cost.0),
        unpriced: if end.cost.is_some() { 0 } else { rounds },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_summary_shows_an_unknown_price_as_unknown() {
        let session = UsageSum { requests: 2, input: 12_300, output: 840, cached: 9_000, cost_micros: 120_000, ..UsageSum::default() };
        let turn = UsageSum { requests: 1, input: 500, output: 40, unpriced: 1, ..UsageSum::default() };
        let cost = CostSummary { turn: Some(turn), session, today: UsageSum::default() };
        let table = anstream::adapter::strip_str(&cost.table().render(Some(80))).to_string();
        let expected = "              IN     CACHED  OUT  COST\n\
                        last turn     500    0       40   unknown\n\
                        this session  12.3k  9k      840  $0.12\n\
                        today         0      0       0    none\n";
        assert_eq!(table, expected);
        assert_eq!((&cost.to_json()["last_turn"]["cost"], &cost.to_json()["this_session"]["cost"]), (&Value::Null, &json!(0.12)));
    }
}
