//! The mounts of a run, ordered by depth, so that deeper paths are mounted on top of those above them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use crate::error::SandboxError;
use crate::overlay::Overlay;
use crate::placeholder::Placeholder;
use crate::policy::{NetworkAccess, SandboxPolicy};

/// Folders shared with other processes of the host, or full of their sockets: the sandbox has its own.
const PRIVATE: &[(&str, &str)] = &[("/tmp", "1777"), ("/var/tmp", "1777"), ("/dev/shm", "1777"), ("/run", "0755")];
/// Root can write here without any capability. Bubblewrap covers the other such paths itself.
const KERNEL: &str = "/proc/sys";
/// Keys of the whole machine, in every namespace.
const KEYS: &str = "/proc/keys";
/// System paths, never a workspace.
const NEVER_WRITABLE: &[&str] = &["/", "/proc", "/sys", "/dev", "/boot", "/etc", "/usr", "/run"];
/// Bubblewrap accepts 9000 arguments; each path needs up to six.
const MOST_PATHS: usize = 1200;

/// How a path is mounted; of two kinds for one path the later in this list wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MountKind {
    Private(&'static str),
    ReadOnly,
    Writable,
    /// Mounted on itself, so that it cannot be renamed or removed: a protected path lies beneath.
    Pinned,
    Protected,
    Hidden,
}

/// All mounts of one run.
#[derive(Debug)]
pub(crate) struct MountPlan {
    mounts: BTreeSet<(usize, PathBuf, MountKind)>,
    /// Writable roots: the configured path, and the real one.
    roots: Vec<(PathBuf, PathBuf)>,
    placeholders: Vec<Placeholder>,
}

impl MountPlan {
    /// `programs` are run by the host: they are protected where they lie in a writable root.
    pub(crate) fn new(policy: &SandboxPolicy, programs: &[&Path]) -> Result<Self, SandboxError> {
        let mut plan = Self { mounts: BTreeSet::new(), roots: Vec::new(), placeholders: Vec::new() };
        for (path, mode) in PRIVATE {
            if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
                plan.add(path.into(), MountKind::Private(mode));
            }
        }
        for path in &policy.writable {
            let real = writable(path)?;
            plan.roots.push((path.clone(), real.clone()));
            plan.add(real, MountKind::Writable);
        }
        // Often a symlink into `/run`.
        let resolver = (policy.network == NetworkAccess::Host).then(|| PathBuf::from("/etc/resolv.conf"));
        for path in policy.read_only.iter().chain(&resolver).filter_map(|path| path.canonicalize().ok()) {
            plan.add(path, MountKind::ReadOnly);
        }
        // A placeholder of another run is no secret, and disappears with that run: then there is nothing to mount on.
        let is_there = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|metadata| !Placeholder::is_one(&metadata));
        for path in policy.masked.iter().filter_map(|path| path.canonicalize().ok()).filter(is_there) {
            plan.add(path, MountKind::Hidden);
        }
        for path in programs.iter().filter_map(|path| path.canonicalize().ok()).chain(policy.protected.iter().cloned()) {
            plan.protect(&path, policy.overlay.as_ref())?;
        }
        if plan.mounts.len() > MOST_PATHS {
            return Err(SandboxError::policy(format!(
                "it names {} paths, more than the {MOST_PATHS} that are supported; name directories",
                plan.mounts.len()
            )));
        }
        Ok(plan)
    }

    fn add(&mut self, path: PathBuf, mount: MountKind) {
        self.mounts.insert((path.components().count(), path, mount));
    }

    /// The writable roots, as they are mounted.
    pub(crate) fn writable(&self) -> Vec<PathBuf> {
        self.roots.iter().map(|(_, real)| real.clone()).collect()
    }

    /// Shared host paths and all mounts within them, deeper paths later.
    pub(crate) fn shared(&self) -> impl Iterator<Item = (&Path, MountKind)> {
        let all = || self.mounts.iter().map(|(_, path, mount)| (path.as_path(), *mount));
        let is_shared = |mount| matches!(mount, MountKind::ReadOnly | MountKind::Writable);
        all().filter(move |(path, _)| all().any(|(root, mount)| is_shared(mount) && path.starts_with(root)))
    }

    pub(crate) fn take_placeholders(&mut self) -> Vec<Placeholder> {
        std::mem::take(&mut self.placeholders)
    }

    /// The writable root that a path lies in, if no deeper mount makes it read-only.
    fn writable_root(&self, path: &Path) -> Option<&Path> {
        let deepest = self.mounts.iter().rev().find(|(_, root, mount)| *mount != MountKind::Pinned && path.starts_with(root));
        deepest.filter(|(_, _, mount)| *mount == MountKind::Writable).map(|(_, root, _)| root.as_path())
    }

    /// Resolves symlinks on the way to a writable root; those inside it stay, to be refused.
    fn real(&self, path: &Path) -> PathBuf {
        let inside = self.roots.iter().find_map(|(configured, real)| Some(real.join(path.strip_prefix(configured).ok()?)));
        inside.unwrap_or_else(|| resolve_above(path))
    }

    fn protect(&mut self, path: &Path, overlay: Option<&Overlay>) -> Result<(), SandboxError> {
        let path = self.real(path);
        let Some(root) = self.writable_root(&path).map(Path::to_path_buf) else { return Ok(()) };
        if path == root {
            return Err(SandboxError::policy(format!("{} is both writable and protected; name it once", path.display())));
        }
        let target = reach(&root, &path)?;
        for above in target.ancestors().skip(1).take_while(|above| *above != root) {
            self.add(above.to_path_buf(), MountKind::Pinned);
        }
        match fs::symlink_metadata(&target) {
            Ok(metadata) if Placeholder::is_one(&metadata) => self.reserve(&target, overlay),
            Ok(_) => {
                self.add(target, MountKind::Protected);
                Ok(())
            }
            Err(_) => self.reserve(&target, overlay),
        }
    }

    /// Creates a mount point for a missing protected path. Where we may not create it, the command may not either.
    fn reserve(&mut self, target: &Path, overlay: Option<&Overlay>) -> Result<(), SandboxError> {
        let in_overlay = overlay.map_or(Ok(false), |overlay| overlay.reserve(target));
        if in_overlay.map_err(|error| SandboxError::io("protect", target, error))? {
            self.add(target.to_path_buf(), MountKind::Protected);
            return Ok(());
        }
        match Placeholder::create(target) {
            Ok(placeholder) => {
                self.placeholders.push(placeholder);
                self.add(target.to_path_buf(), MountKind::Protected);
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => Ok(()),
            Err(error) => Err(SandboxError::io("protect", target, error)),
        }
    }

    /// Arguments of bubblewrap for all mounts.
    pub(crate) fn arguments(&self, size: u64) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"].map(Into::into).into();
        if rustix::process::geteuid().is_root() {
            arguments.extend(["--ro-bind", KERNEL, KERNEL].map(Into::into));
        }
        if Path::new(KEYS).exists() {
            arguments.extend(["--ro-bind", "/dev/null", KEYS].map(Into::into));
        }
        for (_, path, mount) in &self.mounts {
            arguments.extend(mount_arguments(path, *mount, size));
        }
        arguments
    }
}

fn mount_arguments(path: &Path, mount: MountKind, size: u64) -> Vec<OsString> {
    let bind = |kind: &str| vec![kind.into(), path.into(), path.into()];
    match mount {
        MountKind::Private(mode) => {
            vec!["--perms".into(), mode.into(), "--size".into(), size.to_string().into(), "--tmpfs".into(), path.into()]
        }
        MountKind::ReadOnly | MountKind::Protected => bind("--ro-bind"),
        MountKind::Writable | MountKind::Pinned => bind("--bind"),
        MountKind::Hidden if path.is_dir() => {
            vec!["--perms".into(), "0000".into(), "--tmpfs".into(), path.into(), "--remount-ro".into(), path.into()]
        }
        // A device file on a mount without devices cannot even be opened.
        MountKind::Hidden => vec!["--ro-bind".into(), "/dev/null".into(), path.into()],
    }
}

fn writable(path: &Path) -> Result<PathBuf, SandboxError> {
    let real = path.canonicalize().map_err(|error| SandboxError::io("make writable", path, error))?;
    if NEVER_WRITABLE.iter().any(|never| real == Path::new(never)) {
        return Err(SandboxError::policy(format!("{} must not be writable; name the workspace", real.display())));
    }
    Ok(real)
}

/// The path with the symlinks above it resolved, as far as it exists.
fn resolve_above(path: &Path) -> PathBuf {
    let parent_of = |path: &Path| path.parent().map(Path::to_path_buf);
    let mut above = parent_of(path);
    while let Some(folder) = above {
        if let Ok(real) = folder.canonicalize() {
            return path.strip_prefix(&folder).map_or_else(|_| path.to_path_buf(), |rest| real.join(rest));
        }
        above = parent_of(&folder);
    }
    path.to_path_buf()
}

/// The path, or the first component of it that is missing or a file. Symlinks are refused: they could be replaced.
fn reach(root: &Path, path: &Path) -> Result<PathBuf, SandboxError> {
    let mut reached = root.to_path_buf();
    for component in path.strip_prefix(root).into_iter().flat_map(Path::components) {
        if !matches!(component, Component::Normal(_)) {
            return Err(SandboxError::policy(format!("the protected path {} contains '.' or '..'", path.display())));
        }
        reached.push(component);
        match fs::symlink_metadata(&reached) {
            Ok(metadata) if metadata.is_symlink() => {
                let what = format!("{} is protected and a symlink, which cannot be enforced; name its target", reached.display());
                return Err(SandboxError::policy(what));
            }
            Ok(metadata) if metadata.is_dir() && !Placeholder::is_one(&metadata) => {}
            // Missing, or a file in place of a directory, such as `.git` of a worktree.
            _ => break,
        }
    }
    Ok(reached)
}
