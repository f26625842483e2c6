//! Conversations in the store, beside SQLite with nothing around it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_agent::LedgerEntry;
use haft_provider::{Block, Message, ResultPart, StopReason, Usage};
use haft_store::{CallLog, NewMessage, NewSession, SessionRecord, SessionStore, SqliteCallLog};
use rusqlite::{Connection, params};

/// A store in a folder that goes with it.
pub(crate) struct Stored {
    pub(crate) log: Arc<SqliteCallLog>,
    pub(crate) sessions: Arc<dyn SessionStore>,
    folder: tempfile::TempDir,
}

impl Stored {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let log = Arc::new(SqliteCallLog::open(folder.path()).expect("a database").log);
        let sessions = Arc::new(log.sessions());
        Self { log, sessions, folder }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("haft.db")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Waits until history is on disk, outside of what is measured.
    pub(crate) async fn settle(&self) {
        self.log.flush().await.expect("history is written");
    }

    pub(crate) async fn session(&self) -> SessionRecord {
        self.sessions.create(NewSession::new("main", self.folder.path())).await.expect("a session")
    }

    /// A session with this many messages, and what is known of it then.
    pub(crate) async fn filled(&self, count: usize) -> SessionRecord {
        let session = self.session().await;
        let bodies: Vec<NewMessage> = conversation(count).iter().map(message).collect();
        for group in bodies.chunks(1000) {
            self.sessions.append(&session.id, None, group.to_vec()).await.expect("they are kept");
        }
        self.sessions.open(&session.id).await.expect("the session")
    }
}

pub(crate) fn message(entry: &LedgerEntry) -> NewMessage {
    NewMessage::new(entry.kind(), serde_json::to_string(entry).expect("JSON"))
}

/// A whole conversation of this many messages (an even number): the prompt, rounds of one call each, the final answer.
fn conversation(count: usize) -> Vec<LedgerEntry> {
    let said = |blocks| {
        let (message, stop, usage) = (Message::assistant(blocks), StopReason::ToolCalls, Usage::default());
        LedgerEntry::Assistant { message, model: "here/m".into(), stop, usage }
    };
    let mut entries = vec![LedgerEntry::User { message: Message::user("Fix the bug in src/main.rs.") }];
    for round in 1..count / 2 {
        let (id, name) = (format!("toolu_01A09q90qw90lq9178{round}"), "read_file".to_owned());
        let arguments = format!(r#"{{"path":"src/part_{round}.rs","offset":{round}}}"#);
        let call = Block::Call { id: id.clone(), name: name.clone(), arguments, opaque: None };
        entries.push(said(vec![Block::text("I look at the next part."), call]));
        let content = vec![ResultPart::Text { text: format!("{{\"status\":\"success\",\"result\":\"{}\"}}", "fn main() {} ".repeat(16)) }];
        entries.push(LedgerEntry::Results { message: Message::results(vec![Block::Result { id, name, content, is_error: false }]) });
    }
    entries.push(said(vec![Block::text("It is fixed.")]));
    entries
}

/// SQLite as durable as ours, with one table and nothing else.
pub(crate) struct Bare {
    connection: Connection,
    next: i64,
}

impl Bare {
    pub(crate) fn new(folder: &Path) -> Self {
        let connection = Connection::open(folder.join("bare.db")).expect("a database");
        let batch = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE IF NOT EXISTS messages \
             (session TEXT NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL, created INTEGER NOT NULL, body TEXT NOT NULL, \
             PRIMARY KEY (session, number)) STRICT; DELETE FROM messages";
        connection.execute_batch(batch).expect("a table");
        Self { connection, next: 0 }
    }

    /// Inserts a group of messages in one transaction.
    pub(crate) fn append(&mut self, messages: &[NewMessage]) {
        let transaction = self.connection.transaction().expect("a transaction");
        {
            let insert = "INSERT INTO messages (session, number, kind, created, body) VALUES ('s', ?1, ?2, 1, ?3)";
            let mut insert = transaction.prepare_cached(insert).expect("a statement");
            for message in messages {
                insert.execute(params![self.next, message.kind, message.body]).expect("a row");
                self.next += 1;
            }
        }
        transaction.commit().expect("it is on disk");
    }
}

/// Reads the rows of a session as texts, and no more; gives their bytes.
pub(crate) fn read_rows(file: &Path, session: &str) -> usize {
    let connection = Connection::open(file).expect("the database");
    let select = "SELECT kind, body FROM messages WHERE session = ?1 ORDER BY number";
    let mut select = connection.prepare(select).expect("a statement");
    let rows = select.query_map([session], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).expect("rows");
    rows.map(|row| row.expect("a row")).map(|(kind, body)| kind.len() + body.len()).sum()
}
