//! Queries of the history.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use tokio_postgres::types::ToSql;

use super::calls::{CALL_COLUMNS, IMAGE_COLUMNS, call, image};
use super::failure::Failure;
use super::link::{Columns, Link, Text, all, row};
use crate::backend::values::{bytes, integer};
use crate::{CallFilter, CallRecord, PreImageRecord, StoreError, short_id};

pub(super) async fn list(link: &Link, filter: &CallFilter) -> Result<Vec<CallRecord>, Failure> {
    let (tool, session) = (filter.tool.as_deref().map(Text), filter.session.as_deref().map(Text));
    let (mut condition, mut values) = ("TRUE".to_owned(), Vec::<&(dyn ToSql + Sync)>::new());
    if let Some(tool) = &tool {
        values.push(tool);
        condition = format!("{condition} AND tool = ${}", values.len());
    }
    if let Some(session) = &session {
        values.push(session);
        condition = format!("{condition} AND session = ${}", values.len());
    }
    if filter.failed {
        condition += " AND status = 'error'";
    }
    let limit = filter.limit.map(integer);
    values.push(&limit);
    // No limit is NULL.
    let sql = format!("SELECT {CALL_COLUMNS} FROM calls WHERE {condition} ORDER BY id DESC LIMIT ${}", values.len());
    all(link, &sql, &values, call).await
}

/// Calls whose ids are not less than this.
pub(super) async fn count_since(link: &Link, first: &str) -> Result<u64, Failure> {
    count(link, "SELECT count(*) FROM calls WHERE id >= $1 AND error_type IS DISTINCT FROM 'blocked'", &[&Text(first)]).await
}

/// Bytes of the tables and indexes of the schema.
pub(super) async fn size(link: &Link) -> Result<u64, Failure> {
    let sql = "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class \
               WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND relkind = 'r'";
    count(link, sql, &[]).await
}

async fn count(link: &Link, sql: &str, values: super::link::Values<'_>) -> Result<u64, Failure> {
    let counted: i64 = row(link, sql, values).await?.map(|row| row.try_get(0)).transpose()?.unwrap_or_default();
    Ok(u64::try_from(counted).unwrap_or_default())
}

pub(super) async fn get(link: &Link, id: &str) -> Result<CallRecord, Failure> {
    if let Some(call) = one(link, "id", id).await? {
        return Ok(call);
    }
    if let Some(call) = one(link, "call_id", id).await? {
        return Ok(call);
    }
    let only = short_id::only("call", id, candidates(link, "calls", id).await?)?;
    one(link, "id", &only).await?.ok_or_else(|| StoreError::no_call(id).into())
}

/// The newest call with this value in a column.
async fn one(link: &Link, column: &'static str, value: &str) -> Result<Option<CallRecord>, Failure> {
    let sql = format!("SELECT {CALL_COLUMNS} FROM calls WHERE {column} = $1 ORDER BY id DESC LIMIT 1");
    row(link, &sql, &[&Text(value)]).await?.as_ref().map(call).transpose()
}

/// Ids in a table that begin or end with `short`, newest first.
pub(super) async fn candidates(link: &Link, table: &'static str, short: &str) -> Result<Vec<String>, Failure> {
    if !short_id::is_long_enough(short) {
        return Ok(Vec::new());
    }
    let most = short_id::MAX_CANDIDATES;
    let sql = format!("SELECT id FROM {table} WHERE starts_with(id, $1) OR right(id, length($1)) = $1 ORDER BY id DESC LIMIT {most}");
    all(link, &sql, &[&Text(short)], |row| row.text(0)).await
}

pub(super) async fn newest_undoable(link: &Link) -> Result<Option<CallRecord>, Failure> {
    // Newest means the call that changed a file last, not the last call: of parallel calls, only the last change can be undone first.
    let sql = format!(
        "SELECT {CALL_COLUMNS} FROM calls WHERE id = (SELECT record FROM pre_images JOIN calls AS undoable ON undoable.id = record \
         WHERE NOT undoable.undone ORDER BY sequence DESC LIMIT 1)"
    );
    row(link, &sql, &[]).await?.as_ref().map(call).transpose()
}

pub(super) async fn pre_images(link: &Link, record: &str) -> Result<Vec<PreImageRecord>, Failure> {
    let sql = format!("SELECT {IMAGE_COLUMNS} FROM pre_images WHERE record = $1 ORDER BY sequence");
    all(link, &sql, &[&Text(record)], image).await
}

pub(super) async fn session_images(link: &Link, session: &str) -> Result<Vec<PreImageRecord>, Failure> {
    let sql = format!(
        "SELECT {IMAGE_COLUMNS} FROM calls JOIN pre_images ON record = calls.id WHERE session = $1 AND NOT undone ORDER BY sequence"
    );
    all(link, &sql, &[&Text(session)], image).await
}

pub(super) async fn path_images(link: &Link, path: &Path) -> Result<Vec<PreImageRecord>, Failure> {
    let sql = format!("SELECT {IMAGE_COLUMNS} FROM pre_images WHERE md5(path) = md5($1::bytea) AND path = $1 ORDER BY sequence");
    all(link, &sql, &[&bytes(path)], image).await
}

pub(super) async fn changed_paths(link: &Link) -> Result<HashSet<PathBuf>, Failure> {
    let paths = all(link, "SELECT DISTINCT path FROM pre_images", &[], |row| row.path(0)).await?;
    Ok(paths.into_iter().collect())
}
