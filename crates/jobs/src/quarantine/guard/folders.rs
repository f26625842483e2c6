//! The folders of the writable roots as the walk sees them. Those that have not changed since they were read are not read again:
//! the walk is made before and after every command.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use haft_host::{FolderStamp, may_be_protected};

/// Folders in the cache; then it starts anew.
const MOST_CACHED: usize = 100_000;
/// The right of the owner of a folder to use what is in it.
pub(super) const SEARCH: u32 = 0o100;

/// Folders as they were read last.
#[derive(Debug, Default)]
pub(crate) struct FolderCache(Mutex<HashMap<PathBuf, Arc<ListedFolder>>>);

/// What matters of the names in a folder.
#[derive(Debug)]
pub(super) struct ListedFolder {
    stamp: FolderStamp,
    /// How many names there are.
    pub(super) count: usize,
    /// Folders, links, and those that could be protected.
    pub(super) entries: Vec<(OsString, FileType)>,
    /// Whether it is a repository without a working tree.
    pub(super) is_bare: bool,
    /// Whether its mode lets its owner use what is in it: else there are only names.
    pub(super) is_searchable: bool,
}

impl FolderCache {
    /// The names in a folder; `None` if it is none or cannot be read.
    pub(super) fn list(&self, folder: &Path) -> Option<Arc<ListedFolder>> {
        let now = SystemTime::now();
        let metadata = fs::symlink_metadata(folder).ok().filter(Metadata::is_dir)?;
        let stamp = FolderStamp::from_metadata(&metadata);
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(folder).cloned();
        if let Some(known) = known.filter(|known| known.stamp == stamp) {
            return Some(known);
        }
        let listed = Arc::new(ListedFolder::read(folder, stamp, metadata.mode() & SEARCH != 0)?);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST_CACHED {
            all.clear();
        }
        if stamp.is_settled(now) {
            all.insert(folder.to_owned(), Arc::clone(&listed));
        } else {
            all.remove(folder);
        }
        Some(listed)
    }
}

impl ListedFolder {
    fn read(folder: &Path, stamp: FolderStamp, is_searchable: bool) -> Option<Self> {
        let list = fs::read_dir(folder).ok()?.flatten();
        let mut entries: Vec<_> = list.filter_map(|entry| Some((entry.file_name(), entry.file_type().ok()?))).collect();
        let (count, is_bare) = (entries.len(), is_bare(&entries));
        entries.retain(|(name, kind)| kind.is_dir() || kind.is_symlink() || is_git(name) || may_be_protected(name));
        entries.shrink_to_fit();
        Some(Self { stamp, count, entries, is_bare, is_searchable })
    }
}

/// Whether a folder with these entries is one that Git takes for a repository.
fn is_bare(entries: &[(OsString, FileType)]) -> bool {
    let has = |wanted: &str| entries.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
    has("HEAD") && ((has("objects") && has("refs")) || has("commondir"))
}

pub(super) fn is_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_is_read_again_when_a_name_appears_goes_or_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (root, cache) = (folder.path(), FolderCache::default());
        let is_cached = || cache.0.lock().unwrap().contains_key(root);
        let names = || {
            // Until it is taken from the cache for certain.
            let mut listed = cache.list(root).unwrap();
            while !is_cached() {
                listed = cache.list(root).unwrap();
            }
            assert!(Arc::ptr_eq(&listed, &cache.list(root).unwrap()) || !is_cached());
            let mut names: Vec<_> = listed.entries.iter().map(|(name, kind)| (name.to_str().unwrap().to_owned(), kind.is_dir())).collect();
            names.sort();
            names
        };
        let expected = |names: &[(&str, bool)]| names.iter().map(|(name, is_folder)| ((*name).to_owned(), *is_folder)).collect::<Vec<_>>();
        fs::write(root.join("plain.txt"), "").unwrap();
        assert_eq!(names(), []);
        fs::write(root.join(".envrc"), "").unwrap();
        assert_eq!(names(), expected(&[(".envrc", false)]));
        fs::rename(root.join(".envrc"), root.join("plain")).unwrap();
        assert_eq!(names(), []);
        fs::create_dir(root.join("new")).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        assert_eq!(names(), expected(&[(".git", true), ("new", true)]));
        assert_eq!(cache.list(&root.join("plain")).map(|listed| listed.count), None, "it is a file");
    }
}
