//! The mounts of a run, ordered by depth, so that deeper paths are mounted on top of those above them.
//!
//! The root is empty. On it are the folders of the system, the roots of the policy, and the private folders of the view: every
//! other path is absent.

mod arguments;
mod mount_point;
mod paths;
mod sockets;
pub(crate) mod system;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use haft_contract::FileIdentity;

use crate::error::SandboxError;
use crate::policy::{NetworkAccess, SandboxPolicy, SocketAccess};
use paths::{reach, real_source, resolve_above, writable};

pub use system::holds as is_system_path;

/// Folders shared with other processes of the host, or full of their sockets: the sandbox has its own.
const PRIVATE: &[(&str, &str)] = &[("/tmp", "1777"), ("/var/tmp", "1777"), ("/dev/shm", "1777"), ("/run", "0755")];
/// Those that a view can keep, by their names in its folder.
const TEMPORARY: [(&str, &str); 2] = [("tmp", "/tmp"), ("var", "/var/tmp")];
/// Bubblewrap accepts 9000 arguments; each path needs up to six.
const MOST_PATHS: usize = 1200;

/// How a path is mounted; of two kinds for one path the later in this list wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MountKind {
    /// Empty, in memory, with this mode.
    Memory(&'static str),
    ReadOnly,
    Writable,
    /// Mounted on itself, so that it cannot be renamed or removed: another mount lies beneath.
    Pinned,
    Protected,
    Hidden,
}

/// What the other mounts are mounted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RootFolder {
    /// An empty one, with the folders of the system and the view.
    Empty,
    /// That of a container image.
    Image,
}

/// All mounts of one run.
#[derive(Debug)]
pub(crate) struct MountPlan {
    /// By depth, path and kind, with the source on the host.
    mounts: BTreeMap<(usize, PathBuf, MountKind), PathBuf>,
    /// Writable roots: the configured path, and the real one.
    roots: Vec<(PathBuf, PathBuf)>,
    /// Further writable paths: the home, overlays.
    private: Vec<PathBuf>,
    /// What must be at the paths of mounts.
    identities: BTreeMap<PathBuf, FileIdentity>,
    root: RootFolder,
}

impl MountPlan {
    /// `programs` are run by the host: they are protected where they lie in a writable root.
    pub(crate) fn new(root: RootFolder, policy: &SandboxPolicy, programs: &[&Path]) -> Result<Self, SandboxError> {
        let identities = comparable_identities(root, policy);
        let mut plan = Self { mounts: BTreeMap::new(), roots: Vec::new(), private: Vec::new(), identities, root };
        if root == RootFolder::Empty {
            plan.add_system(policy);
            plan.add_view(policy);
        }
        plan.add_roots(policy)?;
        for layer in policy.layers.iter().filter(|_| root == RootFolder::Empty) {
            let kind = if layer.is_writable() { MountKind::Writable } else { MountKind::ReadOnly };
            let source = if layer.is_cache() { real_source(layer.mount_point(), policy) } else { layer.target.clone() };
            plan.add(layer.target.clone(), kind, source);
            plan.private.extend(layer.is_writable().then(|| layer.target.clone()));
        }
        plan.hide(policy)?;
        for path in programs.iter().filter_map(|path| path.canonicalize().ok()) {
            plan.pin_above(&path);
            plan.protect(&path)?;
        }
        let protected: Vec<&PathBuf> = match root {
            RootFolder::Empty => policy.protected.iter().collect(),
            RootFolder::Image => policy.protected_without_layers().collect(),
        };
        protected.into_iter().try_for_each(|path| plan.protect(path))?;
        let pinned: Vec<PathBuf> = policy.pinned.iter().filter_map(|path| plan.present(path)).collect();
        for path in &pinned {
            plan.pin_above(path);
        }
        plan.create_mount_points()?;
        plan.check_size()?;
        Ok(plan)
    }

    fn add_system(&mut self, policy: &SandboxPolicy) {
        let is_kept = |path: &str| policy.view.tmp.is_some() && TEMPORARY.iter().any(|(_, at)| *at == path);
        for (path, mode) in PRIVATE.iter().filter(|(path, _)| !is_kept(path)) {
            if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
                self.add(path.into(), MountKind::Memory(mode), PathBuf::new());
            }
        }
        for folder in &system::paths().folders {
            self.add(folder.clone(), MountKind::ReadOnly, folder.clone());
        }
        // Often a symlink into `/run`.
        let resolver = Path::new("/etc/resolv.conf").canonicalize().ok().filter(|_| policy.network == NetworkAccess::Host);
        if let Some(path) = resolver {
            self.add(path.clone(), MountKind::ReadOnly, path);
        }
    }

    fn add_view(&mut self, policy: &SandboxPolicy) {
        let view = &policy.view;
        if let Some(home) = &view.home {
            self.add(home.at.clone(), MountKind::Writable, real_source(&home.source, policy));
            self.private.push(home.at.clone());
        }
        for (name, at) in TEMPORARY {
            if let Some(folder) = &view.tmp {
                self.add(at.into(), MountKind::Writable, real_source(&folder.join(name), policy));
            }
        }
        for bind in view.read_only.iter().filter(|bind| bind.source.exists()) {
            self.add(bind.at.clone(), MountKind::ReadOnly, real_source(&bind.source, policy));
        }
    }

    fn add_roots(&mut self, policy: &SandboxPolicy) -> Result<(), SandboxError> {
        for path in &policy.writable {
            let real = writable(path)?;
            self.roots.push((path.clone(), real.clone()));
            self.add(real.clone(), MountKind::Writable, real);
        }
        for path in policy.read_only.iter().filter_map(|path| path.canonicalize().ok()) {
            if self.root == RootFolder::Image || !system::holds(&path) {
                self.add(path.clone(), MountKind::ReadOnly, path);
            }
        }
        Ok(())
    }

    fn hide(&mut self, policy: &SandboxPolicy) -> Result<(), SandboxError> {
        let system: &[PathBuf] = if self.root == RootFolder::Empty { &system::paths().private } else { &[] };
        let is_shown = |path: &Path| self.host_mount(path).is_some();
        let sockets = if policy.sockets == SocketAccess::Programs { sockets::find(is_shown)? } else { Vec::new() };
        let masked: Vec<PathBuf> = policy.masked.iter().filter_map(|path| self.present(path)).collect();
        let is_in_root = |path: &Path| policy.writable.iter().chain(&policy.read_only).any(|root| path.starts_with(root));
        if !self.identities.is_empty() {
            // What the search did not see itself, such as the target of a link.
            for path in masked.iter().filter(|path| is_in_root(path) && is_plain(path, policy) && !policy.identities.contains_key(*path)) {
                let identity = path.symlink_metadata().ok().map(|metadata| FileIdentity::from_metadata(&metadata));
                self.identities.extend(identity.map(|identity| (path.clone(), identity)));
            }
        }
        for path in masked.into_iter().chain(system.iter().cloned()).chain(sockets) {
            if self.host_mount(&path).is_some() {
                self.add(path.clone(), MountKind::Hidden, path);
            }
        }
        Ok(())
    }

    /// The real path, if something is there; also if something was there and is not any more.
    fn present(&self, path: &Path) -> Option<PathBuf> {
        if self.identities.contains_key(path) { Some(path.to_owned()) } else { path.canonicalize().ok() }
    }

    fn is_folder(&self, path: &Path) -> bool {
        self.identities.get(path).map_or_else(|| path.is_dir(), |identity| identity.is_folder)
    }

    /// For a program that cannot compare what it mounts on.
    pub(crate) fn without_identities(self) -> Self {
        Self { identities: BTreeMap::new(), ..self }
    }

    fn check_size(&self) -> Result<(), SandboxError> {
        let count = self.mounts.len();
        if count <= MOST_PATHS {
            return Ok(());
        }
        Err(SandboxError::policy(format!("it names {count} paths, more than the {MOST_PATHS} that are supported; name directories")))
    }

    fn add(&mut self, at: PathBuf, kind: MountKind, source: PathBuf) {
        self.mounts.insert((at.components().count(), at, kind), source);
    }

    /// Paths that the command may change, as they are mounted.
    pub(crate) fn writable(&self) -> Vec<PathBuf> {
        self.roots.iter().map(|(_, real)| real.clone()).chain(self.private.iter().cloned()).collect()
    }

    /// Shared host paths and all mounts within them, deeper paths later.
    pub(crate) fn shared(&self) -> impl Iterator<Item = (&Path, MountKind)> {
        let all = || self.mounts.keys().map(|(_, path, mount)| (path.as_path(), *mount));
        let is_shared = |mount| matches!(mount, MountKind::ReadOnly | MountKind::Writable);
        all().filter(move |(path, _)| all().any(|(root, mount)| is_shared(mount) && path.starts_with(root)))
    }

    /// Whether a path is in the view. (Whether it exists there is another question.)
    pub(crate) fn shows(&self, path: &Path) -> bool {
        self.mounts.keys().any(|(_, at, mount)| *mount != MountKind::Hidden && (path.starts_with(at) || at.starts_with(path)))
    }

    /// The deepest mount at or above a path that is not a pin.
    fn mount_of(&self, path: &Path) -> Option<(&Path, MountKind, &Path)> {
        let mut deepest_first = self.mounts.iter().rev();
        let found = deepest_first.find(|((_, at, mount), _)| *mount != MountKind::Pinned && path.starts_with(at));
        found.map(|((_, at, mount), source)| (at.as_path(), *mount, source.as_path()))
    }

    /// The mount that shows a path of the host at its own place.
    fn host_mount(&self, path: &Path) -> Option<(&Path, MountKind)> {
        let (at, mount, source) = self.mount_of(path)?;
        (at == source && mount != MountKind::Hidden).then_some((at, mount))
    }

    /// The writable root that a path lies in, if no deeper mount makes it read-only.
    fn writable_root(&self, path: &Path) -> Option<PathBuf> {
        self.host_mount(path).filter(|(_, mount)| *mount == MountKind::Writable).map(|(root, _)| root.to_owned())
    }

    /// Resolves symlinks on the way to a writable root; those inside it stay, to be refused.
    fn real(&self, path: &Path) -> PathBuf {
        let inside = self.roots.iter().find_map(|(configured, real)| Some(real.join(path.strip_prefix(configured).ok()?)));
        inside.unwrap_or_else(|| resolve_above(path))
    }

    fn protect(&mut self, path: &Path) -> Result<(), SandboxError> {
        let path = self.real(path);
        let Some(root) = self.writable_root(&path) else { return Ok(()) };
        if self.roots.iter().any(|(_, real)| *real == path) {
            return Err(SandboxError::policy(format!("{} is both writable and protected; name it once", path.display())));
        }
        let target = if self.identities.contains_key(&path) { Some(path) } else { reach(&root, &path)? };
        if let Some(target) = target {
            self.add(target.clone(), MountKind::Protected, target);
        }
        Ok(())
    }

    /// Pins the folders above a path, which a command could rename otherwise, and put others in their place.
    fn pin_above(&mut self, path: &Path) {
        let Some(root) = path.parent().and_then(|parent| self.writable_root(parent)) else { return };
        for above in path.ancestors().skip(1).take_while(|above| *above != root) {
            self.add(above.to_owned(), MountKind::Pinned, above.to_owned());
        }
    }

    /// Creates the mount points that lie in private folders, and pins the folders above them.
    fn create_mount_points(&mut self) -> Result<(), SandboxError> {
        let mut pins = Vec::new();
        for ((_, at, mount), source) in &self.mounts {
            let Some((parent, MountKind::Writable, private)) = at.parent().and_then(|above| self.mount_of(above)) else { continue };
            let Ok(inside) = at.strip_prefix(parent) else { continue };
            if parent == private || *mount == MountKind::Pinned {
                continue;
            }
            let is_folder = matches!(mount, MountKind::Memory(_)) || source.is_dir();
            let above = mount_point::create(private, inside, is_folder);
            let above = above.map_err(|error| SandboxError::io("create a mount point in", private, error))?;
            let pin = |folder: PathBuf| Some((parent.join(folder.strip_prefix(private).ok()?), folder));
            pins.extend(above.into_iter().filter_map(pin));
        }
        for (at, folder) in pins {
            self.add(at, MountKind::Pinned, folder);
        }
        Ok(())
    }
}

/// What was found at paths that are mounted as they are.
fn comparable_identities(root: RootFolder, policy: &SandboxPolicy) -> BTreeMap<PathBuf, FileIdentity> {
    if root == RootFolder::Image {
        return BTreeMap::new();
    }
    policy.identities.iter().filter(|(path, _)| is_plain(path, policy)).map(|(path, identity)| (path.clone(), *identity)).collect()
}

/// Whether no overlay shows a path: there files and folders have other numbers. What the overlay is made of is compared instead.
fn is_plain(path: &Path, policy: &SandboxPolicy) -> bool {
    policy.overlay.is_none() && policy.layers.iter().all(|layer| !path.starts_with(&layer.target))
}
