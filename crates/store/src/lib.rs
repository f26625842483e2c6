//! The store: calls with their decisions and outcomes, sessions with their messages, pre-images for undo, spills.
//!
//! One trait per subject, one file per backend, and one conformance test that every backend runs.
#![warn(missing_docs)]

mod automation_store;
mod backend;
#[cfg(feature = "postgres")]
mod blob_objects;
mod blobs;
mod call_log;
mod call_row;
mod channel_store;
mod error;
mod session_store;
mod short_id;
#[cfg(feature = "sqlite")]
mod state_store;

pub use automation_store::{AutomationChange, AutomationStore, RunOwner};
#[cfg(feature = "files")]
pub use backend::FileBlobs;
#[cfg(feature = "postgres")]
pub use backend::{
    BucketObjects, BucketSettings, CopiedKind, PostgresAutomation, PostgresChannels, PostgresJobs, PostgresLog, PostgresObjects,
    PostgresOptions, PostgresPruner, PostgresSessions, SharedBlobs, StoreCopy,
};
#[cfg(feature = "sqlite")]
pub use backend::{
    ChunkRow, FileStamp, KnownFile, MemoryDatabase, MissingVectors, NewChunk, NewFile, OpenedLog, OpenedMemory, SqliteAutomation,
    SqliteCallLog, SqliteChannels, SqliteJobs, SqliteOptions, SqliteSessionStore, StorePruner, StoredVector, VectorRow, VectorTask,
};
pub use backend::{InMemoryBlobs, InMemoryCallLog, InMemorySessionStore};
#[cfg(feature = "postgres")]
pub use blob_objects::{BlobObject, BlobObjects};
pub use blobs::{BlobId, BlobWriter, Blobs};
pub use call_log::{CallFilter, CallLog, CallRecord, CallStatus, PreImageRecord};
pub use call_row::CallRow;
pub use channel_store::{
    ChannelStore, ConversationRecord, GuessAnswer, INTENT_AGE, IntentAnswer, OutgoingRecord, PairedSender, SendIntent, UnansweredMessage,
};
pub use error::{DatabaseFault, ServerFault, StoreError};
pub use session_store::{
    MessageRecord, NewMessage, NewSession, ReplacedMessage, SessionClaim, SessionFilter, SessionOverview, SessionOwner, SessionRecord,
    SessionStore, StoreRevision, StoredTaint, TodoVersion, UsageRecord, UsageSum, new_uuid,
};
#[cfg(feature = "sqlite")]
pub use state_store::{OpenedState, StatePruner, StateStore};
