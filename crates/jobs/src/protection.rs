//! Guards on what a run changes directly: repositories are overlays whose changes are checked and applied, and protected names are
//! looked for while it runs and afterwards.

use std::collections::BTreeSet;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{ErrorKind, GitReport, RefusedChange, ToolError};
use haft_host::{LocalFiles, SandboxPaths, ScanCache, WorkspaceOptions};
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
    guarded: Option<GuardedPaths>,
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

/// Paths that rules on changes name, for a run whose changes are not staged.
#[derive(Debug)]
struct GuardedPaths {
    files: LocalFiles,
    /// Those that were there: they are read-only for the command.
    existing: BTreeSet<PathBuf>,
}

impl GuardedPaths {
    fn find(files: &LocalFiles, patterns: &[String]) -> Result<Option<Self>, ToolError> {
        if patterns.is_empty() {
            return Ok(None);
        }
        let mut writable = files.writable();
        let root = writable.remove(0);
        let options =
            WorkspaceOptions { deny_read: patterns.to_vec(), allow_secrets: true, writable_roots: writable, ..WorkspaceOptions::new(root) };
        let files = LocalFiles::open(options)?;
        let existing = matching(&files);
        Ok(Some(Self { files, existing }))
    }

    fn find_new(&self) -> Vec<PathBuf> {
        matching(&self.files).into_iter().filter(|path| !self.existing.contains(path)).collect()
    }
}

fn matching(files: &LocalFiles) -> BTreeSet<PathBuf> {
    files.sandbox_paths(&ScanCache::default()).masked.into_iter().collect()
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
        is_staged: bool,
        options: &ShellOptions,
        origin: Origin,
    ) -> Result<(Self, Vec<OverlayLayer>), ToolError> {
        let folder = RunFolder(new_folder(&options.view_folder).map_err(|error| no_folder(&options.view_folder, error))?);
        let quarantine = Quarantine::new(&options.quarantine);
        let existing = find_existing(files);
        let writable = paths.writable.clone();
        let found = find_git_folders(&existing.git, &writable);
        // The pointer of a linked worktree is checked afterwards instead of mounted, so that Git can remove the worktree.
        let is_mounted =
            |pointer: &PathBuf| git == GitAccess::ReadOnly || files.writable().iter().any(|root| pointer.parent() == Some(root));
        paths.protected.retain(|path| path.file_name().is_none_or(|name| name != ".git"));
        paths.protected.extend(found.protected.into_iter().filter(is_mounted));
        let mut overlaid = found.overlaid;
        // Also the shared folder of a linked worktree, which lies elsewhere.
        overlaid.extend(paths.repositories.iter().filter(|git| git.is_dir()).cloned());
        overlaid.sort_unstable();
        overlaid.dedup_by(|deeper, above| deeper.starts_with(&*above));
        paths.repositories.clone_from(&overlaid);
        let read_only = if git == GitAccess::ReadOnly { std::mem::take(&mut overlaid) } else { Vec::new() };
        let guarded = if is_staged { None } else { GuardedPaths::find(files, &options.changes.guarded)? };
        paths.protected.extend(guarded.iter().flat_map(|guarded| guarded.existing.iter().cloned()));
        let layers = prepare_layers(&folder.0, &overlaid)?;
        let pairs = layers.iter().map(|layer| (layer.lower.clone(), layer.upper.clone())).collect();
        let git = GitOverlays::over(pairs, &folder.0).map_err(|error| no_folder(&folder.0, error))?;
        let guard = Guard::new(&existing.protected, &git).with_mounts(&paths.protected).with_read_only(&read_only);
        let (git, refused) = (Mutex::new(Some(git)), Mutex::default());
        Ok((Self { git, guard, quarantine, origin, files: Arc::clone(files), guarded, refused, folder }, layers))
    }

    /// Looks for protected names while the command runs. Blocks.
    pub(crate) fn watch(&self) {
        let (found, _) = self.check();
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
    }

    /// Applies what may be applied of repositories, and takes protected names back. For a run that has ended. Blocks.
    pub(crate) fn settle(&self, writable: &[PathBuf]) -> (GitReport, Vec<RefusedChange>, bool) {
        let git = self.git.lock().unwrap_or_else(PoisonError::into_inner).take();
        let report = git.map(|git| git.settle(writable, &self.quarantine, &self.origin)).unwrap_or_default();
        let (found, is_complete) = self.check();
        let mut refused = std::mem::take(&mut *self.refused.lock().unwrap_or_else(PoisonError::into_inner));
        refused.extend(found);
        (report, refused, is_complete)
    }

    fn check(&self) -> (Vec<RefusedChange>, bool) {
        let (mut refused, is_complete) = self.guard.check(&self.files, &self.quarantine, &self.origin);
        for path in self.guarded.iter().flat_map(GuardedPaths::find_new) {
            let why = "a rule holds back changes of it".to_owned();
            let quarantined = self.quarantine.put(&path, &why, &self.origin).ok();
            refused.push(RefusedChange { path, why, quarantined });
        }
        (refused, is_complete)
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
