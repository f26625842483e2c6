//! The one thread that writes: it takes what is queued and commits it as one transaction.

use std::sync::Arc;

use rusqlite::{Connection, TransactionBehavior};

use super::failure::is_own;
use super::item::{Change, Item, Outcome};
use super::queue::Queue;
use super::rows;
use crate::StoreError;

/// Writes until the queue is closed and empty.
pub(super) fn run(mut connection: Connection, queue: Arc<Queue>) {
    let end = End(queue);
    let queue = &end.0;
    let mut held = Vec::new();
    while let Some(group) = queue.next_group(held) {
        held = match commit(&mut connection, &group) {
            Ok(outcomes) => {
                queue.settle(group, outcomes);
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

/// All of a group or nothing of it, but for changes that cannot be written at all: those have their own outcome.
fn commit(connection: &mut Connection, group: &[Item]) -> rusqlite::Result<Vec<Outcome>> {
    if group.iter().all(|item| matches!(item.change, Change::Nothing)) {
        return Ok(group.iter().map(|_| Ok(())).collect());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let outcomes = group.iter().map(|item| apply(&transaction, &item.change)).collect::<rusqlite::Result<_>>()?;
    transaction.commit()?;
    Ok(outcomes)
}

/// The outer error is the database's, the inner one this change's own.
fn apply(connection: &Connection, change: &Change) -> rusqlite::Result<Outcome> {
    let result = match change {
        Change::Record(record) => rows::put_call(connection, record).map(|()| true),
        Change::Image(image) => rows::put_image(connection, image).map(|()| true),
        Change::Undone(record) => rows::mark_undone(connection, record),
        Change::Nothing => Ok(true),
    };
    match (result, change) {
        (Ok(true), _) => Ok(Ok(())),
        (Err(error), _) if !is_own(&error) => Err(error),
        (Err(error), Change::Record(_)) => Ok(Err(StoreError::Database(error))),
        // The only rule a pre-image can break is that its call must be there.
        (_, Change::Image(image)) => Ok(Err(StoreError::no_call(&image.record))),
        (_, Change::Undone(record)) => Ok(Err(StoreError::no_call(record))),
        (Ok(false) | Err(_), _) => Ok(Ok(())),
    }
}
