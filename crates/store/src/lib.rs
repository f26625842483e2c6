//! What is kept: calls with their decisions and outcomes, sessions with their messages, pre-images for undo, spills.
//!
//! One trait per subject, one file per backend, and one conformance test that every backend runs.
#![warn(missing_docs)]

mod backend;
mod blobs;
mod call_log;
mod error;
mod session_store;
mod short_id;

pub use backend::{FileBlobs, InMemoryCallLog, InMemorySessionStore, Opened, SqliteCallLog, SqliteJobs, SqliteOptions, SqliteSessionStore};
pub use blobs::{BlobId, BlobWriter, Blobs};
pub use call_log::{CallFilter, CallLog, CallRecord, CallStatus, PreImageRecord};
pub use error::StoreError;
pub use session_store::{
    Claim, MessageRecord, NewMessage, NewSession, Owner, ReplacedMessage, SessionFilter, SessionRecord, SessionStore, UsageRecord, UsageSum,
};
