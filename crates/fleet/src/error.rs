//! What can go wrong between machines.

use haft_store::StoreError;

/// Why work could not be given or taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// The address of the queue is none.
    #[error("HAFT_QUEUE is no address of a queue ({0}): write nats://host:4222, or unset it to run everything in this process")]
    Address(String),
    /// The queue said no, or nothing.
    #[error("the queue {queue} cannot be used ({said}): start nats-server with JetStream on (nats-server -js), or check HAFT_QUEUE")]
    Queue {
        /// Which, without the password.
        queue: String,
        /// What it said.
        said: String,
    },
    /// The database said no.
    #[error(transparent)]
    Store(#[from] StoreError),
}
