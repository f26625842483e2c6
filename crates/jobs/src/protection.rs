//! Guards on what a run changes directly: repositories are overlays whose changes are checked and applied, and protected names are
//! looked for while it runs and afterwards.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{ErrorKind, GitReport, RefusedChange, ToolError};
use haft_host::{LocalFiles, SandboxPaths};
use haft_sandbox::OverlayLayer;
use ring::rand::{SecureRandom, SystemRandom};

use crate::changes::remove_folder;
use crate::git::{GitOverlays, find_git_folders};
use crate::quarantine::{Guard, Origin, Quarantine, find_existing};
use crate::sandboxer::{ShellOptions, unavailable};

/// The guards of one run.
#[derive(Debug)]
pub(crate) struct RunProtection {
    git: Mutex<Option<GitOverlays>>,
    guard: Guard,
    quarantine: Quarantine,
    origin: Origin,
    files: Arc<LocalFiles>,
    /// What was refused while it ran.
    refused: Mutex<Vec<RefusedChange>>,
    folder: RunFolder,
}

/// How the repositories of a run are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GitAccess {
    /// Changes are checked and applied when the run has ended.
    Overlay,
    /// They are read-only.
    ReadOnly,
}

/// A private folder that is removed with the run.
#[derive(Debug)]
struct RunFolder(PathBuf);

impl Drop for RunFolder {
    fn drop(&mut self) {
        remove_folder(&self.0);
    }
}

impl RunProtection {
    /// Prepares the guards of a run: the second value are the overlays of its repositories. Blocks.
    pub(crate) fn prepare(
        files: &Arc<LocalFiles>,
        paths: &mut SandboxPaths,
        git: GitAccess,
        options: &ShellOptions,
        origin: Origin,
    ) -> Result<(Self, Vec<OverlayLayer>), ToolError> {
        let folder = RunFolder(new_folder(&options.view_folder).map_err(|error| no_folder(&options.view_folder, error))?);
        let quarantine = Quarantine::new(&options.quarantine);
        let existing = find_existing(files);
        let writable = paths.writable.clone();
        let found = find_git_folders(&existing.git, &writable);
        paths.protected.extend(found.protected);
        let mut overlaid = found.overlaid;
        // Also the shared folder of a linked worktree, which lies elsewhere.
        overlaid.extend(paths.repositories.iter().filter(|git| git.is_dir()).cloned());
        overlaid.sort_unstable();
        overlaid.dedup_by(|deeper, above| deeper.starts_with(&*above));
        paths.repositories.clone_from(&overlaid);
        if git == GitAccess::ReadOnly {
            overlaid.clear();
        }
        let layers = prepare_layers(&folder.0, &overlaid)?;
        let pairs = layers.iter().map(|layer| (layer.lower.clone(), layer.upper.clone())).collect();
        let git = GitOverlays::over(pairs, &folder.0).map_err(|error| no_folder(&folder.0, error))?;
        let guard = Guard::new(&existing.protected, &git).with_mounts(&paths.protected);
        let (git, refused) = (Mutex::new(Some(git)), Mutex::default());
        Ok((Self { git, guard, quarantine, origin, files: Arc::clone(files), refused, folder }, layers))
    }

    /// Looks for protected names while the command runs. Blocks.
    pub(crate) fn watch(&self) {
        let (found, _) = self.guard.check(&self.files, &self.quarantine, &self.origin);
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
    }

    /// Applies what may be applied of repositories, and takes protected names back. For a run that has ended. Blocks.
    pub(crate) fn settle(&self, writable: &[PathBuf]) -> (GitReport, Vec<RefusedChange>, bool) {
        let git = self.git.lock().unwrap_or_else(PoisonError::into_inner).take();
        let report = git.map(|git| git.settle(writable, &self.quarantine, &self.origin)).unwrap_or_default();
        let (found, is_complete) = self.guard.check(&self.files, &self.quarantine, &self.origin);
        let mut refused = std::mem::take(&mut *self.refused.lock().unwrap_or_else(PoisonError::into_inner));
        refused.extend(found);
        (report, refused, is_complete)
    }

    /// Drops the changes of repositories. For dry runs. Whether there were any.
    pub(crate) fn discard_git(&self) -> bool {
        let git = self.git.lock().unwrap_or_else(PoisonError::into_inner).take();
        git.is_some_and(|git| git.pairs().any(|(_, upper)| !is_empty(upper)))
    }
}

impl Drop for RunProtection {
    fn drop(&mut self) {
        // The open handles of the layers go before their folder.
        self.git.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = &self.folder;
    }
}

/// A folder name that no other run uses.
fn new_folder(parent: &Path) -> io::Result<PathBuf> {
    let mut random = [0; 10];
    SystemRandom::new().fill(&mut random).map_err(|_| io::Error::other("the machine has no random numbers"))?;
    Ok(parent.join("git").join(haft_text::hex::encode(random)))
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

fn prepare_layers(folder: &Path, overlaid: &[PathBuf]) -> Result<Vec<OverlayLayer>, ToolError> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| no_folder(folder, error))?;
    let prepare = |(number, lower): (usize, &PathBuf)| OverlayLayer::prepare(&folder.join(number.to_string()), lower);
    overlaid.iter().enumerate().map(prepare).collect::<Result<_, _>>().map_err(unavailable)
}

fn no_folder(folder: &Path, error: io::Error) -> ToolError {
    let what = format!("The command was not run: its repositories cannot be protected in '{}': {error}.", folder.display());
    ToolError::new(ErrorKind::SandboxUnavailable, what).with_source(error)
}
