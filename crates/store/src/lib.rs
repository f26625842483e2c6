//! What is kept: calls with their decisions and outcomes, pre-images for undo, spills.
//!
//! One trait per subject, one file per backend, and one conformance test that every backend runs.
#![warn(missing_docs)]

mod backend;
mod blobs;
mod call_log;
mod error;

pub use backend::{FileBlobs, InMemoryCallLog, Opened, SqliteCallLog, SqliteOptions};
pub use blobs::{BlobId, BlobWriter, Blobs};
pub use call_log::{CallFilter, CallLog, CallRecord, CallStatus, PreImageRecord};
pub use error::StoreError;
