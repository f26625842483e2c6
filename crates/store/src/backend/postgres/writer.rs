//! The one thread that writes: it takes what is queued and commits it as one transaction.
//!
//! A group is tried again while the server restarts or fails over, as long as there is patience. A connection that breaks while a
//! group is committed leaves the outcome open; the server is asked for it by the number of the transaction, so that nothing is made
//! twice and nothing that was made is called failed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use deadpool_postgres::{Object, Pool};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::SimpleQueryMessage;

use super::failure::Failure;
use super::link::Link;
use super::presence::Presences;
use super::server::Server;
use super::{automation, calls, channels, jobs, put_calls, session_change};
use crate::backend::write::{ChangeAnswer, QueueItem, StoreChange, WriteQueue};
use crate::{ServerFault, StoreError};

/// The longest that a group may take; a server that takes longer is as good as gone.
const LONGEST: Duration = Duration::from_mins(1);
/// How long to wait before a group is tried again.
const AGAIN: Duration = Duration::from_millis(50);

const BEGIN: &str = "BEGIN; SELECT pg_current_xact_id()::text";

/// What the writing thread needs.
pub(super) struct Writer {
    server: Arc<Server>,
    queue: Arc<WriteQueue>,
    presences: Arc<Presences>,
    pool: Pool,
    runtime: Runtime,
}

/// A transaction whose commit was sent and not answered.
struct OpenCommit {
    transaction: String,
    answers: Vec<ChangeAnswer>,
}

impl Writer {
    pub(super) fn new(server: Arc<Server>, queue: Arc<WriteQueue>, presences: Arc<Presences>) -> Result<Self, StoreError> {
        let pool = server.writing_pool()?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::Closed(format!("its writer cannot be started: {error}")))?;
        Ok(Self { server, queue, presences, pool, runtime })
    }

    /// Writes until the queue is closed and empty.
    pub(super) fn run(self) {
        let closer = QueueCloser(Arc::clone(&self.queue));
        let mut held = Vec::new();
        while let Some(group) = self.queue.next_group(held) {
            held = match self.runtime.block_on(self.write(&group)) {
                Ok(answers) => {
                    self.queue.settle(group, answers);
                    Vec::new()
                }
                Err(failure) => {
                    let name = self.server.name().to_owned();
                    self.queue.postpone(group, move || failure.to_store_error(&name))
                }
            };
            if !held.is_empty() && self.queue.is_closed() {
                break;
            }
        }
        drop(closer);
        self.runtime.block_on(async {
            if self.presences.my_id().is_some()
                && let Ok(link) = self.pool.get().await
            {
                self.presences.leave(&link).await;
            }
        });
    }

    /// All of a group or nothing of it, but for changes that cannot be written at all: those have their own answer.
    async fn write(&self, group: &[QueueItem]) -> Result<Vec<ChangeAnswer>, Failure> {
        if group.iter().all(QueueItem::is_flush) {
            return Ok(group.iter().map(|_| Ok(0)).collect());
        }
        if group.iter().any(QueueItem::needs_presence) {
            // Without a presence the call is recorded all the same; after a kill, the next start then does not find it.
            self.presences.announce().await.ok();
        }
        let deadline = Instant::now() + self.server.patience;
        let mut open = None;
        loop {
            match self.attempt(group, &mut open).await {
                Ok(answers) => return Ok(answers),
                Err(failure) if failure.is_passing() && Instant::now() < deadline => tokio::time::sleep(AGAIN).await,
                Err(failure) if open.is_some() => return Err(Failure::Fault(ServerFault::Unknown, failure.to_store_error("").to_string())),
                Err(failure) => return Err(failure),
            }
        }
    }

    async fn attempt(&self, group: &[QueueItem], open: &mut Option<OpenCommit>) -> Result<Vec<ChangeAnswer>, Failure> {
        let link = self.pool.get().await?;
        if let Some(commit) = open.take() {
            match commit_state(&link, &commit.transaction).await {
                Ok(CommitState::Made) => return Ok(commit.answers),
                Ok(CommitState::NotMade) => {}
                Ok(CommitState::Open) => {
                    *open = Some(commit);
                    return Err(Failure::Fault(ServerFault::Unreachable, "the earlier connection still commits".into()));
                }
                Err(failure) => {
                    *open = Some(commit);
                    drop(Object::take(link));
                    return Err(failure);
                }
            }
        }
        let mut outcome = self.bounded(&link, group, open, false).await;
        if outcome.as_ref().is_err_and(Failure::is_own) {
            // One of the changes cannot be written: once more, each so that it can be taken back alone.
            link.batch_execute("ROLLBACK").await?;
            outcome = self.bounded(&link, group, open, true).await;
        }
        if let Err(failure) = &outcome {
            let rolled_back = !failure.is_passing() && link.batch_execute("ROLLBACK").await.is_ok();
            // A standby takes no changes, and another host may: the next connection looks again.
            if !rolled_back || failure.fault() == Some(ServerFault::ReadOnly) {
                drop(Object::take(link));
            }
        }
        outcome
    }

    async fn bounded(
        &self,
        link: &Link,
        group: &[QueueItem],
        open: &mut Option<OpenCommit>,
        careful: bool,
    ) -> Result<Vec<ChangeAnswer>, Failure> {
        let is_plain = |item: &QueueItem| matches!(item.change, StoreChange::Record(_) | StoreChange::Nothing);
        let work = async {
            if !careful && group.iter().all(is_plain) {
                return put_calls::put_at_once(link, group, &self.presences).await;
            }
            let begun = link.simple_query(BEGIN).await?;
            let mut answers = Vec::with_capacity(group.len());
            for item in group {
                answers.push(if careful { self.apply_alone(link, &item.change).await? } else { self.apply(link, &item.change).await? });
            }
            commit(link, &begun, answers, open).await
        };
        let late = |_| Failure::Fault(ServerFault::Unreachable, format!("it did not answer for {} s", LONGEST.as_secs()));
        tokio::time::timeout(LONGEST, work).await.unwrap_or_else(|elapsed| Err(late(elapsed)))
    }

    /// A change that can be taken back alone.
    async fn apply_alone(&self, link: &Link, change: &StoreChange) -> Result<ChangeAnswer, Failure> {
        link.batch_execute("SAVEPOINT change").await?;
        let answer = match self.apply(link, change).await {
            Err(failure) if failure.is_own() => Err(own_error(failure, change, self.server.name())),
            outcome => outcome?,
        };
        link.batch_execute(if answer.is_err() { "ROLLBACK TO change" } else { "RELEASE change" }).await?;
        Ok(answer)
    }

    /// The outer failure ends the transaction; the inner error is this change's own, and then it has written nothing.
    async fn apply(&self, link: &Link, change: &StoreChange) -> Result<ChangeAnswer, Failure> {
        let presences = &*self.presences;
        let answer = match change {
            StoreChange::Session(change) => session_change::apply(link, change, presences).await,
            StoreChange::Job(change) => jobs::apply(link, change).await,
            StoreChange::Channel(change) => channels::apply(link, change).await,
            StoreChange::Automation(write) => automation::apply(link, write, presences).await,
            other => calls::apply(link, other, presences).await,
        };
        match answer {
            Err(Failure::Store(error)) => Ok(Err(error)),
            Err(failure) => Err(failure),
            Ok(number) => Ok(Ok(number)),
        }
    }
}

/// The only rule a pre-image can break is that its call must be there.
fn own_error(failure: Failure, change: &StoreChange, server: &str) -> StoreError {
    let image = match change {
        StoreChange::Images(images) => images.first(),
        _ => None,
    };
    match image {
        Some(image) => StoreError::no_call(&image.record),
        None => failure.into_error(server),
    }
}

/// Commits what was begun with [`BEGIN`]; from the moment it is sent, the outcome is open.
async fn commit(
    link: &Link,
    begun: &[SimpleQueryMessage],
    answers: Vec<ChangeAnswer>,
    open: &mut Option<OpenCommit>,
) -> Result<Vec<ChangeAnswer>, Failure> {
    let number = begun.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    let transaction = number.ok_or_else(|| Failure::Fault(ServerFault::Other, "a transaction has no number".to_owned()))?;
    let sent = open.insert(OpenCommit { transaction, answers });
    match link.batch_execute("COMMIT").await {
        Ok(()) => {
            let answers = std::mem::take(&mut sent.answers);
            *open = None;
            Ok(answers)
        }
        Err(error) => {
            let (is_told, failure) = (error.as_db_error().is_some(), Failure::from(error));
            // The server said that it did not commit, unless it went away as it said so.
            if is_told && !failure.is_passing() {
                *open = None;
            }
            Err(failure)
        }
    }
}

enum CommitState {
    Made,
    NotMade,
    Open,
}

/// What became of a transaction, also after a restart or a failover of the server.
async fn commit_state(link: &Link, transaction: &str) -> Result<CommitState, Failure> {
    let sql = format!("SELECT pg_xact_status('{transaction}'::xid8)");
    match link.simple_query(&sql).await {
        Ok(told) => Ok(match told.iter().find_map(|message| if let SimpleQueryMessage::Row(row) = message { row.get(0) } else { None }) {
            Some("committed") => CommitState::Made,
            Some("in progress") => CommitState::Open,
            _ => CommitState::NotMade,
        }),
        // "in the future": a standby that took over had not got it.
        Err(error) if error.code() == Some(&tokio_postgres::error::SqlState::INVALID_PARAMETER_VALUE) => Ok(CommitState::NotMade),
        Err(error) => Err(error.into()),
    }
}

/// Closes the queue when the thread ends, by a panic too.
struct QueueCloser(Arc<WriteQueue>);

impl Drop for QueueCloser {
    fn drop(&mut self) {
        self.0.abandon();
    }
}
