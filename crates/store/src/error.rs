//! What can go wrong with the store, each with what to do about it.

#[cfg(feature = "sqlite")]
mod database;
mod fault;
mod server;

use std::io::{self, ErrorKind};
#[cfg(feature = "files")]
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::SessionOwner;

#[cfg(feature = "sqlite")]
pub(crate) use self::database::{SqlFault, moved};
pub use self::fault::DatabaseFault;
pub use self::server::ServerFault;
use self::server::Told;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The database was written by a newer Haft.
    #[error("the database {path} has schema version {found}, this haft knows up to {known}: use a newer haft, or another HAFT_HOME")]
    Newer {
        /// Which file.
        path: PathBuf,
        /// What it says.
        found: i64,
        /// What this binary knows.
        known: i64,
    },
    /// Another process held the database too long.
    #[error("the database {path} is locked by another process: wait for it to finish, or stop it")]
    Locked {
        /// Which file.
        path: PathBuf,
    },
    /// The database's content makes no sense. On opening it is set aside instead, and what can be read goes to a new one.
    #[error(
        "the database {path} is damaged ({source}): the next start of haft sets it aside and recovers what can be read; stop every \
         other haft first"
    )]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What the database said.
        source: DatabaseFault,
    },
    /// A file or folder is not private to this user, so nothing is stored there.
    #[error("{path} cannot hold private data: {problem}")]
    Untrusted {
        /// Which file or folder.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// The database was removed or replaced while this process used it.
    #[error(
        "the database {path} was removed or replaced while haft was running, so nothing more is recorded: end this haft and start it \
         again; bring the folder back first if it was moved"
    )]
    Vanished {
        /// Where it was.
        path: PathBuf,
    },
    /// The disk or its permissions said no.
    #[error("{path}: {source}{}", remedy(source))]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The database said no.
    #[error("the database could not be used: {0}")]
    Database(#[source] DatabaseFault),
    /// The database server said no, or nothing.
    #[error("{}", Told(server, *fault, said))]
    Server {
        /// Which server and database, without the password.
        server: String,
        /// What is wrong.
        fault: ServerFault,
        /// What the server said.
        said: String,
    },
    /// The address of a server is none: what is wrong with it, without the password.
    #[error("HAFT_STORE is no address of a server ({0}): write postgres://user@host/database, or unset it to use the file in HAFT_HOME")]
    WrongAddress(String),
    /// This store does not do that.
    #[error("{0}")]
    Unsupported(&'static str),
    /// More is waiting to be written than may be held in memory.
    #[error(
        "the call was not recorded: too many records wait for the database {path}; check that its disk has space and no process locks it"
    )]
    Full {
        /// Which file they wait for.
        path: PathBuf,
    },
    /// The writer is gone: the process is ending or the writer failed earlier.
    #[error("the store is closed: {0}")]
    Closed(String),
    /// There is no such thing.
    #[error("{}", not_found(what, id))]
    Missing {
        /// What was looked for.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// A shortened id fits several.
    #[error("'{id}' fits several {what}s, among them {}: give more characters of the one you mean", matches.join(", "))]
    Ambiguous {
        /// What was looked for.
        what: &'static str,
        /// What was asked for.
        id: String,
        /// Some of the ids it fits, newest first.
        matches: Vec<String>,
    },
    /// There is such a thing already.
    #[error("there is a {what} '{id}' already: give the new one another id")]
    Exists {
        /// What was to be made.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// Someone else appended to the session.
    #[error("the next message of session '{session}' is {next}, not {expected}: someone else wrote to it; read it again first")]
    Conflict {
        /// Which session.
        session: String,
        /// Which number the message was to get.
        expected: u64,
        /// Which number it would have got.
        next: u64,
    },
    /// Someone else works on the session.
    #[error("session '{session}' is in use by process {pid} on {host}: end that process first, or fork the session")]
    Busy {
        /// Which session.
        session: String,
        /// Whose process.
        pid: u32,
        /// On which machine.
        host: String,
        /// Since when.
        since: SystemTime,
    },
}

fn not_found(what: &str, id: &str) -> String {
    match (what, id) {
        ("session", "last") => "there is no session yet: `haft run PROMPT` begins one".to_owned(),
        _ => format!("no {what} '{id}'{}", advice(what)),
    }
}

fn advice(what: &str) -> &'static str {
    match what {
        "call" => ": `haft history` lists the calls; an id may be shortened to 4 or more characters of its beginning or end",
        "session" => ": `haft sessions list` lists the sessions; an id may be shortened to 4 or more characters of its beginning or end",
        "pre-image" => ": it is no longer in the store, so this change cannot be taken back",
        _ => "",
    }
}

/// What to do about a failure of the disk.
fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            ": free some space, then `haft prune` removes old data of haft; or set HAFT_HOME to a folder on another disk"
        }
        ErrorKind::ReadOnlyFilesystem => ": make it writable, or set HAFT_HOME to a folder that is",
        ErrorKind::PermissionDenied => ": give your user access to it (chown, chmod u+rwx), or set HAFT_HOME to a folder of your own",
        ErrorKind::NotFound => ": the folder is gone; bring it back or start haft again, which makes a new one",
        // It says what to do itself.
        ErrorKind::InvalidInput => "",
        _ => ": check the disk and the owner of the folder, or set HAFT_HOME to another one",
    }
}

impl StoreError {
    #[cfg(feature = "files")]
    pub(crate) fn io(path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io { path: path.to_owned(), source: source.into() }
    }

    #[cfg(feature = "files")]
    pub(crate) fn untrusted(path: &Path, problem: impl Into<String>) -> Self {
        Self::Untrusted { path: path.to_owned(), problem: problem.into() }
    }

    pub(crate) fn no_call(id: &str) -> Self {
        Self::Missing { what: "call", id: id.to_owned() }
    }

    pub(crate) fn no_session(id: &str) -> Self {
        Self::Missing { what: "session", id: id.to_owned() }
    }

    pub(crate) fn no_message(session: &str, number: u64) -> Self {
        Self::Missing { what: "message", id: format!("{number} of session {session}") }
    }

    pub(crate) fn busy(session: &str, owner: SessionOwner) -> Self {
        let SessionOwner { pid, host, since } = owner;
        Self::Busy { session: session.to_owned(), pid, host, since }
    }
}
