use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

/// What tells a file or folder from every other that is there at the same time, wherever it is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileIdentity {
    /// Its file system.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Whether it is a folder.
    pub is_folder: bool,
}

impl FileIdentity {
    /// That of what was looked at.
    pub fn from_metadata(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino(), is_folder: metadata.is_dir() }
    }
}
