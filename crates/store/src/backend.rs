//! One file per backend.

#[cfg(feature = "sqlite")]
mod blob_entries;
#[cfg(feature = "files")]
mod blocking;
#[cfg(feature = "postgres")]
mod bucket;
#[cfg(feature = "files")]
mod file_blobs;
#[cfg(feature = "files")]
#[cfg_attr(not(feature = "sqlite"), allow(dead_code, reason = "the database uses the rest"))]
mod folder;
mod in_memory;
mod in_memory_blobs;
mod in_memory_sessions;
#[cfg(feature = "sqlite")]
mod memory_index;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod shared_blobs;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "sqlite")]
mod values;
#[cfg(feature = "sqlite")]
mod write;

#[cfg(feature = "sqlite")]
pub(crate) use blob_entries::waited;
#[cfg(feature = "postgres")]
pub use bucket::{BucketObjects, BucketSettings};
#[cfg(feature = "files")]
pub use file_blobs::FileBlobs;
pub use in_memory::InMemoryCallLog;
pub use in_memory_blobs::InMemoryBlobs;
pub use in_memory_sessions::InMemorySessionStore;
#[cfg(feature = "sqlite")]
pub use memory_index::MemoryDatabase;
#[cfg(feature = "postgres")]
pub use postgres::{
    CopiedKind, DepositedWork, PostgresAutomation, PostgresChannels, PostgresJobs, PostgresLog, PostgresObjects, PostgresOptions,
    PostgresPruner, PostgresSessions, PostgresWork, SaidMessage, StoreCopy, TenantLogin, TenantRole,
};
#[cfg(feature = "sqlite")]
pub use shared_blobs::SharedBlobs;
#[cfg(feature = "sqlite")]
pub use sqlite::{OpenedLog, SqliteAutomation, SqliteCallLog, SqliteChannels, SqliteJobs, SqliteOptions, SqliteSessionStore, StorePruner};
