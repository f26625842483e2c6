//! Reads what can still be read of a damaged database: a page that makes no sense hides its own rows and no others.
//!
//! A query stops at the first damaged page. So rows are found from both ends of a table and by each of its indexes, and then read one
//! by one.

use std::collections::BTreeSet;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, Row, ToSql, params_from_iter};

/// The tables that are recovered, each after those that it refers to. Claims and running calls are those of processes that ended.
const TABLES: [&str; 17] = [
    "calls",
    "pre_images",
    "sessions",
    "messages",
    "messages_replaced",
    "usage",
    "jobs",
    "sub_agents",
    "todo_lists",
    "channel_messages",
    "channel_senders",
    "channel_conversations",
    "channel_seen",
    "channel_cursors",
    "automation_jobs",
    "automation_runs",
    "automation_notices",
];

/// How many rows of a table were recovered, and how many are known to be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SalvagedRows {
    pub(super) calls: usize,
    pub(super) sessions: usize,
    pub(super) lost: usize,
}

/// Copies all readable rows of the database at `path` to a new one.
pub(super) fn copy_rows(path: &std::path::Path, new: &mut Connection) -> rusqlite::Result<SalvagedRows> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let old = Connection::open_with_flags(path, flags)?;
    let mut salvaged = SalvagedRows::default();
    let transaction = new.transaction()?;
    for table in TABLES {
        let columns = shared_columns(&old, &transaction, table);
        if columns.is_empty() {
            continue;
        }
        let (copied, lost) = copy_table(&old, &transaction, table, &columns)?;
        salvaged.lost += lost;
        match table {
            "calls" => salvaged.calls = copied,
            "sessions" => salvaged.sessions = copied,
            _ => {}
        }
    }
    transaction.commit()?;
    Ok(salvaged)
}

/// The columns that both databases have: the old one may be of an older version, and so lack some.
fn shared_columns(old: &Connection, new: &Connection, table: &str) -> Vec<String> {
    let columns = |connection: &Connection| -> rusqlite::Result<Vec<String>> {
        connection.prepare("SELECT name FROM pragma_table_info(?1)")?.query_map([table], |row| row.get(0))?.collect()
    };
    let known = columns(new).unwrap_or_default();
    columns(old).unwrap_or_default().into_iter().filter(|column| known.contains(column)).collect()
}

fn copy_table(old: &Connection, new: &Connection, table: &str, columns: &[String]) -> rusqlite::Result<(usize, usize)> {
    let names = columns.join(", ");
    let places = vec!["?"; columns.len() + 1].join(", ");
    let mut read = old.prepare(&format!("SELECT {names} FROM {table} NOT INDEXED WHERE rowid = ?1"))?;
    let mut write = new.prepare(&format!("INSERT INTO {table} (rowid, {names}) VALUES ({places})"))?;
    let (mut copied, mut lost) = (0, 0);
    for rowid in row_ids(old, table) {
        let mut copy = |row: &Row<'_>| {
            let values = (0..columns.len()).map(|column| row.get_ref(column).map(Raw)).collect::<rusqlite::Result<Vec<_>>>()?;
            write.execute(params_from_iter(std::iter::once(Raw(ValueRef::Integer(rowid))).chain(values)))
        };
        // A row that breaks a rule of the schema is as damaged as one that cannot be read.
        match read.query_row([rowid], |row| copy(row)) {
            Ok(_) => copied += 1,
            Err(_) => lost += 1,
        }
    }
    Ok((copied, lost))
}

/// A value as it is, also text that is not UTF-8.
struct Raw<'a>(ValueRef<'a>);

impl ToSql for Raw<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(self.0))
    }
}

/// The rows of a table as far as they can be found.
fn row_ids(connection: &Connection, table: &str) -> BTreeSet<i64> {
    let indexes = || -> rusqlite::Result<Vec<String>> {
        connection.prepare("SELECT name FROM pragma_index_list(?1)")?.query_map([table], |row| row.get(0))?.collect()
    };
    let by_index = indexes().unwrap_or_default().into_iter().map(|index| format!("INDEXED BY \"{index}\""));
    let ways = ["NOT INDEXED ORDER BY rowid", "NOT INDEXED ORDER BY rowid DESC"].into_iter().map(str::to_owned).chain(by_index);
    let mut found = BTreeSet::new();
    for way in ways {
        let Ok(mut statement) = connection.prepare(&format!("SELECT rowid FROM {table} {way}")) else { continue };
        let Ok(rows) = statement.query_map([], |row| row.get::<_, i64>(0)) else { continue };
        found.extend(rows.map_while(Result::ok));
    }
    found
}

/// The rows of a damaged table that meet a condition and can be read, in any order.
pub(super) fn readable_rows<T>(
    connection: &Connection,
    (table, columns): (&str, &str),
    condition: &str,
    values: &[&dyn ToSql],
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let mut statement = connection.prepare(&format!("SELECT {columns} FROM {table} NOT INDEXED WHERE {condition} AND rowid = ?"))?;
    let rows = row_ids(connection, table).into_iter().filter_map(|rowid| {
        let values = values.iter().copied().chain(std::iter::once(&rowid as &dyn ToSql));
        statement.query_row(params_from_iter(values), |row| read(row)).ok()
    });
    Ok(rows.collect())
}
