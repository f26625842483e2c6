//! Changes that were kept apart from the real files: one private folder for each run, until it is committed or too old.

mod apart;
mod entries;
mod folders;
mod pending;
mod reading;
mod steps;

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_contract::{BoxFuture, ChangeSet, ChangeSets, Claim, FileChange, PreImage, Side, ToolError, visible};
use serde::{Deserialize, Serialize};

pub(super) use self::apart::kept_apart;
use self::folders::{is_abandoned, remove, write_private};
pub(super) use self::pending::Pending;
use super::walls::ChangeOptions;
use crate::LocalFiles;

/// A set that nobody commits goes after this time, as spills do.
const LIFETIME: Duration = Duration::from_hours(14 * 24);
/// How many are kept; the oldest give way.
const MOST_SETS: usize = 64;
const SET: &str = "set.json";
const COMMITTED: &str = "committed";
const NAME: &str = "chg-";
/// Stands for the newest.
const LAST: &str = "last";

/// Keeps change sets.
#[derive(Debug)]
pub(super) struct Sets {
    options: ChangeOptions,
    files: Arc<LocalFiles>,
    /// The set that was looked at last: one is looked at file by file.
    recent: Mutex<Option<Arc<Stored>>>,
}

/// A set as it lies on the disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Stored {
    set: ChangeSet,
    /// The roots, and where their changes are.
    layers: Vec<(PathBuf, PathBuf)>,
}

impl Stored {
    fn above(&self, change: &FileChange) -> PathBuf {
        reading::above(&self.layers, &change.path).unwrap_or_default()
    }
}

impl Sets {
    pub(super) fn new(options: ChangeOptions, files: Arc<LocalFiles>) -> Self {
        Self { options, files, recent: Mutex::default() }
    }

    /// A folder for a run that may change these roots. Blocks.
    pub(super) fn begin(&self, session: &str, line: &str, roots: &[PathBuf]) -> Result<Pending, ToolError> {
        self.prune();
        Pending::begin(&self.options.folder, session, line, roots, Arc::clone(&self.files))
    }

    /// Removes what is too old, too much, or was left by a run that was cut off. What cannot be removed is tried again.
    fn prune(&self) {
        let mut sets = Vec::new();
        for folder in fs::read_dir(&self.options.folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let made = |name: &str| fs::metadata(folder.join(name)).and_then(|metadata| metadata.modified()).ok();
            match made(SET).or_else(|| made(COMMITTED)) {
                Some(made) => sets.push((made, folder)),
                None if is_abandoned(&folder) => remove(&folder),
                None => {}
            }
        }
        sets.sort_unstable_by(|one, other| other.cmp(one));
        for (place, (made, folder)) in sets.into_iter().enumerate() {
            if place >= MOST_SETS || made.elapsed().is_ok_and(|age| age > LIFETIME) {
                remove(&folder);
            }
        }
    }

    /// The newest set of this workspace, for those who do not want to write its name.
    fn newest(&self) -> Option<String> {
        let of_workspace = |folder: &Path| {
            let stored: Stored = serde_json::from_str(&fs::read_to_string(folder.join(SET)).ok()?).ok()?;
            (stored.set.workspace == self.files.root()).then_some((stored.set.made, stored.set.id))
        };
        let folders = fs::read_dir(&self.options.folder).ok()?.flatten().map(|entry| entry.path());
        folders.filter_map(|folder| of_workspace(&folder)).max().map(|(_, id)| id)
    }

    /// A set as it lies on the disk, whatever it is of.
    fn stored(&self, id: &str) -> io::Result<Arc<Stored>> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stored) = recent.as_ref().filter(|stored| stored.set.id == id) {
            return Ok(Arc::clone(stored));
        }
        let stored: Stored = serde_json::from_str(&fs::read_to_string(self.options.folder.join(id).join(SET))?)?;
        Ok(Arc::clone(recent.insert(Arc::new(stored))))
    }

    fn load(&self, id: &str) -> Result<Stored, ToolError> {
        let shown = visible::shorten(id, 80);
        let is_id = id.strip_prefix(NAME).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let folder = self.options.folder.join(id);
        let text = if is_id { fs::read_to_string(folder.join(SET)) } else { Err(io::ErrorKind::NotFound.into()) };
        let stored = match text {
            Ok(text) => serde_json::from_str::<Stored>(&text).map_err(io::Error::from),
            Err(_) if is_id && folder.join(COMMITTED).exists() => {
                return Err(ToolError::validation(format!(
                    "The change set '{shown}' was committed already. Run the command again for a new one."
                )));
            }
            Err(error) => Err(error),
        };
        let stored = stored.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ToolError::validation(format!(
                "There is no change set '{shown}'. Names begin with '{NAME}'; a dry run says the name of its own, and it is kept for 14 days."
            )),
            _ => ToolError::execution(format!("The change set '{shown}' cannot be read: {error}. Run the command again for a new one.")),
        })?;
        let workspace = &stored.set.workspace;
        if workspace != self.files.root() {
            let of = workspace.display();
            return Err(ToolError::validation(format!("The change set '{shown}' is of another workspace, '{of}'. Commit it there.")));
        }
        match &stored.set.refused {
            Some(why) => Err(ToolError::validation(format!("The change set '{shown}' cannot be committed: {why}. Change less at once."))),
            None => Ok(stored),
        }
    }

    fn take(&self, session: &str, id: &str) -> Result<Claimed, ToolError> {
        let stored = self.load(id)?;
        if stored.set.session != session && !self.options.of_any_session {
            return Err(ToolError::denied(format!("The change set '{id}' is of another session, which alone can commit it.")));
        }
        let folder = self.options.folder.join(id);
        let busy = || ToolError::execution(format!("The change set '{id}' is being committed by another call."));
        let lock = File::open(&folder).map_err(|_| busy())?;
        lock.try_lock().map_err(|_| busy())?;
        // Another call may have been faster until now.
        self.load(id)?;
        Ok(Claimed { stored, folder, _lock: lock })
    }
}

impl ChangeSets for Sets {
    fn find(&self, id: &str) -> Result<Arc<ChangeSet>, ToolError> {
        let newest = (id == LAST).then(|| self.newest()).flatten();
        self.load(newest.as_deref().unwrap_or(id)).map(|stored| Arc::new(stored.set))
    }

    fn content<'a>(&'a self, set: &'a ChangeSet, change: usize, side: Side, most: usize) -> BoxFuture<'a, Result<Vec<u8>, ToolError>> {
        let change = set.changes.get(change).cloned();
        let stored = self.stored(&set.id);
        Box::pin(async move {
            let change = change.filter(|change| !change.hidden).ok_or_else(|| ToolError::denied("This content is not shown."))?;
            let failed = |error: io::Error| ToolError::execution(format!("'{}' cannot be read: {error}.", change.path.display()));
            let path = match side {
                Side::Before => change.path.clone(),
                Side::After => stored.map_err(failed)?.above(&change),
            };
            let read = tokio::task::spawn_blocking(move || first_bytes(&path, most));
            read.await.map_err(|error| failed(error.into()))?.map_err(failed)
        })
    }

    fn claim<'a>(&'a self, session: &'a str, id: &'a str) -> BoxFuture<'a, Result<Box<dyn Claim>, ToolError>> {
        let taken = self.take(session, id).map(|claim| Box::new(claim) as Box<dyn Claim>);
        Box::pin(std::future::ready(taken))
    }
}

fn first_bytes(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    entries::open(path)?.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A set that is being committed.
#[derive(Debug)]
struct Claimed {
    stored: Stored,
    folder: PathBuf,
    _lock: File,
}

impl Claim for Claimed {
    fn set(&self) -> &ChangeSet {
        &self.stored.set
    }
    fn steps(&self) -> Vec<(usize, PreImage)> {
        steps::of(&self.stored)
    }
    fn done(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let clear = tokio::task::spawn_blocking(move || {
                // Should this fail, what is committed again finds that everything has changed.
                if write_private(&self.folder.join(COMMITTED), b"").and_then(|()| fs::remove_file(self.folder.join(SET))).is_ok() {
                    for (_, upper) in &self.stored.layers {
                        upper.parent().into_iter().for_each(remove);
                    }
                }
            });
            drop(clear.await);
        })
    }
}

#[cfg(test)]
mod tests;
