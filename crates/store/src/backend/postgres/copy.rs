//! Moves everything from a file to a server: table by table in small transactions, each with how far it got, so that it can be
//! continued; then every table is counted and hashed on both sides.

mod rows;

use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use self::rows::{CopiedColumn, TableSum, columns_of, file_rows, file_sum, server_sum};
use super::failure::Failure;
use super::link::{Columns, Link, Text, execute, row};
use super::server::Server;
use super::{PostgresLog, PostgresOptions, migrate};
use crate::backend::file_blobs::{PRE_IMAGES, SPILLS};
use crate::{BlobObjects, ServerFault, StoreError};

/// Tables in the order of their references. What says which process works on what is not copied: no process works while it is copied.
const TABLES: [&str; 19] = [
    "calls",
    "pre_images",
    "sessions",
    "messages",
    "messages_replaced",
    "usage",
    "jobs",
    "sub_agents",
    "todo_lists",
    "automation_jobs",
    "automation_runs",
    "automation_notices",
    "channel_messages",
    "channel_senders",
    "channel_codes",
    "channel_conversations",
    "channel_seen",
    "channel_waiting",
    "channel_cursors",
];
/// Tables whose rows have numbers, which continue after the highest one.
const NUMBERED: [(&str, &str); 8] = [
    ("pre_images", "sequence"),
    ("messages_replaced", "sequence"),
    ("jobs", "number"),
    ("todo_lists", "sequence"),
    ("automation_runs", "sequence"),
    ("automation_notices", "sequence"),
    ("channel_messages", "sequence"),
    ("channel_waiting", "sequence"),
];
/// Rows of one transaction.
const BATCH: usize = 500;

const PROGRESS: &str = "CREATE TABLE IF NOT EXISTS haft_copies (source TEXT NOT NULL, name TEXT NOT NULL, last BIGINT NOT NULL, \
     PRIMARY KEY (source, name))";
const PUT_PROGRESS: &str = "INSERT INTO haft_copies (source, name, last) VALUES ($1, $2, $3) \
     ON CONFLICT (source, name) DO UPDATE SET last = excluded.last";

/// What was copied of one kind, and checked on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedKind {
    /// The table, or the folder of blobs.
    pub name: String,
    /// How many there are.
    pub count: u64,
    /// How many of them this run copied; an earlier one the others.
    pub copied: u64,
    /// The hash of all of them, in hex, which is the same on both sides.
    pub hash: String,
}

/// A copy of a file's store to a server.
#[derive(Debug)]
pub struct StoreCopy {
    source: Connection,
    folder: PathBuf,
    name: String,
    target: PostgresLog,
    server: Server,
}

impl StoreCopy {
    /// From the store in a folder to the server at an address. Nothing is copied yet.
    pub fn open(folder: &Path, address: &str) -> Result<Self, StoreError> {
        // Brings an old file to the schema that is known here, and refuses a newer or a damaged one.
        drop(crate::SqliteCallLog::open(folder)?);
        let path = folder.join("haft.db");
        let failed = |error| StoreError::database(&path, error);
        let source = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(failed)?;
        source.busy_timeout(Duration::from_secs(5)).map_err(failed)?;
        // One state of the file for the whole copy.
        source.execute_batch("BEGIN").map_err(failed)?;
        let canonical = path.canonicalize().map_err(|error| StoreError::io(&path, error))?;
        let options = PostgresOptions::default();
        let (target, server) = (PostgresLog::open_with(address, &options)?, Server::new(address, &options)?);
        Ok(Self { source, folder: folder.to_owned(), name: canonical.display().to_string(), target, server })
    }

    /// Copies what is not there yet, and checks everything. `each` is told of every kind when it is done.
    pub async fn run(&self, mut each: impl FnMut(&CopiedKind)) -> Result<Vec<CopiedKind>, StoreError> {
        let mut kinds = self.rows(&mut each).await.map_err(|failure| failure.into_error(self.server.name()))?;
        for folder in [PRE_IMAGES, SPILLS] {
            let kind = self.blobs(folder).await?;
            each(&kind);
            kinds.push(kind);
        }
        Ok(kinds)
    }

    async fn rows(&self, each: &mut impl FnMut(&CopiedKind)) -> Result<Vec<CopiedKind>, Failure> {
        let link = self.server.connect().await?;
        migrate::apply(&link, self.server.name()).await?;
        link.batch_execute(PROGRESS).await?;
        self.refuse_used(&link).await?;
        let mut kinds = Vec::new();
        for table in TABLES {
            let columns = columns_of(&link, table).await?;
            let copied = self.table(&link, table, &columns).await?;
            let (here, there) = (file_sum(&self.source, table, &columns)?, server_sum(&link, table, &columns).await?);
            let kind = compared(table, copied, &here, &there)?;
            each(&kind);
            kinds.push(kind);
        }
        for (table, column) in NUMBERED {
            let sql = format!(
                "SELECT setval(pg_get_serial_sequence('{table}', '{column}'), greatest((SELECT max({column}) FROM {table}), 1), \
                 EXISTS (SELECT 1 FROM {table}))"
            );
            link.batch_execute(&sql).await?;
        }
        Ok(kinds)
    }

    /// A server that is in use is not copied over: what is there would be mixed with what comes.
    async fn refuse_used(&self, link: &Link) -> Result<(), Failure> {
        let begun = row(link, "SELECT EXISTS (SELECT 1 FROM haft_copies WHERE source = $1)", &[&Text(&self.name)]).await?;
        if begun.map_or(Ok(false), |row| row.flag(0))? {
            return Ok(());
        }
        let used = "SELECT EXISTS (SELECT 1 FROM calls) OR EXISTS (SELECT 1 FROM sessions) OR EXISTS (SELECT 1 FROM automation_jobs) \
                    OR EXISTS (SELECT 1 FROM channel_messages)";
        if row(link, used, &[]).await?.map_or(Ok(false), |row| row.flag(0))? {
            let said = "calls, sessions or jobs, and none of them came from this file";
            return Err(Failure::Fault(ServerFault::InUse, said.to_owned()));
        }
        Ok(())
    }

    /// Copies the rows after the last one that is there; says how many.
    async fn table(&self, link: &Link, table: &str, columns: &[CopiedColumn]) -> Result<u64, Failure> {
        let sql = "SELECT last FROM haft_copies WHERE source = $1 AND name = $2";
        let mut last = row(link, sql, &[&Text(&self.name), &Text(table)]).await?.map_or(Ok(0), |row| row.signed(0))?;
        let insert = link.prepare(&rows::insert_sql(table, columns)).await?;
        let mut copied = 0;
        loop {
            let batch = file_rows(&self.source, table, columns, last, BATCH)?;
            let Some((newest, _)) = batch.last() else { return Ok(copied) };
            last = *newest;
            link.batch_execute("BEGIN").await?;
            for (_, values) in &batch {
                link.execute(&insert, &rows::parameters(values)).await?;
            }
            execute(link, PUT_PROGRESS, &[&Text(&self.name), &Text(table), &last]).await?;
            link.batch_execute("COMMIT").await?;
            copied += batch.len() as u64;
        }
    }

    /// The files of a folder, and of the folders in it.
    async fn blobs(&self, folder: &str) -> Result<CopiedKind, StoreError> {
        let objects = self.target.objects();
        let prefix = format!("{folder}/");
        let there: std::collections::HashSet<String> =
            objects.list(&prefix, usize::MAX).await?.into_iter().map(|object| object.key).collect();
        let (mut here, mut copied, mut far) = (TableSum::default(), 0, TableSum::default());
        for (key, path) in blob_files(&self.folder.join(folder), folder)? {
            if !there.contains(&key) {
                objects.put(&key, &path).await?;
                copied += 1;
            }
            let content = std::fs::read(&path).map_err(|error| StoreError::io(&path, error))?;
            here.add([key.as_bytes(), &content].into_iter());
            let (mut fetched, mut content) = (unnamed_file(&self.folder)?, Vec::new());
            objects.get(&key, &mut fetched).await?;
            let read = fetched.rewind().and_then(|()| fetched.read_to_end(&mut content));
            read.map_err(|error| StoreError::io(&self.folder, error))?;
            far.add([key.as_bytes(), &content].into_iter());
        }
        compared(folder, copied, &here, &far).map_err(|failure| failure.into_error(self.server.name()))
    }
}

/// A file without a name: nothing of it is left, however the process ends.
fn unnamed_file(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join(format!("copy-{}", crate::new_uuid()));
    let failed = |error| StoreError::io(&path, error);
    let file = File::options().read(true).write(true).create_new(true).open(&path).map_err(failed)?;
    std::fs::remove_file(&path).map_err(failed)?;
    Ok(file)
}

fn blob_files(folder: &Path, prefix: &str) -> Result<Vec<(String, PathBuf)>, StoreError> {
    let mut files = Vec::new();
    let entries = match folder.read_dir() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(files),
        entries => entries.map_err(|error| StoreError::io(folder, error))?,
    };
    for entry in entries {
        let path = entry.map_err(|error| StoreError::io(folder, error))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let key = format!("{prefix}/{name}");
        if path.is_dir() {
            files.extend(blob_files(&path, &key)?);
        } else if !name.ends_with(crate::backend::file_blobs::UNFINISHED) {
            files.push((key, path));
        }
    }
    Ok(files)
}

fn compared(name: &str, copied: u64, here: &TableSum, there: &TableSum) -> Result<CopiedKind, Failure> {
    if here != there {
        let said = format!(
            "'{name}' has {} entries with the hash {} in the file, and {} with {} on the server",
            here.count,
            here.hash(),
            there.count,
            there.hash()
        );
        return Err(Failure::Fault(ServerFault::Differs, said));
    }
    Ok(CopiedKind { name: name.to_owned(), count: here.count, copied, hash: here.hash() })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn file_of_a_copy_that_is_killed_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = unnamed_file(folder.path()).unwrap();
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "it has no name while it is open");
        let mut content = String::new();
        file.write_all(b"content").and_then(|()| file.rewind()).and_then(|()| file.read_to_string(&mut content)).unwrap();
        assert_eq!(content, "content");
    }
}
