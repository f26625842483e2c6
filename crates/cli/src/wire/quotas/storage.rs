//! Bytes of files, counted at most every few seconds.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How old a count may be.
const FRESH: Duration = Duration::from_secs(10);
/// Entries that are looked at; a folder with more counts as far as they go.
const MOST_ENTRIES: usize = 1_000_000;

/// When the bytes of folders were counted, and how many there were.
type CountedBytes = (Instant, u64);

static COUNTED: LazyLock<Mutex<HashMap<Vec<PathBuf>, CountedBytes>>> = LazyLock::new(Mutex::default);

/// Bytes of all files beneath these folders. Links are not followed.
pub(super) async fn bytes(folders: Vec<PathBuf>) -> u64 {
    let counted = || COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, bytes)) = counted().get(&folders).filter(|(at, _)| at.elapsed() < FRESH) {
        return *bytes;
    }
    let counting = folders.clone();
    let bytes = tokio::task::spawn_blocking(move || counting.iter().map(|folder| beneath(folder)).sum()).await.unwrap_or(0);
    counted().insert(folders, (Instant::now(), bytes));
    bytes
}

fn beneath(folder: &Path) -> u64 {
    let (mut folders, mut bytes, mut entries) = (vec![folder.to_owned()], 0_u64, 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            entries += 1;
            if entries > MOST_ENTRIES {
                return bytes;
            }
            let Ok(facts) = entry.metadata() else { continue };
            if facts.is_dir() {
                folders.push(entry.path());
            } else {
                bytes = bytes.saturating_add(facts.len());
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_all_depths_count_and_links_do_not_lead_out() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
        std::fs::write(folder.path().join("a/b/c"), [0; 1000]).unwrap();
        std::fs::write(folder.path().join("d"), [0; 24]).unwrap();
        assert_eq!(beneath(folder.path()), 1024);
        std::os::unix::fs::symlink("/", folder.path().join("a/root")).unwrap();
        assert!(beneath(folder.path()) < 1100);
    }
}
