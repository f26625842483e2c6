//! Token usage as rows and sums.

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::failure::Failure;
use super::link::{Columns, Link, Text, all, execute, row};
use crate::backend::values::{integer, nanoseconds_since_1970};
use crate::{ModelUsage, UsageRecord, UsageSum};

const ADD: &str = "INSERT INTO usage (session, turn, model, input, output, cached, cache_writes, reasoning, cost_micros, at, day) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";

pub(super) async fn add(link: &Link, usage: &UsageRecord) -> Result<(), Failure> {
    let values: [&(dyn ToSql + Sync); 11] = [
        &Text(&usage.session),
        &integer(usage.turn),
        &Text(&usage.model),
        &integer(usage.input),
        &integer(usage.output),
        &integer(usage.cached),
        &integer(usage.cache_writes),
        &integer(usage.reasoning),
        &usage.cost_micros,
        &nanoseconds_since_1970(usage.at),
        &Text(&usage.day),
    ];
    execute(link, ADD, &values).await.map(drop)
}

/// The sums over the rows for which a condition on `$1` holds. A sum that is too large stops at the largest number.
pub(super) async fn sum(link: &Link, condition: &str, value: &str) -> Result<UsageSum, Failure> {
    let sql = format!("SELECT {} FROM usage WHERE {condition}", sums());
    row(link, &sql, &[&Text(value)]).await?.as_ref().map_or(Ok(UsageSum::default()), read)
}

/// A row for each model that was asked on a day of these.
pub(super) async fn by_model(link: &Link, first: &str, last: &str) -> Result<Vec<ModelUsage>, Failure> {
    let sql = format!("SELECT {}, day, model FROM usage WHERE day BETWEEN $1 AND $2 GROUP BY day, model ORDER BY day, model", sums());
    let whole = |row: &Row| Ok(ModelUsage { day: row.text(8)?, model: row.text(9)?, sum: read(row)? });
    all(link, &sql, &[&Text(first), &Text(last)], whole).await
}

fn sums() -> String {
    let total = |column: &str| format!("least(greatest(coalesce(sum({column}), 0), {}), {})::bigint", i64::MIN, i64::MAX);
    let totals = ["input", "output", "cached", "cache_writes", "reasoning", "cost_micros"].map(total).join(", ");
    format!("count(*), {totals}, count(*) - count(cost_micros)")
}

fn read(row: &Row) -> Result<UsageSum, Failure> {
    Ok(UsageSum {
        requests: row.number(0)?,
        input: row.number(1)?,
        output: row.number(2)?,
        cached: row.number(3)?,
        cache_writes: row.number(4)?,
        reasoning: row.number(5)?,
        cost_micros: row.signed(6)?,
        unpriced: row.number(7)?,
    })
}
