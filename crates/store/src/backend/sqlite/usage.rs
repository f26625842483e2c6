//! Token usage as rows and sums.

use rusqlite::{Connection, Row, params};

use super::rows::number;
use crate::backend::values::{integer, nanoseconds_since_1970};
use crate::error::SqlFault;
use crate::{ModelUsage, UsageRecord, UsageSum};

const ADD: &str = "INSERT INTO usage (session, turn, model, input, output, cached, cache_writes, reasoning, cost_micros, at, day) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

/// `total` where `sum` would fail at a number too large.
const SUMS: &str = "count(*), CAST(total(input) AS INTEGER), CAST(total(output) AS INTEGER), CAST(total(cached) AS INTEGER), \
     CAST(total(cache_writes) AS INTEGER), CAST(total(reasoning) AS INTEGER), CAST(total(cost_micros) AS INTEGER), \
     count(*) - count(cost_micros)";

pub(super) fn add(connection: &Connection, usage: &UsageRecord) -> Result<(), SqlFault> {
    connection.prepare_cached(ADD)?.execute(params![
        usage.session,
        integer(usage.turn),
        usage.model,
        integer(usage.input),
        integer(usage.output),
        integer(usage.cached),
        integer(usage.cache_writes),
        integer(usage.reasoning),
        usage.cost_micros,
        nanoseconds_since_1970(usage.at),
        usage.day,
    ])?;
    Ok(())
}

/// The sums over the rows in which this column has this value.
pub(super) fn sum(connection: &Connection, column: &'static str, value: &str) -> Result<UsageSum, SqlFault> {
    sum_where(connection, &format!("{column} = ?1"), value)
}

/// The sums over the rows for which this condition holds.
pub(super) fn sum_where(connection: &Connection, condition: &str, value: &str) -> Result<UsageSum, SqlFault> {
    let sql = format!("SELECT {SUMS} FROM usage WHERE {condition}");
    Ok(connection.prepare_cached(&sql)?.query_row([value], read)?)
}

/// A row for each model that was asked on a day of these.
pub(super) fn by_model(connection: &Connection, first: &str, last: &str) -> Result<Vec<ModelUsage>, SqlFault> {
    let sql = format!("SELECT {SUMS}, day, model FROM usage WHERE day BETWEEN ?1 AND ?2 GROUP BY day, model ORDER BY day, model");
    let whole = |row: &Row<'_>| Ok(ModelUsage { day: row.get(8)?, model: row.get(9)?, sum: read(row)? });
    Ok(connection.prepare_cached(&sql)?.query_map([first, last], whole)?.collect::<Result<_, _>>()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<UsageSum> {
    Ok(UsageSum {
        requests: number(row, 0)?,
        input: number(row, 1)?,
        output: number(row, 2)?,
        cached: number(row, 3)?,
        cache_writes: number(row, 4)?,
        reasoning: number(row, 5)?,
        cost_micros: row.get(6)?,
        unpriced: number(row, 7)?,
    })
}
