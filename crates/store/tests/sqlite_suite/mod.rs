//! What the tests of the SQLite backend share.

mod claims;
mod damage;
mod lifetime;
mod locks;
mod migration;
mod private;
mod queue_limits;
mod retention;
mod sessions;
mod vanished;
mod versions;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use haft_store::{CallLog, SqliteCallLog, SqliteOptions, StoreError};
use rusqlite::Connection;
use tempfile::{TempDir, tempdir};

use crate::common::record;

const SHORT: Duration = Duration::from_millis(50);

fn open(folder: &Path) -> SqliteCallLog {
    let opened = SqliteCallLog::open(folder).unwrap();
    assert_eq!(opened.notice, None);
    opened.log
}

fn open_impatient(folder: &Path) -> Result<SqliteCallLog, StoreError> {
    let options = SqliteOptions { busy_timeout: SHORT, append_patience: SHORT };
    SqliteCallLog::open_with(folder, &options).map(|opened| opened.log)
}

/// A connection from outside, as another program would have.
fn outsider(folder: &Path) -> Connection {
    Connection::open(folder.join("haft.db")).unwrap()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Names, modes and so on of what is in a folder, sorted by name.
fn listing<T>(folder: &Path, fact: impl Fn(&Path) -> T) -> Vec<(String, T)> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut facts: Vec<_> = paths.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fact(&path))).collect();
    facts.sort_by(|left, right| left.0.cmp(&right.0));
    facts
}

/// A folder with a database in which these records are.
async fn filled(records: usize) -> TempDir {
    let folder = tempdir().unwrap();
    let log = open(folder.path());
    for number in 0..records {
        log.append(record(&format!("r{number:04}"))).unwrap();
    }
    log.flush().await.unwrap();
    folder
}

/// Overwrites the first page of a table and leaves the schema whole.
fn damage(folder: &Path, table: &str) {
    let place = "SELECT (rootpage - 1) * page_size, page_size FROM sqlite_schema, pragma_page_size WHERE name = ?1";
    let (start, length): (usize, usize) =
        outsider(folder).query_row(place, [table], |row| Ok((row.get::<_, u32>(0)? as usize, row.get::<_, u32>(1)? as usize))).unwrap();
    let path = folder.join("haft.db");
    let mut content = fs::read(&path).unwrap();
    content[start..start + length].fill(0xA5);
    fs::write(&path, content).unwrap();
}

fn expected_ids(records: usize) -> Vec<String> {
    (0..records).rev().map(|number| format!("r{number:04}")).collect()
}
