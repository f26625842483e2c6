//! What commands left in the data folder and may go: staged changes, checkpoints, quarantine.

use std::collections::HashSet;
use std::convert::Infallible;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use haft_contract::{Prunable, RetentionLimit, StoredEntry};

use crate::Quarantine;
use crate::changes::{remove_folder, set_time};
use crate::checkpoint::{last_use, store_name};

/// How long data of commands stays; what is older goes with the next command too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandRetention {
    /// Staged changes.
    pub changes: RetentionLimit,
    /// Checkpoints of a folder, after its last command.
    pub checkpoints: RetentionLimit,
    /// Entries in quarantine.
    pub quarantine: RetentionLimit,
}

impl CommandRetention {
    /// Two weeks each.
    pub const STANDARD: Self =
        Self { changes: RetentionLimit::days(14), checkpoints: RetentionLimit::days(14), quarantine: RetentionLimit::days(14) };
}

/// A command may run for so long and then need the checkpoint from before it.
const CHECKPOINT_USE: Duration = Duration::from_hours(48);

/// Folders that hold one entry each.
pub struct EntryFolders {
    entries: Vec<StoredEntry<PathBuf>>,
}

haft_contract::opaque_debug!(EntryFolders: entries = entries);

impl EntryFolders {
    /// The staged changes in a data folder; those of a run that has not ended are in use.
    pub fn changes(data: &Path) -> Self {
        let is_locked = |folder: &Path| File::open(folder).is_ok_and(|lock| lock.try_lock().is_err());
        let entry = |folder: PathBuf| match set_time(&folder) {
            Some(written) => entry(folder.clone(), written, is_locked(&folder)),
            // Without a set, a run is preparing it or was interrupted.
            None => entry(folder.clone(), modified(&folder), is_locked(&folder)),
        };
        Self { entries: folders(&data.join("changes")).map(entry).collect() }
    }

    /// The checkpoints in a data folder; those of a workspace with a running job are in use.
    pub fn checkpoints(data: &Path, workspaces: &[PathBuf]) -> Self {
        let in_use: HashSet<String> = workspaces.iter().map(|workspace| store_name(workspace)).collect();
        let now = SystemTime::now();
        let entry = |folder: PathBuf| {
            let used = last_use(&folder).unwrap_or_else(|| modified(&folder));
            let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let is_recent = now.duration_since(used).unwrap_or_default() < CHECKPOINT_USE;
            entry(folder, used, is_recent || in_use.contains(&name))
        };
        Self { entries: folders(&data.join("checkpoints")).map(entry).collect() }
    }

    /// Folders that a session each writes into; one that was written to lately is not old.
    pub fn of_sessions(folder: &Path) -> Self {
        Self { entries: folders(folder).map(|folder| entry(folder.clone(), modified(&folder), false)).collect() }
    }

    /// The entries of a quarantine.
    pub fn quarantine(quarantine: &Quarantine) -> Self {
        let entry = |record: haft_contract::QuarantineRecord| entry(quarantine.folder_of(&record.id), record.made, false);
        Self { entries: quarantine.list().into_iter().map(entry).collect() }
    }
}

impl Prunable for EntryFolders {
    type Key = PathBuf;
    type Error = Infallible;

    fn entries(&self) -> Result<Vec<StoredEntry<PathBuf>>, Infallible> {
        Ok(self.entries.clone())
    }

    /// What cannot be removed now is found again.
    fn remove(&self, keys: Vec<PathBuf>) -> Result<(), Infallible> {
        for folder in &keys {
            remove_folder(folder);
        }
        Ok(())
    }
}

fn entry(folder: PathBuf, written: SystemTime, in_use: bool) -> StoredEntry<PathBuf> {
    let bytes = size_of(&folder);
    StoredEntry { key: folder, written, bytes, in_use }
}

fn folders(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}

/// Nothing is old that cannot be looked at.
fn modified(path: &Path) -> SystemTime {
    fs::symlink_metadata(path).and_then(|metadata| metadata.modified()).unwrap_or_else(|_| SystemTime::now())
}

/// The size of everything in a folder, without following links.
fn size_of(folder: &Path) -> u64 {
    let mut total = 0;
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => left.push(entry.path()),
                Ok(metadata) => total += metadata.len(),
                Err(_) => {}
            }
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Origin;

    const WEEK: RetentionLimit = RetentionLimit::days(7);

    fn make_older(path: &Path, days: u64) {
        File::open(path).unwrap().set_modified(SystemTime::now() - Duration::from_hours(24 * days)).unwrap();
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = folders(folder).map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn old_change_sets_go_and_those_of_a_running_command_stay() {
        let data = tempfile::tempdir().unwrap();
        let changes = data.path().join("changes");
        for (name, file) in [("chg-old", "set.json"), ("chg-committed", "committed"), ("chg-new", "set.json"), ("chg-running", "set.json")]
        {
            fs::create_dir_all(changes.join(name)).unwrap();
            fs::write(changes.join(name).join(file), "12345").unwrap();
            make_older(&changes.join(name).join(file), if name == "chg-new" { 1 } else { 10 });
        }
        let lock = File::open(changes.join("chg-running")).unwrap();
        lock.try_lock().unwrap();
        let summary = WEEK.prune(&EntryFolders::changes(data.path()), SystemTime::now(), None).unwrap();
        assert_eq!((summary.removed, summary.removed_bytes, summary.kept, summary.in_use), (2, 10, 2, 1));
        assert_eq!(names(&changes), ["chg-new", "chg-running"]);
    }

    #[test]
    fn checkpoints_of_a_folder_with_a_running_job_stay() {
        let data = tempfile::tempdir().unwrap();
        let checkpoints = data.path().join("checkpoints");
        let [idle, busy, recent] = ["/w/idle", "/w/busy", "/w/recent"].map(|root| checkpoints.join(store_name(Path::new(root))));
        for (store, days) in [(&idle, 20), (&busy, 20), (&recent, 1)] {
            fs::create_dir_all(store.join("objects")).unwrap();
            fs::write(store.join("index"), "x").unwrap();
            make_older(&store.join("index"), days);
        }
        let summary = WEEK.prune(&EntryFolders::checkpoints(data.path(), &["/w/busy".into()]), SystemTime::now(), None).unwrap();
        assert_eq!((summary.removed, summary.kept, summary.in_use), (1, 2, 1));
        assert_eq!((idle.exists(), busy.exists(), recent.exists()), (false, true, true));
    }

    #[test]
    fn quarantine_is_limited_by_age_and_size() {
        let data = tempfile::tempdir().unwrap();
        let quarantine = Quarantine::new(data.path().join("quarantine"));
        let file = data.path().join("hook");
        fs::write(&file, "x".repeat(1000)).unwrap();
        quarantine.put(&file, "it runs", &Origin::default()).unwrap();
        let small = RetentionLimit { age: None, bytes: Some(10) };
        let now = SystemTime::now();
        assert_eq!(small.survey(&EntryFolders::quarantine(&quarantine), now).unwrap().removed, 0, "it is new");
        let later = now + Duration::from_hours(2);
        assert_eq!(small.prune(&EntryFolders::quarantine(&quarantine), later, None).unwrap().removed, 1);
        assert_eq!(quarantine.list().len(), 0);
    }
}
