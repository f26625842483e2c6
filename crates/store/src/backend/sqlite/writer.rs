//! The one thread that writes: it takes what is queued and commits it as one transaction.

use std::sync::Arc;

use rusqlite::{Connection, TransactionBehavior};

use super::failure::is_own;
use super::item::{Answer, Change, Item};
use super::owners::Owners;
use super::queue::Queue;
use super::{jobs, rows, session_change};
use crate::StoreError;

/// Writes until the queue is closed and empty.
pub(super) fn run(mut connection: Connection, queue: Arc<Queue>, owners: &Owners) {
    let end = End(queue);
    let queue = &end.0;
    let mut held = Vec::new();
    while let Some(group) = queue.next_group(held) {
        held = match commit(&mut connection, &group, owners) {
            Ok(answers) => {
                queue.settle(group, answers);
                Vec::new()
            }
            Err(error) => queue.postpone(group, &error),
        };
        if !held.is_empty() && queue.is_closed() {
            break;
        }
    }
}

/// Tells whoever waits when the thread ends, by a panic too.
struct End(Arc<Queue>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// All of a group or nothing of it, but for changes that cannot be written at all: those have their own answer.
fn commit(connection: &mut Connection, group: &[Item], owners: &Owners) -> rusqlite::Result<Vec<Answer>> {
    if group.iter().all(|item| matches!(item.change, Change::Nothing)) {
        return Ok(group.iter().map(|_| Ok(0)).collect());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let answers = group.iter().map(|item| apply(&transaction, &item.change, owners)).collect::<rusqlite::Result<_>>()?;
    transaction.commit()?;
    Ok(answers)
}

/// The outer error is the database's, the inner one this change's own.
fn apply(connection: &Connection, change: &Change, owners: &Owners) -> rusqlite::Result<Answer> {
    let result = match change {
        Change::Session(change) => return session_change::apply(connection, change, owners),
        Change::Job(change) => return jobs::apply(connection, change),
        Change::Record(record) => rows::put_call(connection, record).map(|()| true),
        Change::Image(image) => rows::put_image(connection, image).map(|()| true),
        Change::Withdrawn { record, path, after } => rows::remove_image(connection, record, path, after.as_deref()).map(|()| true),
        Change::Undone(record) => rows::mark_undone(connection, record),
        // Made when its group was taken.
        Change::Nothing | Change::Deferred(_) => Ok(true),
    };
    match (result, change) {
        (Ok(true), _) => Ok(Ok(0)),
        (Err(error), _) if !is_own(&error) => Err(error),
        (Err(error), Change::Record(_)) => Ok(Err(StoreError::Database(error))),
        // The only rule a pre-image can break is that its call must be there.
        (_, Change::Image(image)) => Ok(Err(StoreError::no_call(&image.record))),
        (_, Change::Undone(record)) => Ok(Err(StoreError::no_call(record))),
        (Ok(false) | Err(_), _) => Ok(Ok(0)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use rusqlite::ErrorCode;
    use serde_json::json;

    use super::*;
    use crate::backend::sqlite::open;
    use crate::backend::sqlite::session_change::SessionChange;
    use crate::{CallRecord, CallStatus, NewMessage, NewSession};

    fn item(id: &str, content: usize) -> Item {
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
        waiting(Change::Record(Box::new(record)))
    }

    fn waiting(change: Change) -> Item {
        Item { change, reply: None, weight: 0 }
    }

    fn session_items() -> [Item; 3] {
        let session = |change| waiting(Change::Session(Box::new(change)));
        let append = |length| {
            let messages = vec![NewMessage::new("user", "x"), NewMessage::new("results", "x".repeat(length)), NewMessage::new("user", "x")];
            session(SessionChange::Append { session: "s1".into(), expected: None, messages })
        };
        let new = NewSession { id: "s1".into(), ..NewSession::new("coder", "/w".as_ref()) };
        [session(SessionChange::Create(new.into_record())), append(1), append(1 << 20)]
    }

    #[test]
    fn a_group_for_which_there_is_no_room_on_disk_is_written_whole_later() {
        let folder = tempfile::tempdir().unwrap();
        let open::Connections { writer: mut connection, folder, .. } = open::open(folder.path(), Duration::from_secs(1)).unwrap();
        let owners = Owners::new(folder, Duration::ZERO);
        let room = |connection: &Connection, pages: i64| {
            connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
        };
        let count = |connection: &Connection, table: &str| {
            connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0)).unwrap()
        };
        let calls = [item("small", 1), item("large", 1 << 20), item("small too", 1)];
        for (group, table, rows) in [(calls, "calls", 3), (session_items(), "messages", 6)] {
            room(&connection, 50);
            let error = commit(&mut connection, &group, &owners).unwrap_err();
            assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DiskFull));
            assert_eq!((count(&connection, table), count(&connection, "sessions")), (0, 0));
            room(&connection, 10_000);
            assert!(commit(&mut connection, &group, &owners).unwrap().iter().all(Result::is_ok));
            assert_eq!(count(&connection, table), rows);
            // So that the next finds as little room.
            connection.execute_batch("DELETE FROM calls; VACUUM").unwrap();
        }
    }
}
