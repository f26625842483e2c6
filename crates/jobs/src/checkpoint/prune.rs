//! Pruning: contents that no file has any more, and stores of folders that are no longer worked in.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use haft_contract::RetentionLimit;
use haft_text::hex;

use super::snapshot::Snapshot;

/// How often a store is pruned.
const INTERVAL: Duration = Duration::from_hours(24);
/// How long a content is kept that no file has: a command that still runs may need it.
const UNUSED_AGE: Duration = Duration::from_hours(48);
/// The same for a store with more such content than [`MAX_UNUSED_BYTES`].
const MIN_UNUSED_AGE: Duration = Duration::from_hours(1);
const MAX_UNUSED_BYTES: u64 = 1 << 30;
/// The time of the last pruning.
const STAMP: &str = "pruned";

/// Prunes a store, and the stores beside it that are abandoned, once a day.
pub(super) fn prune_if_due(stores: &Path, store: &Path, snapshot: &Snapshot, retention: RetentionLimit) {
    let stamp = store.join(STAMP);
    if age(&stamp).is_some_and(|age| age < INTERVAL) {
        return;
    }
    // The first checkpoint of a store leaves nothing unused.
    let is_first = !stamp.exists();
    if fs::write(&stamp, "").is_err() || is_first {
        return;
    }
    let Ok(lock) = File::open(&stamp) else { return };
    if lock.try_lock().is_ok() {
        prune_objects(&store.join("objects"), snapshot);
        prune_stores(stores, store, retention);
    }
}

/// Nothing is removed that cannot be looked at.
fn age(path: &Path) -> Option<Duration> {
    let modified = fs::symlink_metadata(path).and_then(|metadata| metadata.modified()).ok()?;
    Some(SystemTime::now().duration_since(modified).unwrap_or_default())
}

fn prune_objects(objects: &Path, snapshot: &Snapshot) {
    let used: HashSet<String> = snapshot.entries.values().filter_map(|entry| entry.hash).map(hex::encode).collect();
    let mut unused = Vec::new();
    for folder in fs::read_dir(objects).into_iter().flatten().flatten() {
        let prefix = folder.file_name().to_string_lossy().into_owned();
        if !folder.path().is_dir() {
            unused.extend(age(&folder.path()).map(|age| (age, folder.path(), 0)));
            continue;
        }
        for object in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
            if used.contains(&format!("{prefix}{}", object.file_name().to_string_lossy())) {
                continue;
            }
            let size = object.metadata().map_or(0, |metadata| metadata.len());
            unused.extend(age(&object.path()).map(|age| (age, object.path(), size)));
        }
    }
    unused.sort_by_key(|(age, ..)| std::cmp::Reverse(*age));
    let mut left: u64 = unused.iter().map(|(.., size)| size).sum();
    for (age, path, size) in unused {
        if age > UNUSED_AGE || (age > MIN_UNUSED_AGE && left > MAX_UNUSED_BYTES) {
            // One that cannot be removed now is found again.
            fs::remove_file(path).ok();
            left -= size;
        }
    }
}

/// When a store was last used.
pub(crate) fn last_use(store: &Path) -> Option<SystemTime> {
    let modified = |name: &str| fs::symlink_metadata(store.join(name)).and_then(|metadata| metadata.modified()).ok();
    modified(STAMP).max(modified("index"))
}

fn prune_stores(stores: &Path, own: &Path, retention: RetentionLimit) {
    let now = SystemTime::now();
    for store in fs::read_dir(stores).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let is_abandoned = store != own && last_use(&store).is_some_and(|used| retention.is_expired(used, now));
        if is_abandoned {
            fs::remove_dir_all(store).ok();
        }
    }
}
