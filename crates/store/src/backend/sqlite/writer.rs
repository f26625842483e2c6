//! The one thread that writes: it takes what is queued and commits it as one transaction.
//!
//! A finished call is queued and written behind the call, which does not wait. Three things are on disk first: the intent of a call
//! that changes something (`begun`: after a crash, history knows of it), each pre-image, and the record that a call was undone. If
//! history cannot be written, the result is not lost: an event and a warning in its details say so. If the intent cannot be written,
//! the call does not run.

use std::sync::Arc;

use rusqlite::{CachedStatement, Connection, TransactionBehavior};

use super::database::DatabaseFile;
use super::failure::{copy_of, is_own};
use super::owners::Owners;
use super::{automation, channels, jobs, open, rows, running, session_change};
use crate::backend::write::{ChangeAnswer, QueueItem, StoreChange, WriteQueue};
use crate::error::SqlFault;
use crate::{CallRow, StoreError};

/// Writes until the queue is closed and empty.
pub(super) fn run(mut connection: Connection, queue: Arc<WriteQueue>, owners: &Owners, file: &DatabaseFile) {
    let closer = QueueCloser(queue);
    let queue = &closer.0;
    let (mut held, mut log_left) = (Vec::new(), open::WAL_LEFT);
    while let Some(group) = queue.next_group(held) {
        if group.iter().any(|item| item.change.erases()) {
            // The log still has what was deleted.
            log_left = 0;
        }
        held = match commit(&mut connection, &group, owners, Some(file)) {
            Ok(answers) => {
                group.iter().filter_map(QueueItem::ended_call).for_each(|record| owners.running.forget(record));
                queue.settle(group, answers);
                Vec::new()
            }
            Err(error) => postpone(queue, group, error, file),
        };
        if !held.is_empty() && queue.is_closed() {
            break;
        }
    }
    open::empty_log(&connection, file.path(), log_left);
}

fn postpone(queue: &WriteQueue, group: Vec<QueueItem>, error: rusqlite::Error, file: &DatabaseFile) -> Vec<QueueItem> {
    let path = file.path().to_owned();
    if matches!(StoreError::database(&path, copy_of(&error)), StoreError::Damaged { .. }) {
        open::suspect(&path);
    }
    queue.postpone(group, move || StoreError::database(&path, copy_of(&error)))
}

/// Closes the queue when the thread ends, by a panic too.
struct QueueCloser(Arc<WriteQueue>);

impl Drop for QueueCloser {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// All of a group or nothing of it, but for changes that cannot be written at all: those have their own answer.
fn commit(
    connection: &mut Connection,
    group: &[QueueItem],
    owners: &Owners,
    file: Option<&DatabaseFile>,
) -> rusqlite::Result<Vec<ChangeAnswer>> {
    if group.iter().all(|item| matches!(item.change, StoreChange::Nothing)) {
        return Ok(group.iter().map(|_| Ok(0)).collect());
    }
    file.map_or(Ok(()), DatabaseFile::check)?;
    if group.iter().any(QueueItem::needs_presence) {
        // Before the transaction: it waits for the folder's lock, whose holder may wait for the database. Without a presence the call
        // is recorded all the same; after a kill, the next start then does not find it.
        owners.announce().ok();
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut calls = None;
    let answers = group.iter().map(|item| apply(&transaction, &mut calls, &item.change, owners)).collect::<rusqlite::Result<_>>()?;
    drop(calls);
    transaction.commit()?;
    Ok(answers)
}

/// The statement that writes calls, once one is written.
type CallStatement<'a> = Option<CachedStatement<'a>>;

/// The outer error is the database's, the inner one this change's own.
fn apply<'a>(
    connection: &'a Connection,
    calls: &mut CallStatement<'a>,
    change: &StoreChange,
    owners: &Owners,
) -> rusqlite::Result<ChangeAnswer> {
    let result = match change {
        StoreChange::Session(change) => return session_change::apply(connection, change, owners),
        StoreChange::Job(change) => return jobs::apply(connection, change),
        StoreChange::Channel(change) => return channels::apply(connection, change),
        StoreChange::Automation(write) => return automation::apply(connection, write, owners),
        StoreChange::Record(record) => put_call(connection, calls, record, owners).map(|()| true),
        StoreChange::TakeInterrupted { record, ended } => {
            return running::take(connection, owners, record, ended).map(|taken| Ok(u64::from(taken)));
        }
        StoreChange::Images(images) => images.iter().try_for_each(|image| rows::put_image(connection, image)).map(|()| true),
        StoreChange::Withdrawn { record, path, after } => rows::remove_image(connection, record, path, after.as_deref()).map(|()| true),
        StoreChange::SettleInterrupted(record) => running::end(connection, record).map(|()| true),
        StoreChange::Undone(record) => running::end(connection, record).and_then(|()| rows::mark_undone(connection, record)),
        // Made when its group was taken.
        StoreChange::Nothing | StoreChange::Deferred(_) => Ok(true),
    };
    match (result, change) {
        (Ok(true), _) => Ok(Ok(0)),
        (Err(error), _) if !is_own(&error) => Err(error),
        (Err(error), StoreChange::Record(_)) => Ok(Err(SqlFault::from(error).into())),
        // The only rule a pre-image can break is that its call must be there.
        (_, StoreChange::Images(images)) => Ok(images.first().map_or(Ok(0), |image| Err(StoreError::no_call(&image.record)))),
        (_, StoreChange::Undone(record)) => Ok(Err(StoreError::no_call(record))),
        (Ok(false) | Err(_), _) => Ok(Ok(0)),
    }
}

fn put_call<'a>(connection: &'a Connection, calls: &mut CallStatement<'a>, record: &CallRow, owners: &Owners) -> rusqlite::Result<()> {
    let statement = match calls {
        Some(statement) => statement,
        None => calls.insert(rows::prepare_call(connection)?),
    };
    rows::put_call(statement, record)?;
    running::note(connection, owners, &record.id, &record.status)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use rusqlite::ErrorCode;
    use serde_json::json;

    use super::*;
    use crate::backend::write::SessionChange;
    use crate::{CallRecord, CallStatus, NewMessage, NewSession};

    fn item(id: &str, content: usize) -> QueueItem {
        let record = CallRecord {
            id: id.into(),
            call_id: String::new(),
            session: String::new(),
            agent: String::new(),
            tool: String::new(),
            workspace: "/".into(),
            arguments: json!("x".repeat(content)),
            original_arguments: None,
            effects: json!([]),
            decision: json!({}),
            started: SystemTime::UNIX_EPOCH,
            elapsed: Duration::ZERO,
            status: CallStatus::Begun,
            summary: String::new(),
            undone: false,
        };
        waiting(StoreChange::Record(Box::new(record.into())))
    }

    fn waiting(change: StoreChange) -> QueueItem {
        QueueItem { change, reply: None, weight: 0, bytes: 0 }
    }

    fn session_items() -> [QueueItem; 3] {
        let session = |change| waiting(StoreChange::Session(Box::new(change)));
        let append = |length| {
            let messages = vec![NewMessage::new("user", "x"), NewMessage::new("results", "x".repeat(length)), NewMessage::new("user", "x")];
            session(SessionChange::Append { session: "s1".into(), expected: None, messages })
        };
        let new = NewSession { id: "s1".into(), ..NewSession::new("coder", "/w".as_ref()) };
        [session(SessionChange::Create(new.into_record())), append(1), append(1 << 20)]
    }

    #[test]
    fn a_group_that_meets_a_full_disk_is_written_whole_later() {
        let folder = tempfile::tempdir().unwrap();
        let open::OpenDatabase { writer: mut connection, folder, .. } = open::open(folder.path(), Duration::from_secs(1)).unwrap();
        let owners = Owners::new(folder, Duration::ZERO);
        let set_page_limit = |connection: &Connection, pages: i64| {
            connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
        };
        let count = |connection: &Connection, table: &str| {
            connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0)).unwrap()
        };
        let calls = [item("small", 1), item("large", 1 << 20), item("small too", 1)];
        for (group, table, rows) in [(calls, "calls", 3), (session_items(), "messages", 6)] {
            set_page_limit(&connection, 50);
            let error = commit(&mut connection, &group, &owners, None).unwrap_err();
            assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DiskFull));
            assert_eq!((count(&connection, table), count(&connection, "sessions")), (0, 0));
            set_page_limit(&connection, 10_000);
            assert!(commit(&mut connection, &group, &owners, None).unwrap().iter().all(Result::is_ok));
            assert_eq!(count(&connection, table), rows);
            // So that the next group finds as little space.
            connection.execute_batch("DELETE FROM calls; VACUUM").unwrap();
        }
    }
}
