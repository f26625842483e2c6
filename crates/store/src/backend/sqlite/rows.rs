//! Records as rows and back.

use std::path::Path;
use std::time::Duration;

use rusqlite::types::Type;
use rusqlite::{CachedStatement, Connection, Row, params};
use serde_json::Value;

use crate::backend::values::{bytes, joined, nanoseconds, nanoseconds_since_1970, path, split, time};
use crate::{BlobId, CallRecord, CallRow, CallStatus, PreImageRecord};

/// The columns of a call, in the order in which [`call`] reads them.
pub(super) const CALL_COLUMNS: &str = "id, call_id, session, agent, tool, status, error_type, undone, started, elapsed, workspace, summary, \
     decision, effects, arguments, original_arguments";

/// What was marked as taken back stays so: the end of a call may be written after another process undid it.
const PUT_CALL: &str = "INSERT INTO calls (id, call_id, session, agent, tool, status, error_type, undone, started, elapsed, workspace, \
     summary, decision, effects, arguments, original_arguments) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16) \
     ON CONFLICT (id) DO UPDATE SET call_id = excluded.call_id, session = excluded.session, agent = excluded.agent, \
     tool = excluded.tool, status = excluded.status, error_type = excluded.error_type, undone = max(undone, excluded.undone), \
     started = excluded.started, elapsed = excluded.elapsed, workspace = excluded.workspace, summary = excluded.summary, \
     decision = excluded.decision, effects = excluded.effects, arguments = excluded.arguments, \
     original_arguments = excluded.original_arguments";

/// The status of a call whose record is damaged.
const DAMAGED: &str = "damaged_record";

const PUT_IMAGE: &str = "INSERT INTO pre_images (record, path, content, mode, after, created_directories, modified) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

const REMOVE_IMAGE: &str = "DELETE FROM pre_images WHERE sequence = \
     (SELECT max(sequence) FROM pre_images WHERE record = ?1 AND path = ?2 AND after IS ?3)";

/// The statement that writes a call, for all calls of a group.
pub(super) fn prepare_call(connection: &Connection) -> rusqlite::Result<CachedStatement<'_>> {
    connection.prepare_cached(PUT_CALL)
}

pub(super) fn put_call(statement: &mut CachedStatement<'_>, record: &CallRow) -> rusqlite::Result<()> {
    let (status, error_type) = match &record.status {
        CallStatus::Begun => ("begun", None),
        CallStatus::Success => ("success", None),
        CallStatus::Error(kind) => ("error", Some(kind)),
    };
    statement.execute(params![
        record.id,
        record.call_id,
        &*record.session,
        &*record.agent,
        record.tool,
        status,
        error_type,
        record.undone,
        nanoseconds_since_1970(record.started),
        nanoseconds(record.elapsed),
        bytes(&record.workspace),
        record.summary,
        record.decision,
        record.effects,
        record.arguments,
        record.original_arguments,
    ])?;
    Ok(())
}

/// A call; of a damaged row, what of it can be read.
pub(super) fn call(row: &Row<'_>) -> rusqlite::Result<CallRecord> {
    whole_call(row).or_else(|error| if is_conversion(&error) { damaged_call(row, &error) } else { Err(error) })
}

/// Whether a value of the row makes no sense, and the others may.
pub(super) fn is_conversion(error: &rusqlite::Error) -> bool {
    !matches!(error, rusqlite::Error::SqliteFailure(..))
}

/// A text, with replacement characters where it is not UTF-8.
pub(super) fn lossy(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    let bytes = row.get_ref(column)?.as_bytes_or_null()?.unwrap_or_default();
    // Checking is much faster than decoding with replacement, and nearly always all there is to do.
    Ok(std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes).into_owned(), str::to_owned))
}

fn damaged_call(row: &Row<'_>, error: &rusqlite::Error) -> rusqlite::Result<CallRecord> {
    let parsed = |column| value(row, column).unwrap_or_default();
    Ok(CallRecord {
        id: lossy(row, 0)?,
        call_id: lossy(row, 1)?,
        session: lossy(row, 2)?,
        agent: lossy(row, 3)?,
        tool: lossy(row, 4)?,
        status: CallStatus::Error(DAMAGED.to_owned()),
        undone: row.get(7)?,
        started: time(row.get(8)?),
        elapsed: Duration::from_nanos(row.get::<_, i64>(9)?.unsigned_abs()),
        workspace: path(row.get(10)?),
        summary: format!("Parts of this record are damaged ({error}). {}", lossy(row, 11)?),
        decision: parsed(12),
        effects: parsed(13),
        arguments: parsed(14),
        original_arguments: None,
    })
}

fn whole_call(row: &Row<'_>) -> rusqlite::Result<CallRecord> {
    Ok(CallRecord {
        id: row.get(0)?,
        call_id: row.get(1)?,
        session: row.get(2)?,
        agent: row.get(3)?,
        tool: row.get(4)?,
        status: status(row)?,
        undone: row.get(7)?,
        started: time(row.get(8)?),
        elapsed: Duration::from_nanos(row.get::<_, i64>(9)?.unsigned_abs()),
        workspace: path(row.get(10)?),
        summary: row.get(11)?,
        decision: value(row, 12)?,
        effects: value(row, 13)?,
        arguments: value(row, 14)?,
        original_arguments: row.get_ref(15)?.as_str_or_null()?.map(|text| parse(15, text)).transpose()?,
    })
}

fn status(row: &Row<'_>) -> rusqlite::Result<CallStatus> {
    Ok(match row.get_ref(5)?.as_str()? {
        "begun" => CallStatus::Begun,
        "success" => CallStatus::Success,
        _ => CallStatus::Error(row.get::<_, Option<String>>(6)?.unwrap_or_default()),
    })
}

/// Says whether there is such a call.
pub(super) fn mark_undone(connection: &Connection, record: &str) -> rusqlite::Result<bool> {
    Ok(connection.prepare_cached("UPDATE calls SET undone = 1 WHERE id = ?1")?.execute([record])? > 0)
}

pub(super) fn put_image(connection: &Connection, image: &PreImageRecord) -> rusqlite::Result<()> {
    connection.prepare_cached(PUT_IMAGE)?.execute(params![
        image.record,
        bytes(&image.path),
        image.content.as_ref().map(|id| &id.0),
        image.mode,
        image.after,
        joined(&image.created_directories),
        image.modified.map(nanoseconds_since_1970),
    ])?;
    Ok(())
}

pub(super) fn remove_image(connection: &Connection, record: &str, path: &Path, after: Option<&str>) -> rusqlite::Result<()> {
    connection.prepare_cached(REMOVE_IMAGE)?.execute(params![record, bytes(path), after])?;
    Ok(())
}

/// Reads `record, path, content, mode, after, created_directories, modified`.
pub(super) fn image(row: &Row<'_>) -> rusqlite::Result<PreImageRecord> {
    Ok(PreImageRecord {
        record: row.get(0)?,
        path: path(row.get(1)?),
        content: row.get::<_, Option<String>>(2)?.map(BlobId),
        mode: row.get(3)?,
        after: row.get(4)?,
        created_directories: split(row.get_ref(5)?.as_blob()?),
        modified: row.get::<_, Option<i64>>(6)?.map(time),
    })
}

fn value(row: &Row<'_>, column: usize) -> rusqlite::Result<Value> {
    parse(column, row.get_ref(column)?.as_str()?)
}

fn parse(column: usize, text: &str) -> rusqlite::Result<Value> {
    serde_json::from_str(text).map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error)))
}

pub(super) fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.unsigned_abs())
}
