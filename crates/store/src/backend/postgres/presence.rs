//! Liveness of processes: one that claims sessions or runs calls holds an advisory lock on a connection of its own.
//!
//! The server drops the lock with the connection, so a process that is killed is known to be gone at once, and one whose machine or
//! network is gone after the server's probes of the connection. A server that restarts or fails over has no locks at all: a process
//! that was seen shortly before then counts as alive until it had the time to come back. Clocks of clients do not count; the server's
//! does.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::OnceCell;

use super::failure::Failure;
use super::link::{Link, Text, execute, row};
use super::server::Server;
use crate::session_store::new_id;
use crate::{SessionOwner, StoreError};

/// An advisory lock of the connection, which outlasts the transaction. Its first number is the table's own, so that stores in one database
/// do not meet; the second is the one of the process.
const LOCK: &str = "SELECT pg_try_advisory_lock(('presences'::regclass::oid::bigint & 2147483647)::int, $1)";
/// The locks of all processes.
const LOCKS: &str = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted \
     AND classid = ('presences'::regclass::oid::bigint & 2147483647)::oid AND objid = number::bigint::oid \
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
/// How often a process says that it lives.
const BEAT: Duration = Duration::from_secs(5);
/// How long it tries to come back between two attempts.
const RETRY: Duration = Duration::from_millis(500);

/// The server probes a silent connection, and gives up a dead one within half a minute.
const PROBES: &str = "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; \
     SET tcp_user_timeout = 25000; SET idle_session_timeout = 0";

const APPEAR: &str = "INSERT INTO presences (id, pid, host, server, seen) VALUES ($1, $2, $3, pg_postmaster_start_time(), clock_timestamp()) \
     RETURNING number";

const RETURN: &str = "INSERT INTO presences (number, id, pid, host, server, seen) \
     VALUES ($4, $1, $2, $3, pg_postmaster_start_time(), clock_timestamp()) \
     ON CONFLICT (id) DO UPDATE SET server = excluded.server, seen = excluded.seen";

/// The processes that use the store, and this one among them.
pub(super) struct Presences {
    server: Arc<Server>,
    runtime: Handle,
    mine: OnceCell<String>,
}

impl Presences {
    pub(super) fn new(server: Arc<Server>, runtime: Handle) -> Self {
        Self { server, runtime, mine: OnceCell::new() }
    }

    /// Announces this process as alive; returns its id.
    pub(super) async fn announce(&self) -> Result<String, StoreError> {
        let appear = || async {
            let server = Arc::clone(&self.server);
            let appeared = self.runtime.spawn(async move { appear(server).await });
            match appeared.await {
                Ok(outcome) => outcome.map_err(|failure| failure.into_error(self.server.name())),
                Err(_) => Err(StoreError::Closed("it ended before this process was known to it".into())),
            }
        };
        self.mine.get_or_try_init(appear).await.cloned()
    }

    /// The id of this process, if it is announced.
    pub(super) fn my_id(&self) -> Option<&str> {
        self.mine.get().map(String::as_str)
    }

    pub(super) fn is_mine(&self, id: &str) -> bool {
        self.my_id() == Some(id)
    }

    /// Whether this process or another that lives has this id.
    pub(super) async fn is_alive(&self, link: &Link, id: &str) -> Result<bool, Failure> {
        if self.is_mine(id) {
            return Ok(true);
        }
        // Its lock is held, or the server is another than the one that had it, and it was seen not long ago.
        let sql = format!(
            "SELECT EXISTS ({LOCKS}) OR (server <> pg_postmaster_start_time() AND seen > clock_timestamp() - interval '30 seconds') \
             FROM presences WHERE id = $1"
        );
        let found = row(link, &sql, &[&Text(id)]).await?;
        Ok(found.map(|row| row.try_get(0)).transpose()?.unwrap_or(false))
    }

    /// Says goodbye; a process that cannot is found to be gone.
    pub(super) async fn leave(&self, link: &Link) {
        if let Some(id) = self.my_id() {
            execute(link, "DELETE FROM presences WHERE id = $1", &[&Text(id)]).await.ok();
        }
    }
}

async fn appear(server: Arc<Server>) -> Result<String, Failure> {
    let link = server.connect().await?;
    link.batch_execute(PROBES).await?;
    let forget = format!("DELETE FROM presences WHERE seen < clock_timestamp() - interval '1 day' AND NOT EXISTS ({LOCKS})");
    execute(&link, &forget, &[]).await?;
    let (id, owner) = (new_id(), SessionOwner::this_process());
    // The row is not seen before its lock is held.
    link.batch_execute("BEGIN").await?;
    let made = row(&link, APPEAR, &[&Text(&id), &i64::from(owner.pid), &Text(&owner.host)]).await?;
    let number: i32 = made.map(|row| row.try_get(0)).transpose()?.unwrap_or_default();
    lock(&link, number).await?;
    link.batch_execute("COMMIT").await?;
    tokio::spawn(stay(server, link, id.clone(), number));
    Ok(id)
}

async fn lock(link: &Link, number: i32) -> Result<(), Failure> {
    execute(link, LOCK, &[&number]).await.map(drop)
}

/// Until the store is closed, which ends this task and with it the connection.
async fn stay(server: Arc<Server>, mut link: Link, id: String, number: i32) {
    let owner = SessionOwner::this_process();
    let mut pause = BEAT;
    loop {
        tokio::time::sleep(pause).await;
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 4] = [&Text(&id), &i64::from(owner.pid), &Text(&owner.host), &number];
        let beat = async {
            if link.is_closed() {
                link = server.connect().await?;
                link.batch_execute(PROBES).await?;
                // Held already if the old connection is not quite gone; then the next beat gets it.
            }
            lock(&link, number).await?;
            execute(&link, RETURN, &values).await
        };
        pause = if tokio::time::timeout(BEAT * 2, beat).await.is_ok_and(|beaten| beaten.is_ok()) { BEAT } else { RETRY };
    }
}
