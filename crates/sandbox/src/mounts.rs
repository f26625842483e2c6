//! Which paths are mounted how. Ordered by depth, so that what lies deeper is mounted upon what lies above it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use crate::error::SandboxError;
use crate::overlay::Overlay;
use crate::placeholder::Placeholder;
use crate::policy::{Network, Policy};

/// Shared with other processes of the host, or full of their sockets: the sandbox has its own.
const PRIVATE: &[(&str, &str)] = &[("/tmp", "1777"), ("/var/tmp", "1777"), ("/dev/shm", "1777"), ("/run", "0755")];
/// Root owns these and needs no capability to write there. What else it owns, bubblewrap covers by itself.
const KERNEL: &str = "/proc/sys";
/// Keys of the whole machine, whatever the namespace.
const KEYS: &str = "/proc/keys";
/// Nobody's workspace: writable, these would be the machine itself.
const NEVER_WRITABLE: &[&str] = &["/", "/proc", "/sys", "/dev", "/boot", "/etc", "/usr", "/run"];
/// bubblewrap takes 9000 arguments; each path needs up to six.
const MOST_PATHS: usize = 1200;

/// How a path is mounted; of two for one path the later counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mount {
    Private(&'static str),
    ReadOnly,
    Writable,
    /// Mounted upon itself, and so neither renamed nor removed: a protected path lies beneath.
    Pinned,
    Protected,
    Hidden,
}

/// All mounts of one run.
#[derive(Debug)]
pub(crate) struct Plan {
    mounts: BTreeSet<(usize, PathBuf, Mount)>,
    /// The writable roots as they were named, and as they really are.
    roots: Vec<(PathBuf, PathBuf)>,
    placeholders: Vec<Placeholder>,
}

impl Plan {
    /// `ours` are programs that the host runs: where they lie in something writable, they are protected.
    pub(crate) fn new(policy: &Policy, ours: &[&Path]) -> Result<Self, SandboxError> {
        let mut plan = Self { mounts: BTreeSet::new(), roots: Vec::new(), placeholders: Vec::new() };
        for (path, mode) in PRIVATE {
            if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
                plan.add(path.into(), Mount::Private(mode));
            }
        }
        for path in &policy.writable {
            let real = writable(path)?;
            plan.roots.push((path.clone(), real.clone()));
            plan.add(real, Mount::Writable);
        }
        // Where names are looked up, which is often a link into `/run`.
        let resolver = (policy.network == Network::Host).then(|| PathBuf::from("/etc/resolv.conf"));
        for path in policy.read_only.iter().chain(&resolver).filter_map(|path| path.canonicalize().ok()) {
            plan.add(path, Mount::ReadOnly);
        }
        // What another run holds a place with is no secret, and goes when that run does: then there is nothing to mount upon.
        let is_there = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|metadata| !Placeholder::is_one(&metadata));
        for path in policy.masked.iter().filter_map(|path| path.canonicalize().ok()).filter(is_there) {
            plan.add(path, Mount::Hidden);
        }
        for path in ours.iter().filter_map(|path| path.canonicalize().ok()).chain(policy.protected.iter().cloned()) {
            plan.protect(&path, policy.overlay.as_ref())?;
        }
        if plan.mounts.len() > MOST_PATHS {
            return Err(SandboxError::policy(format!(
                "it names {} paths, and {MOST_PATHS} is the most; name directories",
                plan.mounts.len()
            )));
        }
        Ok(plan)
    }

    fn add(&mut self, path: PathBuf, mount: Mount) {
        self.mounts.insert((path.components().count(), path, mount));
    }

    /// The writable roots, as they are mounted.
    pub(crate) fn writable(&self) -> Vec<PathBuf> {
        self.roots.iter().map(|(_, real)| real.clone()).collect()
    }

    /// What of the host is shared, and all that lies within, with how it is mounted; what lies deeper comes later.
    pub(crate) fn shared(&self) -> impl Iterator<Item = (&Path, Mount)> {
        let all = || self.mounts.iter().map(|(_, path, mount)| (path.as_path(), *mount));
        let is_shared = |mount| matches!(mount, Mount::ReadOnly | Mount::Writable);
        all().filter(move |(path, _)| all().any(|(root, mount)| is_shared(mount) && path.starts_with(root)))
    }

    pub(crate) fn take_placeholders(&mut self) -> Vec<Placeholder> {
        std::mem::take(&mut self.placeholders)
    }

    /// The writable root that a path lies in, if nothing on the way there takes that away again.
    fn governed(&self, path: &Path) -> Option<&Path> {
        let deepest = self.mounts.iter().rev().find(|(_, root, mount)| *mount != Mount::Pinned && path.starts_with(root));
        deepest.filter(|(_, _, mount)| *mount == Mount::Writable).map(|(_, root, _)| root.as_path())
    }

    /// Links inside a writable root stay as they are, to be refused; those on the way to it are resolved.
    fn real(&self, path: &Path) -> PathBuf {
        let inside = self.roots.iter().find_map(|(named, real)| Some(real.join(path.strip_prefix(named).ok()?)));
        inside.unwrap_or_else(|| resolve_above(path))
    }

    fn protect(&mut self, path: &Path, overlay: Option<&Overlay>) -> Result<(), SandboxError> {
        let path = self.real(path);
        let Some(root) = self.governed(&path).map(Path::to_path_buf) else { return Ok(()) };
        if path == root {
            return Err(SandboxError::policy(format!("{} is both writable and protected; name it once", path.display())));
        }
        let target = reach(&root, &path)?;
        for above in target.ancestors().skip(1).take_while(|above| *above != root) {
            self.add(above.to_path_buf(), Mount::Pinned);
        }
        match fs::symlink_metadata(&target) {
            Ok(metadata) if Placeholder::is_one(&metadata) => self.hold(&target, overlay),
            Ok(_) => {
                self.add(target, Mount::Protected);
                Ok(())
            }
            Err(_) => self.hold(&target, overlay),
        }
    }

    /// Something must be there to mount upon. Where we may not make it, the command may not either.
    fn hold(&mut self, target: &Path, overlay: Option<&Overlay>) -> Result<(), SandboxError> {
        let above = overlay.map_or(Ok(false), |overlay| overlay.hold(target));
        if above.map_err(|error| SandboxError::io("protect", target, error))? {
            self.add(target.to_path_buf(), Mount::Protected);
            return Ok(());
        }
        match Placeholder::hold(target) {
            Ok(placeholder) => {
                self.placeholders.push(placeholder);
                self.add(target.to_path_buf(), Mount::Protected);
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => Ok(()),
            Err(error) => Err(SandboxError::io("protect", target, error)),
        }
    }

    /// The arguments that mount it all.
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

fn mount_arguments(path: &Path, mount: Mount, size: u64) -> Vec<OsString> {
    let bind = |kind: &str| vec![kind.into(), path.into(), path.into()];
    match mount {
        Mount::Private(mode) => {
            vec!["--perms".into(), mode.into(), "--size".into(), size.to_string().into(), "--tmpfs".into(), path.into()]
        }
        Mount::ReadOnly | Mount::Protected => bind("--ro-bind"),
        Mount::Writable | Mount::Pinned => bind("--bind"),
        Mount::Hidden if path.is_dir() => {
            vec!["--perms".into(), "0000".into(), "--tmpfs".into(), path.into(), "--remount-ro".into(), path.into()]
        }
        // A device on a mount that knows no devices: it cannot even be opened.
        Mount::Hidden => vec!["--ro-bind".into(), "/dev/null".into(), path.into()],
    }
}

fn writable(path: &Path) -> Result<PathBuf, SandboxError> {
    let real = path.canonicalize().map_err(|error| SandboxError::io("make writable", path, error))?;
    if NEVER_WRITABLE.iter().any(|never| real == Path::new(never)) {
        return Err(SandboxError::policy(format!("{} must not be writable; name the directory that is worked in", real.display())));
    }
    Ok(real)
}

/// The path with the links above it resolved, as far as there is something; what is missing stays as it is.
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

/// The path, or the first on the way to it that is missing or a file. A link could be replaced by anything, so there may be none.
fn reach(root: &Path, path: &Path) -> Result<PathBuf, SandboxError> {
    let mut reached = root.to_path_buf();
    for component in path.strip_prefix(root).into_iter().flat_map(Path::components) {
        if !matches!(component, Component::Normal(_)) {
            return Err(SandboxError::policy(format!("the protected path {} is not a plain one", path.display())));
        }
        reached.push(component);
        match fs::symlink_metadata(&reached) {
            Ok(metadata) if metadata.is_symlink() => {
                let what =
                    format!("{} is protected and a link, which cannot be held; put what it points to in its place", reached.display());
                return Err(SandboxError::policy(what));
            }
            Ok(metadata) if metadata.is_dir() && !Placeholder::is_one(&metadata) => {}
            // What is missing, or a file where a directory would be: `.git` of a worktree is one.
            _ => break,
        }
    }
    Ok(reached)
}
