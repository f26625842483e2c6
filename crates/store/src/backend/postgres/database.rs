//! The open database: one thread that writes, a few connections that read. The history and the sessions share it.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use deadpool_postgres::Pool;
use haft_contract::BoxFuture;
use tokio::runtime::{Builder, Handle, Runtime};

use super::failure::Failure;
use super::link::Link;
use super::presence::Presences;
use super::server::Server;
use super::writer::Writer;
use super::{PostgresOptions, migrate};
use crate::StoreError;
use crate::backend::write::{ChangeAnswer, StoreChange, WriteQueue};

/// How long to wait before a question is asked again.
const AGAIN: std::time::Duration = std::time::Duration::from_millis(50);

/// A question to the database: it gets a connection and what it asks for.
pub(super) type Question<A, T> = for<'a> fn(&'a Link, &'a A) -> BoxFuture<'a, Result<T, Failure>>;

/// The open database.
pub(super) struct Database {
    server: Arc<Server>,
    queue: Arc<WriteQueue>,
    presences: Arc<Presences>,
    readers: Pool,
    /// The connections that read are of this one, whatever runtime asks.
    runtime: Option<Runtime>,
    handle: Handle,
    writer: Option<JoinHandle<()>>,
}

haft_contract::opaque_debug!(Database: server = server);

impl Database {
    /// Connects, and makes or checks the schema. It blocks, as opening a file does.
    pub(super) fn open(address: &str, options: &PostgresOptions) -> Result<Self, StoreError> {
        let server = Arc::new(Server::new(address, options)?);
        let failed = |error: std::io::Error| StoreError::Closed(format!("a thread for the database cannot be started: {error}"));
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("haft-store-read").enable_all().build().map_err(failed)?;
        let (handle, readers) = (runtime.handle().clone(), server.pool(options.readers)?);
        let queue = Arc::new(WriteQueue::new(server.name().into(), options.append_patience));
        let presences = Arc::new(Presences::new(Arc::clone(&server), handle.clone()));
        let mut database = Self { server, queue, presences, readers, runtime: Some(runtime), handle, writer: None };
        database.prepare()?;
        let writer = Writer::new(Arc::clone(&database.server), Arc::clone(&database.queue), Arc::clone(&database.presences))?;
        let thread = std::thread::Builder::new().name("haft-store".into());
        database.writer = Some(thread.spawn(move || writer.run()).map_err(failed)?);
        Ok(database)
    }

    /// Removes the schema of a tenant that an address names. It blocks.
    pub(super) fn remove_schema(address: &str) -> Result<(), StoreError> {
        let server = Server::new(address, &PostgresOptions::default())?;
        let failed = |error: std::io::Error| StoreError::Closed(format!("a thread for the database cannot be started: {error}"));
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(failed)?;
        let removed = runtime.block_on(async { Ok::<_, Failure>(server.connect().await?.batch_execute(migrate::REMOVE_SCHEMA).await?) });
        removed.map_err(|failure| failure.into_error(server.name()))
    }

    /// Connects once with another role.
    pub(super) async fn try_login(&self, role: &str, password: &str) -> Result<(), StoreError> {
        let server = self.server.with_role(role, password);
        self.joined(self.handle.spawn(async move { server.connect().await.map(drop) })).await
    }

    fn prepare(&self) -> Result<(), StoreError> {
        let (readers, server) = (self.readers.clone(), Arc::clone(&self.server));
        let (answer, answered) = std::sync::mpsc::channel();
        self.handle.spawn(async move {
            let prepared = async { migrate::apply(&*readers.get().await?, server.name()).await };
            answer.send(prepared.await).ok();
        });
        let outcome = answered.recv().map_err(|_| StoreError::Closed("its work was stopped".into()))?;
        outcome.map_err(|failure| failure.into_error(self.server.name()))
    }

    async fn joined<T>(&self, task: tokio::task::JoinHandle<Result<T, Failure>>) -> Result<T, StoreError> {
        match task.await {
            Ok(outcome) => outcome.map_err(|failure| failure.into_error(self.server.name())),
            Err(error) => Err(StoreError::Closed(format!("its work was stopped: {error}"))),
        }
    }

    pub(super) fn name(&self) -> &str {
        self.server.name()
    }

    pub(super) fn queue(&self) -> &WriteQueue {
        &self.queue
    }

    pub(super) fn presences(&self) -> &Arc<Presences> {
        &self.presences
    }

    /// Resolves when a change is on the server's disk.
    pub(super) async fn write(&self, change: StoreChange) -> ChangeAnswer {
        let Some(answer) = self.queue.request(change)? else { return Ok(0) };
        answer.await.unwrap_or_else(|_| Err(StoreError::Closed("its writer ended before this was written".into())))
    }

    /// Asks a question; again if the connection breaks, as long as there is patience.
    pub(super) async fn read<A, T>(&self, about: A, question: Question<A, T>) -> Result<T, StoreError>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.joined(self.handle.spawn(ask(self.readers.clone(), self.server.patience, about, question))).await
    }

    /// As [`read`](Self::read), for a caller that is not asynchronous. It must not be called on a thread of a runtime that others need.
    pub(super) fn read_blocking<A, T>(&self, about: A, question: Question<A, T>) -> Result<T, StoreError>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let (answer, answered) = std::sync::mpsc::channel();
        let asked = ask(self.readers.clone(), self.server.patience, about, question);
        self.handle.spawn(async move { answer.send(asked.await).ok() });
        let outcome = answered.recv().map_err(|_| StoreError::Closed("its work was stopped".into()))?;
        outcome.map_err(|failure| failure.into_error(self.server.name()))
    }
}

async fn ask<A, T>(readers: Pool, patience: std::time::Duration, about: A, question: Question<A, T>) -> Result<T, Failure> {
    let deadline = Instant::now() + patience;
    loop {
        let outcome = match readers.get().await {
            Ok(link) => {
                let outcome = question(&link, &about).await;
                if outcome.as_ref().is_err_and(Failure::is_passing) {
                    // Its connection is broken, or of a server that is going away.
                    drop(deadpool_postgres::Object::take(link));
                }
                outcome
            }
            Err(error) => Err(error.into()),
        };
        match outcome {
            Err(failure) if failure.is_passing() && Instant::now() < deadline => tokio::time::sleep(AGAIN).await,
            outcome => return outcome,
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.queue.close();
        // An answer of the writer may wake, and so drop, the last task that holds the database: the writer cannot wait for itself.
        if let Some(writer) = self.writer.take_if(|writer| writer.thread().id() != std::thread::current().id()) {
            writer.join().ok();
        }
        if let Some(runtime) = self.runtime.take() {
            // A runtime must not wait for its threads where this may be dropped: on a thread of another one.
            runtime.shutdown_background();
        }
    }
}
