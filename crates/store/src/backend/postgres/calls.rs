//! Calls and pre-images as rows.

use std::path::Path;

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::failure::Failure;
use super::link::{Columns, Link, Text, execute};
use super::presence::Presences;
use super::{put_calls, running};
use crate::backend::values::{bytes, integer, joined, nanoseconds_since_1970, split};
use crate::backend::write::StoreChange;
use crate::{BlobId, CallRecord, CallStatus, PreImageRecord, StoreError};

/// The columns of a call, in the order in which [`call`] reads them.
pub(super) const CALL_COLUMNS: &str = "id, call_id, session, agent, tool, status, error_type, undone, started, elapsed, workspace, summary, \
     decision, effects, arguments, original_arguments";

/// The columns of a pre-image, in the order in which [`image`] reads them.
pub(super) const IMAGE_COLUMNS: &str = "record, path, content, mode, after, created_directories, modified";

const PUT_IMAGE: &str = "INSERT INTO pre_images (record, path, content, mode, after, created_directories, modified) \
     VALUES ($1, $2, $3, $4, $5, $6, $7)";

const REMOVE_IMAGE: &str = "DELETE FROM pre_images WHERE sequence = (SELECT max(sequence) FROM pre_images \
     WHERE record = $1 AND path = $2 AND after IS NOT DISTINCT FROM $3)";

pub(super) async fn apply(link: &Link, change: &StoreChange, presences: &Presences) -> Result<u64, Failure> {
    match change {
        StoreChange::Record(record) => put_calls::put_one(link, record, presences).await?,
        StoreChange::TakeInterrupted { record, ended } => return running::take(link, presences, record, ended).await.map(u64::from),
        StoreChange::Images(images) => {
            for image in images {
                put_image(link, image).await?;
            }
        }
        StoreChange::Withdrawn { record, path, after } => remove_image(link, record, path, after.as_deref()).await?,
        StoreChange::SettleInterrupted(record) => running::end(link, record).await?,
        StoreChange::Undone(record) => {
            if execute(link, "UPDATE calls SET undone = TRUE WHERE id = $1", &[&Text(record)]).await? == 0 {
                return Err(StoreError::no_call(record).into());
            }
            running::end(link, record).await?;
        }
        // The others are made elsewhere; a deferred record was made when its group was taken.
        _ => {}
    }
    Ok(0)
}

async fn put_image(link: &Link, image: &PreImageRecord) -> Result<(), Failure> {
    let values: [&(dyn ToSql + Sync); 7] = [
        &Text(&image.record),
        &bytes(&image.path),
        &image.content.as_ref().map(|id| Text(&id.0)),
        &image.mode.map(integer),
        &image.after.as_deref().map(Text),
        &joined(&image.created_directories),
        &image.modified.map(nanoseconds_since_1970),
    ];
    execute(link, PUT_IMAGE, &values).await.map(drop)
}

async fn remove_image(link: &Link, record: &str, path: &Path, after: Option<&str>) -> Result<(), Failure> {
    execute(link, REMOVE_IMAGE, &[&Text(record), &bytes(path), &after.map(Text)]).await.map(drop)
}

pub(super) fn call(row: &Row) -> Result<CallRecord, Failure> {
    Ok(CallRecord {
        id: row.text(0)?,
        call_id: row.text(1)?,
        session: row.text(2)?,
        agent: row.text(3)?,
        tool: row.text(4)?,
        status: match row.text(5)?.as_str() {
            "begun" => CallStatus::Begun,
            "success" => CallStatus::Success,
            _ => CallStatus::Error(row.maybe_text(6)?.unwrap_or_default()),
        },
        undone: row.flag(7)?,
        started: row.time(8)?,
        elapsed: std::time::Duration::from_nanos(row.number(9)?),
        workspace: row.path(10)?,
        summary: row.text(11)?,
        decision: row.json(12)?,
        effects: row.json(13)?,
        arguments: row.json(14)?,
        original_arguments: row.maybe_text(15)?.map(|_| row.json(15)).transpose()?,
    })
}

pub(super) fn image(row: &Row) -> Result<PreImageRecord, Failure> {
    Ok(PreImageRecord {
        record: row.text(0)?,
        path: row.path(1)?,
        content: row.maybe_text(2)?.map(BlobId),
        mode: row.maybe_signed(3)?.map(|mode| u32::try_from(mode).unwrap_or(u32::MAX)),
        after: row.maybe_text(4)?,
        created_directories: split(row.try_get(5)?),
        modified: row.maybe_time(6)?,
    })
}
