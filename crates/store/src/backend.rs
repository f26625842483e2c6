//! One file per backend.

mod blocking;
mod file_blobs;
mod folder;
mod in_memory;
mod in_memory_sessions;
mod memory_index;
mod sqlite;

pub use file_blobs::FileBlobs;
pub use in_memory::InMemoryCallLog;
pub use in_memory_sessions::InMemorySessionStore;
pub use memory_index::{
    ChunkRow, FileStamp, KnownFile, MemoryDatabase, MissingVectors, NewChunk, NewFile, OpenedMemory, StoredVector, VectorRow, VectorTask,
};
pub use sqlite::{OpenedLog, SqliteAutomation, SqliteCallLog, SqliteChannels, SqliteJobs, SqliteOptions, SqliteSessionStore, StorePruner};
