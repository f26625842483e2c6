//! Runs that were cut off with the process that ran them: what they had changed becomes a change set, and waits for a commit.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use haft_contract::ChangeSet;
use haft_host::LocalFiles;
use haft_sandbox::OverlayLayer;
use serde::{Deserialize, Serialize};

use super::overlay::{OverlayChanges, read_changes};
use super::staging::{StagedRun, write_private};
use super::{SET_FILE, StoredChanges};

/// Describes a run whose changes are applied when it has ended.
pub(super) const RUN_FILE: &str = "run.json";

/// What is needed to read the changes of a run without the process that ran it.
#[derive(Debug, Serialize, Deserialize)]
struct RunDescription {
    session: String,
    command: String,
    workspace: PathBuf,
    started: SystemTime,
    layers: Vec<OverlayLayer>,
}

/// Describes a run in its folder, before it starts.
pub(super) fn describe(run: &StagedRun, folder: &Path, workspace: &Path) -> io::Result<()> {
    let description = RunDescription {
        session: run.session.clone(),
        command: run.command.clone(),
        workspace: workspace.to_owned(),
        started: run.started,
        layers: run.overlay().layers().to_vec(),
    };
    write_private(&folder.join(RUN_FILE), &serde_json::to_vec(&description)?)
}

/// Whether the folder is of a run that is described, and of which no set was made.
pub(super) fn is_described(folder: &Path) -> bool {
    folder.join(RUN_FILE).exists() && !folder.join(SET_FILE).exists()
}

/// Makes a set of what an interrupted run of this workspace had changed; `None` if the run continues, or is of another workspace. A
/// run that had changed nothing leaves an empty set, which is not stored. Blocks.
pub(super) fn recover(folder: &Path, files: &LocalFiles) -> Option<ChangeSet> {
    let lock = File::open(folder).ok()?;
    lock.try_lock().ok()?;
    if !is_described(folder) {
        return None;
    }
    let run: RunDescription = serde_json::from_slice(&fs::read(folder.join(RUN_FILE)).ok()?).ok()?;
    if run.workspace != files.root() {
        return None;
    }
    let OverlayChanges { changes, refused } = read_changes(&run.layers, files, run.started);
    let set = ChangeSet {
        id: folder.file_name()?.to_str()?.to_owned(),
        session: run.session,
        workspace: run.workspace,
        command: run.command,
        made: SystemTime::now(),
        changes,
        refused,
    };
    if !set.changes.is_empty() {
        let layers = run.layers.into_iter().map(|layer| (layer.lower, layer.upper)).collect();
        let stored = serde_json::to_vec(&StoredChanges { set: set.clone(), layers }).ok()?;
        write_private(&folder.join(SET_FILE), &stored).ok()?;
    }
    Some(set)
}
