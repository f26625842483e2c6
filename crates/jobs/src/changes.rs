//! Staged changes: a private folder for each run with the upper layers of its overlay, until they are committed or expire.

mod commit;
mod interrupted;
mod open_files;
mod overlay;
mod repositories;
mod staging;

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use haft_contract::{BoxFuture, ChangeMode, ChangeSet, ChangeSets, ChangeSide, ClaimedChanges, FileChange, ToolError};
use haft_host::LocalFiles;
use haft_text::display;
use serde::{Deserialize, Serialize};

pub(crate) use self::overlay::{change_time, is_opaque_handle, is_whiteout};
pub(crate) use self::repositories::StagedRepository;
pub(crate) use self::staging::StagedRun;
use self::staging::is_abandoned;
pub(crate) use self::staging::{remove_folder, staging_gap, write_private};
use crate::ChangeOptions;
use crate::git::place_repository;

/// Above this, the oldest sets are removed.
const MAX_SETS: usize = 64;
const SET_FILE: &str = "set.json";
/// Marks the folder of a set that was committed.
const COMMITTED_FILE: &str = "committed";
const ID_PREFIX: &str = "chg-";
/// Means the newest set.
const LAST: &str = "last";

/// The staged change sets on disk.
#[derive(Debug)]
pub(crate) struct ChangeStore {
    options: ChangeOptions,
    files: Arc<LocalFiles>,
    /// The set that was read last: callers read its contents file by file.
    recent: Mutex<Option<Arc<StoredChanges>>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredChanges {
    set: ChangeSet,
    /// The roots, each with its upper layer.
    layers: Vec<(PathBuf, PathBuf)>,
}

impl StoredChanges {
    /// The staged file of a change: it lies in the layer of the deepest root that contains it.
    fn staged_path(&self, change: &FileChange) -> PathBuf {
        self.layer_of(&change.path).map(|(_, upper, rest)| upper.join(rest)).unwrap_or_default()
    }

    /// The root of a path, its upper layer, and the path beneath both.
    fn layer_of<'a>(&'a self, path: &'a Path) -> Option<(&'a Path, &'a Path, &'a Path)> {
        let beneath = self.layers.iter().filter_map(|(root, upper)| Some((&**root, &**upper, path.strip_prefix(root).ok()?)));
        beneath.max_by_key(|(root, ..)| root.components().count())
    }

    fn place(&self, repository: &Path) -> Result<(), String> {
        let (root, upper, path) = self.layer_of(repository).ok_or("it lies outside of the workspace")?;
        place_repository(&upper.join(path), root, path).map_err(|error| error.to_string())
    }
}

/// When the set in a folder was made, or committed.
pub(crate) fn set_time(folder: &Path) -> Option<SystemTime> {
    let modified = |name: &str| fs::metadata(folder.join(name)).and_then(|metadata| metadata.modified()).ok();
    // One that cannot be recovered here, as of another workspace, is removed in time.
    modified(SET_FILE).or_else(|| modified(COMMITTED_FILE)).or_else(|| modified(interrupted::RUN_FILE))
}

impl ChangeStore {
    pub(crate) fn new(options: ChangeOptions, files: Arc<LocalFiles>) -> Self {
        Self { options, files, recent: Mutex::default() }
    }

    /// Prepares the staging of a run that may change these roots. Blocks.
    pub(crate) fn stage(&self, session: &str, command: &str, mode: ChangeMode, roots: &[PathBuf]) -> Result<StagedRun, ToolError> {
        let interrupted = self.recover();
        self.prune();
        let run = StagedRun::prepare(&self.options.folder, session, command, roots, Arc::clone(&self.files))?;
        let run = run.after(interrupted.into_iter().filter(|set| set.session == session).collect());
        if mode == ChangeMode::Staged {
            run.describe()?;
        }
        Ok(run)
    }

    /// Makes sets of what interrupted runs of this workspace had changed. Blocks.
    pub(crate) fn recover(&self) -> Vec<ChangeSet> {
        let described = self.folders().filter(|folder| interrupted::is_described(folder));
        let recover = |folder: PathBuf| {
            let set = interrupted::recover(&folder, &self.files)?;
            if set.changes.is_empty() {
                remove_folder(&folder);
            }
            Some(set)
        };
        described.filter_map(recover).filter(|set| !set.changes.is_empty()).collect()
    }

    /// The newest set that a command of a session left in this workspace.
    pub(crate) fn of_command(&self, session: &str, command: &str) -> Option<Arc<ChangeSet>> {
        let is_wanted = |stored: &StoredChanges| stored.set.session == session && stored.set.command == command;
        let sets = self.folders().filter_map(|folder| self.read(folder.file_name()?.to_str()?).ok());
        let of_workspace = sets.filter(|stored| stored.set.workspace == self.files.root() && is_wanted(stored));
        of_workspace.max_by_key(|stored| stored.set.made).map(|stored| Arc::new(stored.set))
    }

    /// Removes expired and excess sets, and the folders of interrupted runs. A failed removal is retried with the next run.
    fn prune(&self) {
        let mut sets = Vec::new();
        for folder in self.folders() {
            match set_time(&folder) {
                Some(modified) => sets.push((modified, folder)),
                None if is_abandoned(&folder) => remove_folder(&folder),
                None => {}
            }
        }
        sets.sort_unstable_by(|one, other| other.cmp(one));
        for (index, (modified, folder)) in sets.into_iter().enumerate() {
            if index >= MAX_SETS || self.options.retention.is_expired(modified, SystemTime::now()) {
                remove_folder(&folder);
            }
        }
    }

    fn folders(&self) -> impl Iterator<Item = PathBuf> {
        fs::read_dir(&self.options.folder).into_iter().flatten().flatten().map(|entry| entry.path())
    }

    /// The newest set of this workspace.
    fn newest(&self) -> Option<String> {
        let of_workspace = |folder: PathBuf| {
            let stored: StoredChanges = serde_json::from_str(&fs::read_to_string(folder.join(SET_FILE)).ok()?).ok()?;
            (stored.set.workspace == self.files.root()).then_some((stored.set.made, stored.set.id))
        };
        self.folders().filter_map(of_workspace).max().map(|(_, id)| id)
    }

    fn read(&self, id: &str) -> io::Result<StoredChanges> {
        Ok(serde_json::from_str(&fs::read_to_string(self.options.folder.join(id).join(SET_FILE))?)?)
    }

    fn read_cached(&self, id: &str) -> io::Result<Arc<StoredChanges>> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        match recent.as_ref().filter(|stored| stored.set.id == id) {
            Some(stored) => Ok(Arc::clone(stored)),
            None => Ok(Arc::clone(recent.insert(Arc::new(self.read(id)?)))),
        }
    }

    /// A set that can be committed in this workspace.
    fn load(&self, id: &str) -> Result<StoredChanges, ToolError> {
        let name = display::shorten(id, 80);
        let is_id =
            id.strip_prefix(ID_PREFIX).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let stored = if is_id { self.read(id) } else { Err(io::ErrorKind::NotFound.into()) };
        let stored = stored.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if is_id && self.options.folder.join(id).join(COMMITTED_FILE).exists() => {
                ToolError::validation(format!("The change set '{name}' was committed already. Run the command again for a new one."))
            }
            io::ErrorKind::NotFound => ToolError::validation(format!(
                "There is no change set '{name}'. Names begin with '{ID_PREFIX}'; a dry run says the name of its own, and it is removed after some days (retention.changes)."
            )),
            _ => ToolError::execution(format!("The change set '{name}' cannot be read: {error}. Run the command again for a new one.")),
        })?;
        let workspace = &stored.set.workspace;
        if workspace != self.files.root() {
            let of = workspace.display();
            return Err(ToolError::validation(format!("The change set '{name}' is of another workspace, '{of}'. Commit it there.")));
        }
        match &stored.set.refused {
            Some(why) => Err(ToolError::validation(format!("The change set '{name}' cannot be committed: {why}. Change less at once."))),
            None => Ok(stored),
        }
    }
}

impl ChangeSets for ChangeStore {
    fn find(&self, id: &str) -> Result<Arc<ChangeSet>, ToolError> {
        self.recover();
        let newest = (id == LAST).then(|| self.newest()).flatten();
        self.load(newest.as_deref().unwrap_or(id)).map(|stored| Arc::new(stored.set))
    }

    fn list(&self) -> Vec<Arc<ChangeSet>> {
        self.recover();
        let sets = self.folders().filter_map(|folder| self.read(folder.file_name()?.to_str()?).ok());
        let of_workspace = sets.filter(|stored| stored.set.workspace == self.files.root());
        let mut sets: Vec<_> = of_workspace.map(|stored| Arc::new(stored.set)).collect();
        sets.sort_by_key(|set| std::cmp::Reverse(set.made));
        sets
    }

    fn content<'a>(
        &'a self,
        set: &'a ChangeSet,
        change: usize,
        side: ChangeSide,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<u8>, ToolError>> {
        let change = set.changes.get(change).cloned();
        let stored = self.read_cached(&set.id);
        Box::pin(async move {
            let change = change.filter(|change| !change.hidden).ok_or_else(|| ToolError::denied("This content is not shown."))?;
            let failed = |error: io::Error| ToolError::execution(format!("'{}' cannot be read: {error}.", change.path.display()));
            let path = match side {
                ChangeSide::Before => change.path.clone(),
                ChangeSide::After => stored.map_err(failed)?.staged_path(&change),
            };
            let read = tokio::task::spawn_blocking(move || first_bytes(&path, most));
            read.await.map_err(|error| failed(error.into()))?.map_err(failed)
        })
    }

    fn claim(&self, session: &str, id: &str) -> Result<ClaimedChanges, ToolError> {
        let stored = self.load(id)?;
        if stored.set.session != session && !self.options.of_any_session {
            return Err(ToolError::denied(format!("The change set '{id}' is of another session, which alone can commit it.")));
        }
        let busy = || ToolError::execution(format!("The change set '{id}' is being committed by another call."));
        let lock = File::open(self.options.folder.join(id)).map_err(|_| busy())?;
        lock.try_lock().map_err(|_| busy())?;
        // Another call may have committed it before the lock was taken.
        self.load(id)?;
        if let Some((path, program)) = open_files::find_writer(&stored.set) {
            let path = display::escape_line(&path.to_string_lossy()).into_owned();
            return Err(ToolError::execution(format!(
                "Nothing was applied: '{path}' is open for writing in {}, which would not notice that it is replaced. End that program, or \
                 ask the user for exec.changes = \"direct\".",
                display::escape_line(&program)
            )));
        }
        let staged = stored.set.changes.iter().map(|change| stored.staged_path(change)).collect();
        Ok(ClaimedChanges { steps: commit::steps(&stored), set: stored.set, staged, lock: Box::new(lock) })
    }

    fn place<'a>(&'a self, set: &'a ChangeSet, repositories: &'a [PathBuf]) -> BoxFuture<'a, Vec<(PathBuf, String)>> {
        let (stored, repositories) = (self.read_cached(&set.id), repositories.to_vec());
        Box::pin(async move {
            let place = move |path: PathBuf| {
                let placed = stored.as_ref().map_err(ToString::to_string).and_then(|stored| stored.place(&path));
                placed.err().map(|why| (path, why))
            };
            let placed = tokio::task::spawn_blocking(move || repositories.into_iter().filter_map(place).collect());
            placed.await.unwrap_or_default()
        })
    }

    fn retain<'a>(&'a self, set: &'a ChangeSet, changes: &'a [usize]) -> BoxFuture<'a, ()> {
        let folder = self.options.folder.join(&set.id);
        let kept = changes.iter().filter_map(|index| set.changes.get(*index).cloned()).collect();
        let kept = ChangeSet { changes: kept, ..set.clone() };
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move {
            // Should this fail, a commit finds that the files have changed.
            drop(tokio::task::spawn_blocking(move || rewrite_set(&folder, kept)).await);
        })
    }

    fn remove<'a>(&'a self, set: &'a ChangeSet) -> BoxFuture<'a, ()> {
        let folder = self.options.folder.join(&set.id);
        Box::pin(async move {
            let clear = tokio::task::spawn_blocking(move || {
                // Should this fail, a second commit finds that every file has changed.
                fs::remove_file(folder.join(interrupted::RUN_FILE)).ok();
                if write_private(&folder.join(COMMITTED_FILE), b"").and_then(|()| fs::remove_file(folder.join(SET_FILE))).is_ok() {
                    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
                    let layers = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
                    layers.for_each(|layer| remove_folder(&layer.path()));
                }
            });
            drop(clear.await);
        })
    }
}

/// Replaces the list of changes of a stored set.
fn rewrite_set(folder: &Path, set: ChangeSet) -> io::Result<()> {
    let stored: StoredChanges = serde_json::from_str(&fs::read_to_string(folder.join(SET_FILE))?)?;
    let temporary = folder.join("set.json.new");
    write_private(&temporary, &serde_json::to_vec(&StoredChanges { set, ..stored })?)?;
    fs::rename(temporary, folder.join(SET_FILE))
}

fn first_bytes(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    overlay::open(path)?.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
