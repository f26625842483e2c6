//! Opening the database: private files, damage set aside, settings.

use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::database::DatabaseFile;
use super::salvage::{self, SalvagedRows};
use super::{migrate, running};
use crate::StoreError;
use crate::backend::folder::PrivateFolder;

const FILE: &str = "haft.db";
/// Files of SQLite beside the database; part of it until it is closed.
const COMPANIONS: [&str; 3] = ["", "-wal", "-shm"];
/// SQLite counts milliseconds in 32 bits.
const LONGEST_TIMEOUT: Duration = Duration::from_hours(24);
/// Pages that the connection that writes keeps. It adds rows at the end, so more would only be more memory of a process that calls often.
const WRITER_CACHE_KIB: i64 = 512;
/// More statements than there are, so that none is prepared twice.
const STATEMENTS: usize = 64;
/// The log is cut back to this after a large group.
const WAL_KEPT: i64 = 16 << 20;
/// A log of at most this size stays when the database is closed. The next start reads it in less time than emptying it takes: that
/// waits for the disk four times, and a short run such as `haft call` twice for its record.
pub(super) const WAL_LEFT: u64 = 256 << 10;

/// An open database, with the connection that writes.
pub(super) struct OpenDatabase {
    pub(super) writer: Connection,
    pub(super) folder: PrivateFolder,
    pub(super) path: PathBuf,
    pub(super) notice: Option<String>,
    /// Whether no call was noted as running.
    pub(super) none_running: bool,
}

/// Opens the database in a folder, creating both. One process at a time: else two that meet a damaged file could set
/// each other's new one aside.
pub(super) fn open(folder: &Path, busy_timeout: Duration) -> Result<OpenDatabase, StoreError> {
    let folder = PrivateFolder::open(folder)?;
    let timeout = busy_timeout.min(LONGEST_TIMEOUT);
    let path = folder.path().join(FILE);
    let Some(lock) = folder.lock(timeout)? else { return Err(StoreError::Locked { path }) };
    let connected = connect(&folder, &path, timeout).and_then(|(writer, none_running)| {
        check_suspect(&writer, &path)?;
        Ok((writer, none_running))
    });
    let ((writer, none_running), notice) = match connected {
        Err(StoreError::Damaged { source, .. }) => {
            let aside = set_aside(&folder)?;
            let (mut writer, _) = connect(&folder, &path, timeout)?;
            // What cannot be opened at all leaves the new one empty.
            let salvaged = salvage::copy_rows(&folder.path().join(&aside), &mut writer).unwrap_or_default();
            let none_running = running::is_empty(&writer);
            let notice = format!(
                "the database {} was damaged ({source}); it was set aside as {aside} and a new one started{}",
                path.display(),
                recovered(salvaged)
            );
            ((writer, none_running), Some(notice))
        }
        outcome => (outcome?, None),
    };
    drop(lock);
    Ok(OpenDatabase { writer, folder, path, notice, none_running })
}

fn recovered(salvaged: SalvagedRows) -> String {
    let SalvagedRows { calls, sessions, lost } = salvaged;
    if calls + sessions == 0 {
        return String::new();
    }
    let lost = if lost == 0 { String::new() } else { format!("; {lost} rows could not be read") };
    format!(", with the {calls} calls and {sessions} sessions that could be read{lost}")
}

/// Reads the whole database; says what is wrong with it, if anything. A damaged one is flagged for the next start.
pub(super) fn find_damage(reader: &Connection, path: &Path) -> Result<Option<String>, StoreError> {
    let found: rusqlite::Result<String> = reader.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
    let found = match found.map_err(|error| StoreError::database(path, error)) {
        Ok(found) if found == "ok" => return Ok(None),
        Ok(found) => found.lines().last().unwrap_or_default().to_owned(),
        Err(StoreError::Damaged { source, .. }) => source.to_string(),
        Err(error) => return Err(error),
    };
    suspect(path);
    Ok(Some(found))
}

/// Flags the database as possibly damaged: the next start checks the whole file.
pub(super) fn suspect(path: &Path) {
    let flag = std::fs::File::options().create(true).append(true).mode(0o600).open(damage_flag(path));
    // If even this cannot be written, the next operation meets the same damage.
    flag.map(drop).ok();
}

fn damage_flag(path: &Path) -> PathBuf {
    path.with_extension("db.suspect")
}

/// Checks a database that is flagged as damaged.
fn check_suspect(writer: &Connection, path: &Path) -> Result<(), StoreError> {
    let flag = damage_flag(path);
    if !flag.exists() {
        return Ok(());
    }
    let found = find_damage(writer, path)?;
    std::fs::remove_file(&flag).map_err(|error| StoreError::io(&flag, error))?;
    if found.is_none() {
        return Ok(());
    }
    let corrupt = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    Err(StoreError::database(path, rusqlite::Error::SqliteFailure(corrupt, Some("some of its pages cannot be read".into()))))
}

fn connect(folder: &PrivateFolder, path: &Path, timeout: Duration) -> Result<(Connection, bool), StoreError> {
    let has_log = make_private(folder, path)?;
    let failed = |error| StoreError::database(path, error);
    let mut writer = bare_connection(path, timeout).map_err(failed)?;
    // Until its version is known the file must stay as it is, and closing would move the log into it. Afterwards `empty_log` decides.
    writer.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
    let (version, none_running) = look(&mut writer).map_err(failed)?;
    migrate::refuse_newer(version, path)?;
    prepare(&mut writer, version).map_err(failed)?;
    if !has_log {
        // The name of the log must be on disk before anything in it counts. SQLite is built to leave that to us, because it would wait
        // for the folder with the first commit of every process.
        folder.sync().map_err(|error| StoreError::io(path, error))?;
    }
    Ok((writer, none_running))
}

/// The version of the schema, and whether no call is noted as running. In one transaction, which takes the locks once; it reads the
/// schema, so that damage there shows now. That of a newer Haft may be none that can be read.
fn look(writer: &mut Connection) -> rusqlite::Result<(i64, bool)> {
    let transaction = writer.transaction()?;
    let version = migrate::version(&transaction)?;
    if version > migrate::known_version() {
        return Ok((version, false));
    }
    transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok((version, running::is_empty(&transaction)))
}

/// A connection that only reads, to a database that is open already. Made for the first question: most short runs ask none.
pub(super) fn open_reader(file: &DatabaseFile, busy_timeout: Duration) -> Result<Connection, StoreError> {
    let open = || {
        let reader = bare_connection(file.path(), busy_timeout.min(LONGEST_TIMEOUT))?;
        reader.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        reader.pragma_update(None, "query_only", true)?;
        // Another file may be in its place by now.
        file.check().map(|()| reader)
    };
    open().map_err(|error| StoreError::database(file.path(), error))
}

/// SQLite gives its companions the mode of the database, so it is enough to create that one with the right mode. Says whether there is a
/// log.
fn make_private(folder: &PrivateFolder, path: &Path) -> Result<bool, StoreError> {
    let failed = |error| StoreError::io(path, error);
    let [is_there, has_log, _] = COMPANIONS.map(|end| folder.narrow(&format!("{FILE}{end}")));
    if !is_there? {
        folder.create(FILE).map_err(failed)?;
        folder.sync().map_err(failed)?;
    }
    has_log
}

fn bare_connection(path: &Path, timeout: Duration) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(timeout)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// FULL: a commit is on disk when it returns, whatever happens to the machine then.
fn prepare(writer: &mut Connection, version: i64) -> rusqlite::Result<()> {
    writer.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    writer.pragma_update(None, "synchronous", "FULL")?;
    writer.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    writer.pragma_update(None, "foreign_keys", true)?;
    // The one check is on the status of a call, which an enumeration writes: for its list SQLite makes a table in memory with each
    // record, which is a third of what a record costs.
    writer.pragma_update(None, "ignore_check_constraints", true)?;
    writer.pragma_update_and_check(None, "journal_size_limit", WAL_KEPT, |_| Ok(()))?;
    migrate::apply(writer, version)
}

/// Moves a log that is longer than `most` into the database, before that is closed.
pub(super) fn empty_log(writer: &Connection, path: &Path, most: u64) {
    let log = path.with_extension("db-wal");
    if log.metadata().is_ok_and(|log| log.len() > most) {
        // Another process may use it; then the log stays, and the last one empties it.
        writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).ok();
    }
}

/// Renames the database and its companions together, so that the user can still inspect them. Returns the new name.
fn set_aside(folder: &PrivateFolder) -> Result<String, StoreError> {
    let failed = |error| StoreError::io(&folder.path().join(FILE), error);
    let aside = free_name(folder).map_err(failed)?;
    for end in COMPANIONS {
        let name = format!("{FILE}{end}");
        if folder.stat(&name).map_err(failed)?.is_some() {
            folder.rename(&name, &format!("{aside}{end}")).map_err(failed)?;
        }
    }
    folder.sync().map_err(failed)?;
    Ok(aside)
}

fn free_name(folder: &PrivateFolder) -> std::io::Result<String> {
    let mut number = 1_u32;
    loop {
        let name = format!("{FILE}.damaged-{number}");
        if folder.stat(&name)?.is_none() {
            return Ok(name);
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_durable_and_the_reader_only_reads() {
        let folder = tempfile::tempdir().unwrap();
        let OpenDatabase { writer, path, .. } = open(folder.path(), Duration::from_secs(1)).unwrap();
        let file = DatabaseFile::new(&path).unwrap();
        let reader = open_reader(&file, Duration::from_secs(1)).unwrap();
        let settings = "SELECT journal_mode, synchronous, foreign_keys FROM pragma_journal_mode, pragma_synchronous, pragma_foreign_keys";
        let settings: (String, i64, bool) = writer.query_row(settings, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        assert_eq!(settings, ("wal".to_owned(), 2, true));
        assert!(reader.execute("DELETE FROM calls", []).is_err());
        std::fs::copy(&path, path.with_extension("copy")).unwrap();
        std::fs::rename(path.with_extension("copy"), &path).unwrap();
        let moved = open_reader(&file, Duration::from_secs(1)).unwrap_err();
        assert_eq!(moved.to_string(), StoreError::database(&path, crate::error::moved()).to_string(), "another file is not read");
    }

    #[test]
    fn small_log_stays_when_the_database_is_closed_and_a_large_one_is_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let log_after = |bytes: usize| {
            let OpenDatabase { writer, path, .. } = open(folder.path(), Duration::from_secs(1)).unwrap();
            writer.execute("CREATE TABLE IF NOT EXISTS filler (text TEXT)", []).unwrap();
            writer.execute("INSERT INTO filler VALUES (?1)", ["x".repeat(bytes)]).unwrap();
            empty_log(&writer, &path, WAL_LEFT);
            drop(writer);
            let rows: i64 = {
                let again = open(folder.path(), Duration::from_secs(1)).unwrap();
                again.writer.query_row("SELECT count(*) FROM filler", [], |row| row.get(0)).unwrap()
            };
            (path.with_extension("db-wal").metadata().map_or(0, |log| log.len()), rows)
        };
        assert_eq!(log_after(300_000), (0, 1), "emptied, with the schema that was in it");
        let (length, rows) = log_after(10);
        assert!((1..=WAL_LEFT).contains(&length), "{length}");
        assert_eq!(rows, 2, "the row is read from the log");
    }
}
