//! The limit on temporary files of a session: they lie on the disk, which has no limit of its own for them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a block, as file systems count them.
const BLOCK: u64 = 512;
/// More entries than this count as too many bytes.
const MOST_ENTRIES: usize = 500_000;

/// The temporary files of a run.
#[derive(Debug)]
pub(crate) struct TemporaryFiles {
    folder: PathBuf,
    limit: u64,
    is_exceeded: AtomicBool,
}

impl TemporaryFiles {
    pub(crate) fn new(folder: PathBuf, limit: u64) -> Self {
        Self { folder, limit, is_exceeded: AtomicBool::new(false) }
    }

    /// Whether they are more than the limit, now or at an earlier look. Blocks.
    pub(crate) fn check(&self) -> bool {
        if !self.is_exceeded.load(Ordering::Relaxed) && self.size() > self.limit {
            self.is_exceeded.store(true, Ordering::Relaxed);
        }
        self.is_exceeded.load(Ordering::Relaxed)
    }

    pub(crate) fn is_exceeded(&self) -> bool {
        self.is_exceeded.load(Ordering::Relaxed)
    }

    fn size(&self) -> u64 {
        let (mut folders, mut bytes, mut seen) = (vec![self.folder.clone()], 0, 0);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                seen += 1;
                let Ok(metadata) = entry.metadata() else { continue };
                bytes += metadata.blocks() * BLOCK;
                if metadata.is_dir() {
                    folders.push(entry.path());
                }
                if seen > MOST_ENTRIES {
                    return u64::MAX;
                }
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_counts_all_files_below_and_stays_exceeded() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        let files = TemporaryFiles::new(folder.path().to_owned(), 100_000);
        assert!(!files.check());
        fs::write(folder.path().join("a/b"), vec![1; 200_000]).unwrap();
        assert!(files.check() && files.is_exceeded());
        fs::remove_file(folder.path().join("a/b")).unwrap();
        assert!(files.check());
    }
}
