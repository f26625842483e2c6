//! Guards on what a run changes directly: repositories are overlays whose changes are checked and applied, and protected names are
//! looked for while it runs and afterwards.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use haft_contract::{ErrorKind, GitReport, RefusedChange, ToolError};
use haft_host::{LocalFiles, SandboxPaths};
use haft_sandbox::{OverlayLayer, RemovalServer, RunActivity};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::changes::{StagedRepository, remove_folder};
use crate::git::{GitOverlays, NewRepository, RemovedRepository, find_git_folders, sanitize_new};
use crate::guarded_paths::GuardedPaths;
use crate::moved_workspace::{MovedPath, note_identities};
use crate::quarantine::{FolderCache, Guard, Origin, Quarantine, WalkExtent, find_existing};
use crate::sandboxer::{ShellOptions, too_large, unavailable};

const TOO_MANY_FOLDERS: &str = "the workspace has too many folders to look through all of them for what Git and other programs trust";

/// The guards of one run.
#[derive(Debug)]
pub(crate) struct RunProtection {
    git: Arc<Mutex<Option<GitOverlays>>>,
    /// Repositories that the command removed.
    removed: Arc<Mutex<Vec<RemovedRepository>>>,
    removals: Option<RemovalServer>,
    guard: Guard,
    quarantine: Quarantine,
    origin: Origin,
    files: Arc<LocalFiles>,
    guarded: Option<GuardedPaths>,
    /// What was refused while it ran.
    refused: Mutex<Vec<RefusedChange>>,
    folder: Mutex<Option<RunFolder>>,
    /// The removal of its folder, if it was begun.
    removal: Mutex<Option<JoinHandle<()>>>,
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
        is_staged: bool,
        options: &ShellOptions,
        folders: &Arc<FolderCache>,
        origin: Origin,
    ) -> Result<(Self, Vec<OverlayLayer>), ToolError> {
        let folder = RunFolder(new_folder(&options.view_folder).map_err(|error| no_folder(&options.view_folder, error))?);
        let quarantine = Quarantine::new(&options.quarantine).with_retention(options.quarantine_retention);
        let existing = find_existing(files, folders, quarantine.data_folder());
        if options.required && !existing.is_complete {
            return Err(too_large(&[TOO_MANY_FOLDERS.to_owned()]));
        }
        let writable = paths.writable.clone();
        let found = find_git_folders(&existing.git, &writable);
        // The pointer of a linked worktree is checked afterwards instead of mounted, so that Git can remove the worktree.
        let is_mounted =
            |pointer: &PathBuf| git == GitAccess::ReadOnly || files.writable().iter().any(|root| pointer.parent() == Some(root));
        paths.protected.retain(|path| path.file_name().is_none_or(|name| name != ".git"));
        paths.protected.extend(found.protected.into_iter().filter(is_mounted));
        let mut overlaid = found.overlaid;
        // Also the shared folder of a linked worktree, which lies elsewhere.
        overlaid.extend(paths.repositories.iter().filter(|git| paths.identities.contains_key(*git) || git.is_dir()).cloned());
        overlaid.sort_unstable();
        overlaid.dedup_by(|deeper, above| deeper.starts_with(&*above));
        paths.repositories.clone_from(&overlaid);
        let read_only = if git == GitAccess::ReadOnly { std::mem::take(&mut overlaid) } else { Vec::new() };
        // Those of nested repositories: the session's own are mounted already.
        let is_beneath = |path: &PathBuf| writable.iter().any(|root| path.starts_with(root)) && !path.is_symlink() && path.exists();
        let nested: Vec<PathBuf> =
            existing.run_by_git.iter().filter(|path| is_beneath(path) && !paths.protected.contains(path)).cloned().collect();
        paths.protected.extend(nested);
        let guarded = if is_staged { None } else { GuardedPaths::find(files, &options.changes.guarded, quarantine.data_folder())? };
        if let Some(guarded) = &guarded {
            let known = guarded.existing().filter_map(|path| Some((path.clone(), guarded.identity(path)?)));
            paths.identities.extend(known);
            paths.moving.extend_from_slice(guarded.moving());
            paths.protected.extend(guarded.existing().cloned());
        }
        let found: Vec<PathBuf> = paths.protected.iter().chain(&overlaid).chain(&read_only).cloned().collect();
        note_identities(paths, found.iter())?;
        let layers = prepare_layers(&folder.0, &overlaid).map_err(|error| moved_away(&overlaid, error))?;
        let pairs = layers.iter().map(|layer| (layer.lower.clone(), layer.upper.clone())).collect();
        let git = GitOverlays::over(pairs, &folder.0, &writable, &paths.masked).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                moved_away(&overlaid, no_folder(&folder.0, error))
            } else {
                no_folder(&folder.0, error)
            }
        })?;
        if let Some(moved) = git.find_moved(&paths.identities) {
            return Err(MovedPath(moved).into());
        }
        // Some are secrets as well: those are not there for the command, which is a mount too.
        let hidden = paths.masked.iter().filter(|path| existing.protected.contains(path));
        let mounted: Vec<PathBuf> = paths.protected.iter().chain(hidden).cloned().collect();
        let guard = Guard::new(&existing.protected, &git).with_mounts(&mounted).with_read_only(&read_only);
        let guard = guard.with_repositories(existing.git.iter().chain(&existing.bare));
        let guard = guard.with_folders(Arc::clone(folders)).with_run_by_git(existing.run_by_git);
        let guard = guard.with_unknown_parts(!existing.is_complete);
        let (git, removed) = (Arc::new(Mutex::new(Some(git))), Arc::default());
        let removals = if is_staged { None } else { serve_removals(&git, &removed, &writable, &quarantine, &origin, &options.folder) };
        let (files, refused, folder, removal) = (Arc::clone(files), Mutex::default(), Mutex::new(Some(folder)), Mutex::default());
        Ok((Self { git, removed, removals, guard, quarantine, origin, files, guarded, refused, folder, removal }, layers))
    }

    /// The socket at which removals of repositories are asked for; `None` if there are none that can be removed.
    pub(crate) fn removals(&self) -> Option<&Path> {
        self.removals.as_ref().map(RemovalServer::socket)
    }

    /// Whether it matters what the command does from moment to moment: protected files are mounts that detach.
    pub(crate) fn watches_files(&self) -> bool {
        self.guard.watches_files()
    }

    /// Notes what the user does with protected files. Blocks.
    pub(crate) fn accept_changes(&self, activity: impl FnOnce() -> Option<RunActivity>) {
        self.guard.accept_changes(activity);
    }

    /// Looks for protected names while the command runs, after a look at the changes of the user. Blocks.
    pub(crate) fn watch(&self) {
        let (found, _) = self.check(WalkExtent::Running);
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
    }

    /// Applies what may be applied of repositories, and takes protected names back. For a run that has ended. Blocks.
    pub(crate) fn settle(&self, writable: &[PathBuf]) -> (GitReport, Vec<RefusedChange>, bool) {
        let git = self.git.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut report = git.map(|git| git.settle(writable, &self.quarantine, &self.origin)).unwrap_or_default();
        self.begin_removal();
        report.refused.extend(self.removed.lock().unwrap_or_else(PoisonError::into_inner).iter().map(removal));
        // Whatever came last may be the command's.
        self.guard.accept_changes(|| None);
        let (found, is_complete) = self.check(WalkExtent::Ended);
        let mut refused = std::mem::take(&mut *self.refused.lock().unwrap_or_else(PoisonError::into_inner));
        refused.extend(found);
        (report, refused, is_complete)
    }

    /// Removes its folder meanwhile: that takes as long as the rest, which needs nothing of it.
    fn begin_removal(&self) {
        let folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner).take();
        let begun = folder.zip(Handle::try_current().ok()).map(|(folder, runtime)| runtime.spawn_blocking(move || drop(folder)));
        *self.removal.lock().unwrap_or_else(PoisonError::into_inner) = begun;
    }

    /// The removal of its folder, to be waited for.
    pub(crate) fn take_removal(&self) -> Option<JoinHandle<()>> {
        self.removal.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Takes everything out of staged repositories that Git runs or trusts, for a run that has ended. Blocks.
    pub(crate) fn clean_staged(&self, repositories: &[StagedRepository], writable: &[PathBuf]) {
        let (quarantine, origin) = (&self.quarantine, &self.origin);
        for StagedRepository { staged, path } in repositories {
            let new = NewRepository {
                writable,
                overlaid: &[],
                since: SystemTime::UNIX_EPOCH,
                old_config: None,
                kept: &[],
                staged: Some((staged, path)),
                is_running: false,
                quarantine,
                origin,
            };
            self.refused.lock().unwrap_or_else(PoisonError::into_inner).extend(sanitize_new(staged, &new));
        }
    }

    fn check(&self, extent: WalkExtent) -> (Vec<RefusedChange>, bool) {
        let (mut refused, is_complete) = self.guard.check(&self.files, &self.quarantine, &self.origin, extent);
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
        self.folder.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Answers the removals of repositories below the roots; `None` if there are none, or if it cannot be done: then a removal fails.
fn serve_removals(
    git: &Arc<Mutex<Option<GitOverlays>>>,
    removed: &Arc<Mutex<Vec<RemovedRepository>>>,
    roots: &[PathBuf],
    quarantine: &Quarantine,
    origin: &Origin,
    folder: &Path,
) -> Option<RemovalServer> {
    let overlays = git.lock().unwrap_or_else(PoisonError::into_inner);
    let is_below = |path: &Path| roots.iter().all(|root| path.parent() != Some(root));
    if !overlays.iter().flat_map(GitOverlays::pairs).any(|(path, _)| is_below(path)) {
        return None;
    }
    let (git, removed, roots) = (Arc::clone(git), Arc::clone(removed), roots.to_vec());
    let (quarantine, origin) = (quarantine.clone(), origin.clone());
    let remove = move |path: &Path| {
        // Held until it is done: settling waits for it.
        let mut git = git.lock().unwrap_or_else(PoisonError::into_inner);
        let repository = git.as_mut().and_then(|git| git.remove(path, &roots, &quarantine, &origin));
        let is_removed = repository.is_some();
        removed.lock().unwrap_or_else(PoisonError::into_inner).extend(repository);
        is_removed
    };
    std::fs::create_dir_all(folder).ok()?;
    let socket = folder.join(format!("{}-{}.rm", std::process::id(), random_name().ok()?));
    RemovalServer::start(&socket, remove).ok()
}

/// What is said of a repository that the command removed.
fn removal(repository: &RemovedRepository) -> RefusedChange {
    let RemovedRepository { path, quarantined, .. } = repository;
    let why = "the command removed this repository, and undo restores its files without the history".to_owned();
    RefusedChange { path: path.clone(), why, quarantined: Some(quarantined.clone()) }
}

/// A folder name that no other run uses.
fn new_folder(parent: &Path) -> io::Result<PathBuf> {
    Ok(parent.join("git").join(random_name()?))
}

fn random_name() -> io::Result<String> {
    let mut random = [0; 10];
    SystemRandom::new().fill(&mut random).map_err(|_| io::Error::other("the machine has no random numbers"))?;
    Ok(haft_text::hex::encode(random))
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

fn prepare_layers(folder: &Path, overlaid: &[PathBuf]) -> Result<Vec<OverlayLayer>, ToolError> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| no_folder(folder, error))?;
    let prepare =
        |(number, lower): (usize, &PathBuf)| OverlayLayer::prepare(&folder.join(number.to_string()), lower).map(OverlayLayer::without_sync);
    overlaid.iter().enumerate().map(prepare).collect::<Result<_, _>>().map_err(unavailable)
}

/// The error of a repository that was found, and may have come back since it was missing.
fn moved_away(found: &[PathBuf], error: ToolError) -> ToolError {
    match found.first() {
        Some(path) => error.with_source(MovedPath(path.clone())),
        None => error,
    }
}

fn no_folder(folder: &Path, error: io::Error) -> ToolError {
    let what = format!("The command was not run: its repositories cannot be protected in '{}': {error}.", folder.display());
    ToolError::new(ErrorKind::SandboxUnavailable, what).with_source(error)
}
