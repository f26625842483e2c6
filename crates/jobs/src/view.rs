//! What a sandboxed command sees of the user's machine besides the roots: a private home folder with the toolchains and package
//! caches of the user, temporary folders of the session, and the Git identity.
//!
//! ```text
//! <data>/sandbox/<workspace>/home            its home, kept between runs
//!                           /caches/<name>   its additions to a package cache of the user
//!                           /tmp/<session>   /tmp and /var/tmp of a session
//!                           /gitconfig       name and address of the user
//!                           /gitignore       what the commands do not see
//! ```

mod cache_use;
mod git_identity;
mod toolchains;

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use haft_host::SandboxPaths;
use haft_sandbox::{Bind, OverlayLayer, SandboxView};
use ring::digest::{SHA256, digest};

pub(crate) use self::cache_use::may_add_packages;
use self::git_identity::HiddenFiles;
use self::toolchains::Toolchains;

/// Where the home is if its own path is part of a root.
const HOME: &str = "/run/haft/home";
const GIT_CONFIG: &str = "/run/haft/gitconfig";
const GIT_EXCLUDES: &str = "/run/haft/gitignore";
/// Keep programs from looking for their own updates, and from sending how they are used: the user would be asked for a host that the
/// command does not need.
const QUIET: [(&str, &str); 3] = [("npm_config_update_notifier", "false"), ("PIP_DISABLE_PIP_VERSION_CHECK", "1"), ("DO_NOT_TRACK", "1")];
/// Temporary folders of a session that was not used for this long are removed.
const KEPT: Duration = Duration::from_hours(14 * 24);
/// Longer names, and those with other characters, are replaced by their hash.
const LONGEST_SESSION: usize = 64;

/// Prepares the views of one workspace.
#[derive(Debug)]
pub(crate) struct Views {
    folder: PathBuf,
    user: OnceLock<UserView>,
    /// Sessions whose folders this process has created: looking again takes time in every run.
    sessions: Mutex<HashSet<String>>,
}

/// The part of the view that is the same for all runs.
#[derive(Debug)]
struct UserView {
    home: PathBuf,
    toolchains: Toolchains,
    git_config: Option<PathBuf>,
}

/// The view of one run.
#[derive(Debug, Default)]
pub(crate) struct RunView {
    pub(crate) view: SandboxView,
    /// The package caches of the user.
    pub(crate) layers: Vec<OverlayLayer>,
    /// Variables that fit the view.
    pub(crate) variables: Vec<(OsString, OsString)>,
}

impl Views {
    /// `folder` is that of all workspaces.
    pub(crate) fn new(folder: &Path, workspace: &Path) -> Self {
        let name = hash(workspace.as_os_str().as_encoded_bytes());
        Self { folder: folder.join(name.get(..16).unwrap_or(&name)), user: OnceLock::new(), sessions: Mutex::default() }
    }

    /// The view of a command of this session, which may add to the package caches or not. Creates the folders that are missing.
    pub(crate) fn for_run(&self, session: &str, paths: &SandboxPaths, adds_packages: bool) -> io::Result<RunView> {
        let user = self.user(paths);
        let home = Bind { source: self.folder.join("home"), at: user.home.clone() };
        make_private(&home.source)?;
        let mut read_only = user.toolchains.folders.clone();
        let mut variables = vec![("HOME".into(), home.at.clone().into_os_string())];
        variables.extend(user.toolchains.variables.iter().cloned());
        variables.extend(QUIET.map(|(name, value)| (name.into(), value.into())));
        if let Some(source) = &user.git_config {
            read_only.push(Bind { source: source.clone(), at: GIT_CONFIG.into() });
            variables.push(("GIT_CONFIG_SYSTEM".into(), GIT_CONFIG.into()));
            let worktrees: Vec<PathBuf> = paths.repositories.iter().filter_map(|git| git.parent().map(Path::to_owned)).collect();
            let hidden = HiddenFiles { hidden: &paths.masked, by_place: &paths.pinned, roots: &paths.writable, worktrees: &worktrees };
            let source = self.folder.join("gitignore");
            git_identity::replace(&source, &hidden.excludes())?;
            read_only.push(Bind { source, at: GIT_EXCLUDES.into() });
        }
        let mut layers = Vec::new();
        for (name, lower) in &user.toolchains.caches {
            let folder = self.folder.join("caches").join(name.replace('/', "-"));
            let layer = if adds_packages { OverlayLayer::cache } else { OverlayLayer::read_only_cache };
            // A cache that cannot be used is not worth an error.
            match layer(&folder, lower, &home.at.join(name)) {
                // The overlay would show the same, and costs a mount namespace.
                Ok(layer) if !adds_packages && layer.is_unchanged() => read_only.push(Bind { source: layer.lower, at: layer.target }),
                layer => layers.extend(layer),
            }
        }
        let tmp = Some(self.session_folder(session)?);
        Ok(RunView { view: SandboxView { home: Some(home), tmp, read_only }, layers, variables })
    }

    /// Removes the temporary folders of a session that has ended.
    pub(crate) fn remove_session(&self, session: &str) {
        remove_tree(&self.folder.join("tmp").join(session_name(session)));
    }

    fn user(&self, paths: &SandboxPaths) -> &UserView {
        self.user.get_or_init(|| {
            self.prune();
            let host = std::env::home_dir().and_then(|home| home.canonicalize().ok()).filter(|home| is_usable_home(home));
            let is_shown = |home: &PathBuf| paths.writable.iter().chain(&paths.read_only).any(|root| home.starts_with(root));
            let home = host.clone().filter(|home| !is_shown(home)).unwrap_or_else(|| HOME.into());
            let toolchains = Toolchains::find(host.as_deref(), &home, &self.folder, paths);
            let file = self.folder.join("gitconfig");
            // Those of the system are not the user's to write.
            let is_own = |root: &&PathBuf| root.parent().is_some() && !haft_sandbox::is_system_path(root);
            let roots: Vec<PathBuf> = paths.writable.iter().chain(&paths.read_only).filter(is_own).cloned().collect();
            let git_config = make_private(&self.folder).and_then(|()| git_identity::write(&file, GIT_EXCLUDES, &roots)).ok();
            UserView { home, toolchains, git_config: git_config.map(|()| file) }
        })
    }

    /// The folder with `/tmp` and `/var/tmp` of a session.
    fn session_folder(&self, session: &str) -> io::Result<PathBuf> {
        let folder = self.folder.join("tmp").join(session_name(session));
        let mut known = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(session) && folder.join("var").is_dir() {
            return Ok(folder);
        }
        make_private(&folder)?;
        for name in ["tmp", "var"] {
            let inside = folder.join(name);
            make_private(&inside)?;
            fs::set_permissions(&inside, Permissions::from_mode(0o1777))?;
        }
        // The time of its last use.
        File::open(&folder)?.set_modified(SystemTime::now())?;
        known.insert(session.to_owned());
        Ok(folder)
    }

    /// Removes what earlier processes left.
    fn prune(&self) {
        let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
        for session in entries(&self.folder.join("tmp")) {
            let used = session.metadata().and_then(|metadata| metadata.modified());
            if used.is_ok_and(|used| used.elapsed().is_ok_and(|age| age > KEPT)) {
                remove_tree(&session.path());
            }
        }
        for cache in entries(&self.folder.join("caches")) {
            entries(&cache.path()).filter(|entry| is_stale_work_folder(&entry.file_name())).for_each(|entry| remove_tree(&entry.path()));
        }
    }
}

/// `work-<pid>-<number>` of a process that has ended.
fn is_stale_work_folder(name: &std::ffi::OsStr) -> bool {
    let pid = name.to_str().and_then(|name| name.strip_prefix("work-")?.split('-').next()?.parse::<u32>().ok());
    pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
}

fn is_usable_home(home: &Path) -> bool {
    home.is_dir() && home.parent().is_some() && !haft_sandbox::is_system_path(home)
}

fn session_name(session: &str) -> String {
    let is_plain = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '-' | '_');
    if !session.is_empty() && session.len() <= LONGEST_SESSION && session.chars().all(is_plain) {
        return session.to_owned();
    }
    hash(session.as_bytes())
}

fn hash(bytes: &[u8]) -> String {
    haft_text::hex::encode(digest(&SHA256, bytes))
}

fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(folder)
}

/// Removes a tree, also one with folders that a command has made inaccessible. What cannot be removed stays.
fn remove_tree(folder: &Path) {
    if fs::remove_dir_all(folder).is_ok() {
        return;
    }
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).ok();
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        folders.extend(entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()));
    }
    fs::remove_dir_all(folder).ok();
}

#[cfg(test)]
mod tests;
