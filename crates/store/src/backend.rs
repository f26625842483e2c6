//! One file per backend.

mod blocking;
mod file_blobs;
mod folder;
mod in_memory;
mod sqlite;

pub use file_blobs::FileBlobs;
pub use in_memory::InMemoryCallLog;
pub use sqlite::{Opened, SqliteCallLog, SqliteOptions};
