//! Queries of the history.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, ToSql};

use super::rows::{self, CALL_COLUMNS};
use super::salvage;
use crate::backend::values;
use crate::error::SqlFault;
use crate::{CallFilter, CallRecord, PreImageRecord, StoreError, short_id};

pub(super) fn list(connection: &Connection, filter: &CallFilter) -> rusqlite::Result<Vec<CallRecord>> {
    let (condition, mut values) = condition(filter);
    let sql = format!("SELECT {CALL_COLUMNS} FROM calls WHERE {condition} ORDER BY id DESC LIMIT ?");
    let limit = filter.limit.map_or(-1, values::integer);
    values.push(&limit);
    connection.prepare_cached(&sql)?.query_map(values.as_slice(), rows::call)?.collect()
}

/// Calls whose ids are not less than this.
pub(super) fn count_since(connection: &Connection, first: &str) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("SELECT count(*) FROM calls WHERE id >= ? AND error_type IS NOT 'blocked'")?
        .query_row([first], |row| row.get::<_, i64>(0).map(i64::unsigned_abs))
}

/// As [`list`], for a database with damaged pages: the calls that can be read.
pub(super) fn list_readable(connection: &Connection, filter: &CallFilter) -> rusqlite::Result<Vec<CallRecord>> {
    let (condition, values) = condition(filter);
    let mut calls = salvage::readable_rows(connection, ("calls", CALL_COLUMNS), &condition, &values, rows::call)?;
    calls.sort_unstable_by(|one, other| other.id.cmp(&one.id));
    calls.truncate(filter.limit.unwrap_or(usize::MAX));
    Ok(calls)
}

fn condition(filter: &CallFilter) -> (String, Vec<&dyn ToSql>) {
    let (mut condition, mut values) = ("true".to_owned(), Vec::<&dyn ToSql>::new());
    if let Some(tool) = &filter.tool {
        condition += " AND tool = ?";
        values.push(tool);
    }
    if let Some(session) = &filter.session {
        condition += " AND session = ?";
        values.push(session);
    }
    if filter.failed {
        condition += " AND status = 'error'";
    }
    (condition, values)
}

pub(super) fn get(connection: &Connection, id: &str) -> Result<CallRecord, SqlFault> {
    if let Some(call) = one(connection, "id = ?1", id)? {
        return Ok(call);
    }
    if let Some(call) = one(connection, "call_id = ?1", id)? {
        return Ok(call);
    }
    let only = short_id::only("call", id, candidates(connection, "calls", id)?)?;
    one(connection, "id = ?1", &only)?.ok_or_else(|| StoreError::no_call(id).into())
}

/// The newest call that meets a condition on one value.
fn one(connection: &Connection, condition: &'static str, value: &str) -> rusqlite::Result<Option<CallRecord>> {
    let sql = format!("SELECT {CALL_COLUMNS} FROM calls WHERE {condition} ORDER BY id DESC LIMIT 1");
    connection.prepare_cached(&sql)?.query_row([value], rows::call).optional()
}

/// Ids in a table that begin or end with `short`, newest first. Reads the ids' index alone.
pub(super) fn candidates(connection: &Connection, table: &'static str, short: &str) -> rusqlite::Result<Vec<String>> {
    if !short_id::is_long_enough(short) {
        return Ok(Vec::new());
    }
    let most = short_id::MAX_CANDIDATES;
    let sql = format!(
        "SELECT id FROM {table} WHERE substr(id, 1, length(?1)) = ?1 OR substr(id, -length(?1)) = ?1 ORDER BY id DESC LIMIT {most}"
    );
    connection.prepare_cached(&sql)?.query_map([short], |row| row.get(0))?.collect()
}

pub(super) fn newest_undoable(connection: &Connection) -> rusqlite::Result<Option<CallRecord>> {
    // Driven by the pre-images, which few calls have. Newest means the call that changed a file last, not the last call: of
    // parallel calls, only the last change can be undone first.
    let sql = format!(
        "SELECT {CALL_COLUMNS} FROM calls WHERE id = (SELECT record FROM pre_images CROSS JOIN calls AS undoable \
         ON undoable.id = record WHERE NOT undoable.undone ORDER BY sequence DESC LIMIT 1)"
    );
    connection.prepare_cached(&sql)?.query_row([], rows::call).optional()
}

pub(super) fn pre_images(connection: &Connection, record: &str) -> rusqlite::Result<Vec<PreImageRecord>> {
    let sql =
        "SELECT record, path, content, mode, after, created_directories, modified FROM pre_images WHERE record = ?1 ORDER BY sequence";
    connection.prepare_cached(sql)?.query_map([record], rows::image)?.collect()
}

pub(super) fn session_images(connection: &Connection, session: &str) -> rusqlite::Result<Vec<PreImageRecord>> {
    let sql = "SELECT record, path, content, mode, after, created_directories, modified FROM calls JOIN pre_images ON record = calls.id \
               WHERE session = ?1 AND NOT undone ORDER BY sequence";
    connection.prepare_cached(sql)?.query_map([session], rows::image)?.collect()
}

pub(super) fn path_images(connection: &Connection, path: &Path) -> rusqlite::Result<Vec<PreImageRecord>> {
    let sql = "SELECT record, path, content, mode, after, created_directories, modified FROM pre_images WHERE path = ?1 ORDER BY sequence";
    connection.prepare_cached(sql)?.query_map([values::bytes(path)], rows::image)?.collect()
}

pub(super) fn changed_paths(connection: &Connection) -> rusqlite::Result<HashSet<PathBuf>> {
    let mut statement = connection.prepare_cached("SELECT DISTINCT path FROM pre_images")?;
    statement.query_map([], |row| Ok(values::path(row.get(0)?)))?.collect()
}
