//! The store: calls with their decisions and outcomes, sessions with their messages, pre-images for undo, spills.
//!
//! One trait per subject, one file per backend, and one conformance test that every backend runs.
#![warn(missing_docs)]

mod automation_store;
mod backend;
#[cfg(feature = "sqlite")]
mod blob_objects;
mod blobs;
mod call_log;
mod call_row;
mod channel_store;
mod error;
#[cfg(feature = "sqlite")]
mod memory_store;
mod session_store;
mod short_id;
#[cfg(feature = "sqlite")]
mod state_store;
#[cfg(feature = "postgres")]
mod work_store;

pub use automation_store::{AutomationChange, AutomationStore, RunOwner};
#[cfg(feature = "files")]
pub use backend::FileBlobs;
#[cfg(feature = "postgres")]
pub use backend::{
    BucketObjects, BucketSettings, CopiedKind, DepositedWork, PostgresAutomation, PostgresChannels, PostgresJobs, PostgresLog,
    PostgresObjects, PostgresOptions, PostgresPruner, PostgresSessions, PostgresWork, SaidMessage, StoreCopy, TenantLogin, TenantRole,
};
pub use backend::{InMemoryBlobs, InMemoryCallLog, InMemorySessionStore};
#[cfg(feature = "sqlite")]
pub use backend::{
    MemoryDatabase, OpenedLog, SharedBlobs, SqliteAutomation, SqliteCallLog, SqliteChannels, SqliteJobs, SqliteOptions, SqliteSessionStore,
    StorePruner,
};
#[cfg(feature = "sqlite")]
pub use blob_objects::{BlobObject, BlobObjects};
pub use blobs::{BlobId, BlobWriter, Blobs};
pub use call_log::{CallFilter, CallLog, CallRecord, CallStatus, PreImageRecord};
pub use call_row::CallRow;
pub use channel_store::{
    ChannelStore, ConversationRecord, GuessAnswer, INTENT_AGE, IntentAnswer, OutgoingRecord, PairedSender, SendIntent, UnansweredMessage,
};
pub use error::{DatabaseFault, ServerFault, StoreError};
#[cfg(feature = "sqlite")]
pub use memory_store::{
    ChunkRow, FileStamp, GramQuery, KnownFile, MemoryFiles, MemorySearch, MemoryStore, MemoryVectors, MissingVectors, NewChunk, NewFile,
    OpenedMemory, StoredVector, VectorRow, VectorTask, WordQuery,
};
pub use session_store::{
    MessageRecord, ModelUsage, NewMessage, NewSession, ReplacedMessage, SessionClaim, SessionFilter, SessionOverview, SessionOwner,
    SessionRecord, SessionStore, StoreRevision, StoredTaint, TodoVersion, UsageRecord, UsageSum, new_uuid,
};
#[cfg(feature = "sqlite")]
pub use state_store::{OpenedState, StatePruner, StateStore, open_memory};
#[cfg(feature = "postgres")]
pub use work_store::{LeaseAnswer, NewWork, TopicLoad, WorkClaim, WorkLease, WorkRecord, WorkState, WorkerRecord};
