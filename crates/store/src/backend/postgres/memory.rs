//! The index of memory files on the server: words as `tsvector`, words with typing errors by trigrams.
//!
//! A change locks the row of its index, so that changes of one index are in one order: numbers of chunks grow with it.

mod files;
mod search;
mod vectors;

use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::BoxFuture;

use super::database::{Database, Question};
use super::failure::Failure;
use super::link::{Columns, Link, Text, execute, row};
use crate::backend::memory_index::FORMAT;
use crate::{MemoryStore, StoreError};

const OPEN: &str = "INSERT INTO memory_indexes (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET used = now() RETURNING id";
/// Indexes of workspaces that nobody searches any more.
const FORGET: &str = "DELETE FROM memory_indexes WHERE used < now() - interval '90 days'";

/// The index of one workspace on the server.
#[derive(Debug)]
pub(in crate::backend) struct ServerMemory {
    database: Arc<Database>,
    id: i64,
    /// Changes that this process has made.
    own: Mutex<i64>,
    /// How many chunks there were, and how many words they have in the mean, at which state.
    counted: Mutex<Option<(i64, u64, f64)>>,
}

impl ServerMemory {
    /// Opens the index of this name, and creates it.
    pub(super) fn open(database: Arc<Database>, name: &str) -> Result<Self, StoreError> {
        let id = database.read_blocking(format!("{name}.{FORMAT}"), |link, name| {
            Box::pin(async move {
                execute(link, FORGET, &[]).await?;
                row(link, OPEN, &[&Text(name)]).await?.map_or(Ok(0), |row| row.signed(0))
            })
        })?;
        Ok(Self { database, id, own: Mutex::default(), counted: Mutex::default() })
    }

    fn vanished(&self) -> StoreError {
        StoreError::Vanished { path: self.database.name().into() }
    }

    fn ask<A, T>(&self, about: A, question: Question<(i64, A), T>) -> Result<T, StoreError>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.database.read_blocking((self.id, about), question)
    }

    /// How often the index was changed.
    fn version(&self) -> Result<i64, StoreError> {
        let read = self.ask((), |link, (id, ())| {
            Box::pin(async move {
                let found = row(link, "SELECT version FROM memory_indexes WHERE id = $1", &[id]).await?;
                found.map(|row| row.signed(0)).transpose()
            })
        });
        read?.ok_or_else(|| self.vanished())
    }

    /// Changes the index, wholly or not at all. What it does may be done twice.
    fn change<A>(&self, about: A, work: Question<(i64, A), ()>) -> Result<(), StoreError>
    where
        A: Send + Sync + 'static,
    {
        // Held so that nobody takes this change for one of another process.
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = self.database.read_blocking(((self.id, about), work), |link, (about, work)| Box::pin(change(link, about, *work)))?;
        if !changed {
            return Err(self.vanished());
        }
        *own += 1;
        Ok(())
    }

    fn read_own_version(&self) -> Result<i64, StoreError> {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(self.version()? - *own)
    }
}

/// Returns whether the index is there.
async fn change<A>(link: &Link, about: &(i64, A), work: Question<(i64, A), ()>) -> Result<bool, Failure> {
    link.batch_execute("BEGIN").await?;
    let steps = async {
        if execute(link, "UPDATE memory_indexes SET version = version + 1 WHERE id = $1", &[&about.0]).await? == 0 {
            return Ok(false);
        }
        let working: BoxFuture<'_, _> = work(link, about);
        working.await?;
        Ok(true)
    };
    let changed: Result<bool, Failure> = steps.await;
    link.batch_execute(if changed.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    changed
}

impl MemoryStore for ServerMemory {
    fn discard(&self) {
        // What stays is found to be what it is by the next one that opens it.
        self.ask((), |link, (id, ())| {
            Box::pin(async move { execute(link, "DELETE FROM memory_indexes WHERE id = $1", &[id]).await.map(drop) })
        })
        .ok();
    }
}
