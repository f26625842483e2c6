//! Calls written: one at a time, or many in one go.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::future::poll_fn;
use std::task::Poll;

use futures_util::future::maybe_done;
use haft_contract::BoxFuture;
use tokio_postgres::types::ToSql;

use super::failure::Failure;
use super::link::{Link, Text, execute};
use super::presence::Presences;
use crate::backend::values::{bytes, nanoseconds, nanoseconds_since_1970};
use crate::backend::write::{ChangeAnswer, QueueItem, StoreChange};
use crate::{CallRow, CallStatus};

/// Puts calls in the place of earlier records of them. What was marked as taken back stays so: the end of a call may be written after
/// another process undid it.
macro_rules! put_calls {
    ($before:literal, $calls:literal) => {
        concat!(
            $before,
            " INSERT INTO calls (id, call_id, session, agent, tool, status, error_type, undone, started, elapsed, workspace, \
             summary, decision, effects, arguments, original_arguments) ",
            $calls,
            " ON CONFLICT (id) DO UPDATE SET call_id = excluded.call_id, session = excluded.session, agent = excluded.agent, \
             tool = excluded.tool, status = excluded.status, error_type = excluded.error_type, undone = calls.undone OR excluded.undone, \
             started = excluded.started, elapsed = excluded.elapsed, workspace = excluded.workspace, summary = excluded.summary, \
             decision = excluded.decision, effects = excluded.effects, arguments = excluded.arguments, \
             original_arguments = excluded.original_arguments"
        )
    };
    ($before:literal) => {
        put_calls!($before, "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)")
    };
}

/// Calls, which of them run now and where, and which do not run any more: one statement is one transaction, and one trip to the server.
const PUT_CALLS: &str = put_calls!(
    "WITH begun AS (INSERT INTO running (record, presence) SELECT unnest($17::text[]), $18::text \
     ON CONFLICT (record) DO UPDATE SET presence = excluded.presence), ended AS (DELETE FROM running WHERE record = ANY($19::text[]))",
    "SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[], \
     $9::bigint[], $10::bigint[], $11::bytea[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[])"
);

/// The same for a single call. It costs the server about a fifth less: it unpacks no arrays, and plans the statement once.
const PUT_CALL: &str = put_calls!("");
const PUT_BEGUN_CALL: &str = put_calls!(
    "WITH begun AS (INSERT INTO running (record, presence) VALUES ($1, $17) ON CONFLICT (record) DO UPDATE SET presence = excluded.presence)"
);
const PUT_ENDED_CALL: &str = put_calls!("WITH ended AS (DELETE FROM running WHERE record = $1)");

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
        let (status, error_type) = status_texts(&record.status);
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

fn status_texts(status: &CallStatus) -> (&'static str, Option<Text<'_>>) {
    match status {
        CallStatus::Begun => ("begun", None),
        CallStatus::Success => ("success", None),
        CallStatus::Error(kind) => ("error", Some(Text(kind))),
    }
}

pub(super) async fn put_one(link: &Link, record: &CallRow, presences: &Presences) -> Result<(), Failure> {
    let (status, error_type) = status_texts(&record.status);
    let presence = presences.my_id().map(Text);
    let values: [&(dyn ToSql + Sync); 16] = [
        &Text(&record.id),
        &Text(&record.call_id),
        &Text(&record.session),
        &Text(&record.agent),
        &Text(&record.tool),
        &status,
        &error_type,
        &record.undone,
        &nanoseconds_since_1970(record.started),
        &nanoseconds(record.elapsed),
        &bytes(&record.workspace),
        &Text(&record.summary),
        &Text(&record.decision),
        &Text(&record.effects),
        &Text(&record.arguments),
        &record.original_arguments.as_deref().map(Text),
    ];
    match (&record.status, &presence) {
        (CallStatus::Begun, Some(presence)) => execute(link, PUT_BEGUN_CALL, &[&values[..], &[presence]].concat()).await?,
        // Without a presence nobody could tell whether a call still runs.
        (CallStatus::Begun, None) => execute(link, PUT_CALL, &values).await?,
        _ => execute(link, PUT_ENDED_CALL, &values).await?,
    };
    Ok(())
}

/// Writes a group of nothing but records as one transaction, with one trip to the server: each statement is sent before the one
/// before it is answered. If one fails, so do all that follow, and nothing is committed.
pub(super) async fn put_at_once(link: &Link, group: &[QueueItem], presences: &Presences) -> Result<Vec<ChangeAnswer>, Failure> {
    let records = group.iter().filter_map(|item| if let StoreChange::Record(record) = &item.change { Some(&**record) } else { None });
    let records: Vec<&CallRow> = records.collect();
    if let [record] = records[..] {
        put_one(link, record, presences).await?;
        return Ok(group.iter().map(|_| Ok(0)).collect());
    }
    let put = link.prepare_cached(PUT_CALLS).await?;
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
