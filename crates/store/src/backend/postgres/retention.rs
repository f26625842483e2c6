//! What on the server is old: calls and sessions, and which of it is in use.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{Prunable, StoredEntry};

use super::database::Database;
use super::failure::Failure;
use super::link::{Columns, Link, Text, all, execute, row};
use super::objects::PostgresObjects;
use super::presence::Presences;
use super::session_rows::lock;
use super::{claims, running};
use crate::backend::blob_entries::BlobEntries;
use crate::backend::folder::PrivateFolder;
use crate::backend::sqlite::BlobFiles;
use crate::{BlobObjects, StoreError};

const CALLS: &str = "SELECT id, started, (octet_length(decision) + octet_length(effects) + octet_length(arguments) + octet_length(summary) \
     + coalesce(octet_length(original_arguments), 0))::bigint, session FROM calls";

const SESSIONS: &str = "SELECT id, updated, ((SELECT coalesce(sum(octet_length(body)), 0) FROM messages WHERE session = sessions.id) + \
     (SELECT coalesce(sum(octet_length(body)), 0) FROM messages_replaced WHERE session = sessions.id))::bigint FROM sessions";

const PRE_IMAGES_IN_USE: &str =
    "SELECT content, session, calls.id FROM pre_images JOIN calls ON calls.id = record WHERE content IS NOT NULL";

/// Finds and removes old data on a server.
pub struct PostgresPruner {
    database: Arc<Database>,
    folder: PrivateFolder,
    /// Where blobs are that several machines have: the server's table, or a bucket.
    objects: Arc<dyn BlobObjects>,
}

haft_contract::opaque_debug!(PostgresPruner: folder = folder);

impl PostgresPruner {
    pub(super) fn new(database: Arc<Database>, folder: &Path) -> Result<Self, StoreError> {
        let objects = Arc::new(PostgresObjects::new(Arc::clone(&database)));
        Ok(Self { database, folder: PrivateFolder::open(folder)?, objects })
    }

    /// Removes what is kept in these objects, in place of the server's own.
    #[must_use]
    pub fn with_objects(mut self, objects: Arc<dyn BlobObjects>) -> Self {
        self.objects = objects;
        self
    }

    fn ask<T: Send + 'static>(&self, question: super::database::Question<Arc<Presences>, T>) -> Result<T, StoreError> {
        self.database.read_blocking(Arc::clone(self.database.presences()), question)
    }

    /// The history of calls.
    pub fn history(&self) -> impl Prunable<Error = StoreError> + '_ {
        ServerCalls(self)
    }

    /// The sessions with their messages.
    pub fn sessions(&self) -> impl Prunable<Error = StoreError> + '_ {
        ServerSessions(self)
    }

    /// The workspaces in which a background job runs.
    pub fn workspaces_in_use(&self) -> Result<Vec<PathBuf>, StoreError> {
        self.ask(|link, _| Box::pin(all(link, "SELECT DISTINCT workspace FROM jobs WHERE ended IS NULL", &[], |row| row.path(0))))
    }

    /// The contents of files from before changes. Without it a change cannot be undone any more; history still has the call.
    pub fn pre_images(&self) -> Result<impl Prunable<Error = StoreError>, StoreError> {
        let files = BlobFiles::pre_images(&self.folder, self.pre_images_in_use()?);
        Ok(BlobEntries::new(files, Some(Arc::clone(&self.objects))))
    }

    /// Output that was too large for the model.
    pub fn spills(&self) -> Result<impl Prunable<Error = StoreError>, StoreError> {
        let files = BlobFiles::spills(&self.folder, &self.sessions_in_use()?);
        Ok(BlobEntries::new(files, Some(Arc::clone(&self.objects))))
    }

    /// The sessions that a living process has claimed.
    fn sessions_in_use(&self) -> Result<HashSet<String>, StoreError> {
        self.ask(|link, presences| Box::pin(claims::in_use(link, presences)))
    }

    /// The contents that calls of living processes need.
    fn pre_images_in_use(&self) -> Result<HashSet<String>, StoreError> {
        self.ask(|link, presences| Box::pin(pre_images_in_use(link, presences)))
    }
}

async fn pre_images_in_use(link: &Link, presences: &Presences) -> Result<HashSet<String>, Failure> {
    let (sessions, running) = (claims::in_use(link, presences).await?, running::in_use(link, presences).await?);
    let images = all(link, PRE_IMAGES_IN_USE, &[], |row| Ok((row.text(0)?, row.text(1)?, row.text(2)?))).await?;
    let used = images.into_iter().filter(|(_, session, call)| sessions.contains(session) || running.contains(call));
    Ok(used.map(|(content, ..)| content).collect())
}

struct ServerCalls<'a>(&'a PostgresPruner);

impl Prunable for ServerCalls<'_> {
    type Key = String;
    type Error = StoreError;

    fn entries(&self) -> Result<Vec<StoredEntry<String>>, StoreError> {
        self.0.ask(|link, presences| {
            Box::pin(async move {
                let (sessions, running) = (claims::in_use(link, presences).await?, running::in_use(link, presences).await?);
                all(link, CALLS, &[], |row| {
                    let key = row.text(0)?;
                    let in_use = sessions.contains(&row.text(3)?) || running.contains(&key);
                    Ok(StoredEntry { key, written: row.time(1)?, bytes: row.number(2)?, in_use })
                })
                .await
            })
        })
    }

    fn remove(&self, keys: Vec<String>) -> Result<(), StoreError> {
        self.0.database.read_blocking(keys, |link, keys| {
            Box::pin(async move {
                let keys: Vec<Text<'_>> = keys.iter().map(|key| Text(key)).collect();
                execute(link, "DELETE FROM calls WHERE id = ANY($1)", &[&keys]).await.map(drop)
            })
        })
    }
}

struct ServerSessions<'a>(&'a PostgresPruner);

impl Prunable for ServerSessions<'_> {
    type Key = String;
    type Error = StoreError;

    fn entries(&self) -> Result<Vec<StoredEntry<String>>, StoreError> {
        self.0.ask(|link, presences| {
            Box::pin(async move {
                let in_use = claims::in_use(link, presences).await?;
                all(link, SESSIONS, &[], |row| {
                    let key = row.text(0)?;
                    let in_use = in_use.contains(&key);
                    Ok(StoredEntry { key, written: row.time(1)?, bytes: row.number(2)?, in_use })
                })
                .await
            })
        })
    }

    /// Nobody can claim a session while it is locked, so one that is free then is not in use.
    fn remove(&self, keys: Vec<String>) -> Result<(), StoreError> {
        let about = (keys, Arc::clone(self.0.database.presences()));
        self.0.database.read_blocking(about, |link, (keys, presences)| Box::pin(remove_sessions(link, keys, presences)))
    }
}

async fn remove_sessions(link: &Link, keys: &[String], presences: &Presences) -> Result<(), Failure> {
    for key in keys {
        link.batch_execute("BEGIN").await?;
        let removed = remove_session(link, key, presences).await;
        link.batch_execute(if removed.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
        match removed {
            Err(Failure::Store(StoreError::Busy { .. } | StoreError::Missing { .. })) => {}
            outcome => outcome?,
        }
    }
    Ok(())
}

async fn remove_session(link: &Link, key: &str, presences: &Presences) -> Result<(), Failure> {
    lock(link, key, presences).await?.refuse_others(presences)?;
    row(link, "DELETE FROM sessions WHERE id = $1 RETURNING 1", &[&Text(key)]).await.map(drop)
}
