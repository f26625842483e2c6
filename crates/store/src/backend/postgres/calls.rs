//! Calls and pre-images as rows: written in one go where they can be.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::future::poll_fn;
use std::path::Path;
use std::task::Poll;

use futures_util::future::maybe_done;
use haft_contract::BoxFuture;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::failure::Failure;
use super::link::{Columns, Link, Text, execute};
use super::presence::Presences;
use super::running;
use crate::backend::values::{bytes, integer, joined, nanoseconds, nanoseconds_since_1970, split};
use crate::backend::write::{ChangeAnswer, QueueItem, StoreChange};
use crate::{BlobId, CallRecord, CallRow, CallStatus, PreImageRecord, StoreError};

/// The columns of a call, in the order in which [`call`] reads them.
pub(super) const CALL_COLUMNS: &str = "id, call_id, session, agent, tool, status, error_type, undone, started, elapsed, workspace, summary, \
     decision, effects, arguments, original_arguments";

/// Calls, which of them run now and where, and which do not run any more: one statement is one transaction, and one trip to the server.
/// What was marked as taken back stays so: the end of a call may be written after another process undid it.
const PUT_CALLS: &str = "WITH begun AS (INSERT INTO running (record, presence) SELECT unnest($17::text[]), $18::text \
     ON CONFLICT (record) DO UPDATE SET presence = excluded.presence), ended AS (DELETE FROM running WHERE record = ANY($19::text[])) \
     INSERT INTO calls (id, call_id, session, agent, tool, status, error_type, undone, started, elapsed, workspace, \
     summary, decision, effects, arguments, original_arguments) \
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[], \
     $9::bigint[], $10::bigint[], $11::bytea[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[]) \
     ON CONFLICT (id) DO UPDATE SET call_id = excluded.call_id, session = excluded.session, agent = excluded.agent, \
     tool = excluded.tool, status = excluded.status, error_type = excluded.error_type, undone = calls.undone OR excluded.undone, \
     started = excluded.started, elapsed = excluded.elapsed, workspace = excluded.workspace, summary = excluded.summary, \
     decision = excluded.decision, effects = excluded.effects, arguments = excluded.arguments, \
     original_arguments = excluded.original_arguments";

/// The columns of a pre-image, in the order in which [`image`] reads them.
pub(super) const IMAGE_COLUMNS: &str = "record, path, content, mode, after, created_directories, modified";

const PUT_IMAGE: &str = "INSERT INTO pre_images (record, path, content, mode, after, created_directories, modified) \
     VALUES ($1, $2, $3, $4, $5, $6, $7)";

const REMOVE_IMAGE: &str = "DELETE FROM pre_images WHERE sequence = (SELECT max(sequence) FROM pre_images \
     WHERE record = $1 AND path = $2 AND after IS NOT DISTINCT FROM $3)";

/// How many records one statement takes.
const AT_ONCE: usize = 256;

/// Records as columns. One id stands once in it, as one statement changes a row once: with its newest record.
#[derive(Default)]
struct CallColumns<'a> {
    texts: [Vec<Text<'a>>; 5],
    status: Vec<&'static str>,
    error_type: Vec<Option<Text<'a>>>,
    undone: Vec<bool>,
    numbers: [Vec<i64>; 2],
    workspace: Vec<&'a [u8]>,
    summary: Vec<Text<'a>>,
    json: [Vec<Text<'a>>; 3],
    original: Vec<Option<Text<'a>>>,
}

impl<'a> CallColumns<'a> {
    fn new(records: &[&'a CallRow]) -> Self {
        let mut columns = Self::default();
        let mut seen = HashMap::new();
        for record in records.iter().rev() {
            match seen.entry(record.id.as_str()) {
                Entry::Vacant(first) => {
                    first.insert(columns.undone.len());
                    columns.add(record);
                }
                // What was marked as taken back stays so.
                Entry::Occupied(newer) => columns.undone[*newer.get()] |= record.undone,
            }
        }
        columns
    }

    fn add(&mut self, record: &'a CallRow) {
        let (status, error_type) = match &record.status {
            CallStatus::Begun => ("begun", None),
            CallStatus::Success => ("success", None),
            CallStatus::Error(kind) => ("error", Some(Text(kind))),
        };
        let texts: [&'a str; 5] = [&record.id, &record.call_id, &record.session, &record.agent, &record.tool];
        self.texts.iter_mut().zip(texts).for_each(|(column, text)| column.push(Text(text)));
        self.status.push(status);
        self.error_type.push(error_type);
        self.undone.push(record.undone);
        let numbers = [nanoseconds_since_1970(record.started), nanoseconds(record.elapsed)];
        self.numbers.iter_mut().zip(numbers).for_each(|(column, number)| column.push(number));
        self.workspace.push(bytes(&record.workspace));
        self.summary.push(Text(&record.summary));
        let json = [&record.decision, &record.effects, &record.arguments];
        self.json.iter_mut().zip(json).for_each(|(column, text)| column.push(Text(text)));
        self.original.push(record.original_arguments.as_deref().map(Text));
    }

    async fn put(&self, link: &Link, statement: &tokio_postgres::Statement, presences: &Presences) -> Result<(), tokio_postgres::Error> {
        let (mut begun, ended) = self.begun_and_ended();
        if presences.my_id().is_none() {
            // Without a presence nobody could tell whether a call still runs.
            begun.clear();
        }
        let [id, call_id, session, agent, tool] = &self.texts;
        let ([started, elapsed], [decision, effects, arguments]) = (&self.numbers, &self.json);
        let values: [&(dyn ToSql + Sync); 19] = [
            id,
            call_id,
            session,
            agent,
            tool,
            &self.status,
            &self.error_type,
            &self.undone,
            started,
            elapsed,
            &self.workspace,
            &self.summary,
            decision,
            effects,
            arguments,
            &self.original,
            &begun,
            &Text(presences.my_id().unwrap_or_default()),
            &ended,
        ];
        link.execute(statement, &values).await.map(drop)
    }

    /// The calls that have begun, and those that have an outcome.
    fn begun_and_ended(&self) -> (Vec<Text<'a>>, Vec<Text<'a>>) {
        let ids = self.texts[0].iter().copied().zip(&self.status);
        let (begun, ended): (Vec<_>, Vec<_>) = ids.partition(|(_, status)| **status == "begun");
        let ids = |calls: Vec<(Text<'a>, _)>| calls.into_iter().map(|(id, _)| id).collect();
        (ids(begun), ids(ended))
    }
}

/// Writes a group of nothing but records as one transaction, with one trip to the server: each statement is sent before the one
/// before it is answered. If one fails, so do all that follow, and nothing is committed.
pub(super) async fn put_at_once(link: &Link, group: &[QueueItem], presences: &Presences) -> Result<Vec<ChangeAnswer>, Failure> {
    let put = link.prepare_cached(PUT_CALLS).await?;
    let records = group.iter().filter_map(|item| if let StoreChange::Record(record) = &item.change { Some(&**record) } else { None });
    let records: Vec<&CallRow> = records.collect();
    let parts = records.chunks(AT_ONCE).len();
    for (at, part) in records.chunks(AT_ONCE).enumerate() {
        let columns = CallColumns::new(part);
        let mut sent: Vec<BoxFuture<'_, Result<(), tokio_postgres::Error>>> = Vec::new();
        if parts > 1 && at == 0 {
            sent.push(Box::pin(link.batch_execute("BEGIN")));
        }
        sent.push(Box::pin(columns.put(link, &put, presences)));
        if parts > 1 && at + 1 == parts {
            sent.push(Box::pin(link.batch_execute("COMMIT")));
        }
        in_order(sent).await?;
    }
    Ok(group.iter().map(|_| Ok(0)).collect())
}

/// Sends everything, in this order, and then waits for the answers.
async fn in_order(requests: Vec<BoxFuture<'_, Result<(), tokio_postgres::Error>>>) -> Result<(), Failure> {
    let mut sent = Vec::with_capacity(requests.len());
    for request in requests {
        let mut request = Box::pin(maybe_done(request));
        // The first step of a request sends it.
        poll_fn(|cx| {
            let _ = request.as_mut().poll(cx);
            Poll::Ready(())
        })
        .await;
        sent.push(request);
    }
    let mut first = Ok(());
    for mut request in sent {
        request.as_mut().await;
        if let Some(Err(error)) = request.as_mut().take_output()
            && first.is_ok()
        {
            first = Err(error);
        }
    }
    Ok(first?)
}

pub(super) async fn apply(link: &Link, change: &StoreChange, presences: &Presences) -> Result<u64, Failure> {
    match change {
        StoreChange::Record(record) => {
            CallColumns::new(&[record]).put(link, &link.prepare_cached(PUT_CALLS).await?, presences).await?;
        }
        StoreChange::TakeInterrupted { record, ended } => return running::take(link, presences, record, ended).await.map(u64::from),
        StoreChange::Image(image) => put_image(link, image).await?,
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
