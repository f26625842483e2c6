//! The root of the sandbox: empty, and on it the mounts of the run. Every source is looked up in the old root, and every mount point
//! beneath the new one, and neither through a link: another command may put one into the workspace while this one is set up.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
};

use super::attributes::{self, MountScope};
use super::options::{Expectation, PlannedMount, ViewMount};
use crate::launcher::MOVED;
use crate::launcher::mount_target::{TargetIdentity, open_expected};
use crate::launcher::step::StepFailure;

/// Covered in this namespace alone, while the new root is made.
const BASE: &str = "/tmp";
/// The new root, until it is entered.
const NEW: &str = "/new";
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
const LINKS: [(&str, &str); 6] = [
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("fd", "/proc/self/fd"),
    ("core", "/proc/kcore"),
    ("ptmx", "pts/ptmx"),
];
/// Of the whole machine, and written by root alone. Root of this namespace may not.
const KERNEL: [&str; 4] = ["sys", "sysrq-trigger", "irq", "bus"];
const PLAIN: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV);
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o755);
const LINKLESS: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS);
/// They can be written to all the same. What a command of root must not change are the files themselves, which are those of the machine.
const DEVICE: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_RDONLY);

/// What is mounted, for a target that may not be there yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetKind {
    Folder,
    File,
}

/// Handles of the old root and of the new one, neither of which is `/` now.
pub(super) struct NewRoot {
    old: OwnedFd,
    new: OwnedFd,
    /// Mounts that hide folders, by the paths where those were: they become read-only at the end.
    hiding: HashMap<PathBuf, OwnedFd>,
}

impl NewRoot {
    /// An empty root, beside the old one.
    pub(super) fn create() -> Result<Self, StepFailure> {
        let made = || -> rustix::io::Result<Self> {
            rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
            let flags = MountFlags::NOSUID | MountFlags::NODEV;
            rustix::mount::mount("tmpfs", BASE, "tmpfs", flags, c"mode=0755")?;
            rustix::process::chdir(BASE)?;
            for name in ["old", "new"] {
                rustix::fs::mkdir(name, FOLDER_MODE)?;
            }
            rustix::mount::mount("tmpfs", "new", "tmpfs", flags, c"mode=0755")?;
            rustix::process::pivot_root(".", "old")?;
            rustix::process::chdir("/")?;
            Ok(Self { old: open_folder("/old")?, new: open_folder(NEW)?, hiding: HashMap::new() })
        };
        made().map_err(|error| format!("cannot make an empty root: {error}").into())
    }

    pub(super) fn apply(&mut self, planned: &PlannedMount<'_>) -> Result<(), StepFailure> {
        let mount = &planned.mount;
        let source = match planned.expectation {
            Some(Expectation::Target(expected)) => return self.cover(mount, expected),
            Some(Expectation::Source(expected)) => Some(expected),
            None => None,
        };
        if mount.covered().is_some_and(|at| !self.hiding.contains_key(at) && self.is_missing(at)) {
            return Ok(());
        }
        let (at, applied) = match mount {
            ViewMount::Devices(at) => (at, self.devices(at)),
            ViewMount::Processes(at) => (at, self.processes(at)),
            ViewMount::Bind { source: path, at, is_writable } => {
                let read_only = if *is_writable { MountAttrFlags::empty() } else { MountAttrFlags::MOUNT_ATTR_RDONLY };
                let handle = match source {
                    Some(expected) => Ok(open_expected(path, expected, || self.look_up_old(path))?),
                    None => self.look_up_old(path),
                };
                (at, handle.and_then(|handle| self.bind(&handle, at, PLAIN | read_only)))
            }
            ViewMount::Memory { at, mode, size } => (at, self.memory(at, mode, *size)),
            ViewMount::Link { target, at } => (at, self.link(target, at)),
            ViewMount::ReadOnly(at) => (at, self.make_read_only(at)),
        };
        // A mount on the root covers it: from then on all lies in that mount.
        let covered = applied.and_then(|()| if at.parent().is_none() { open_folder(NEW).map(|new| self.new = new) } else { Ok(()) });
        covered.map_err(|error| refusal(at, error))
    }

    /// Mounts on what was there when the workspace was searched, and on nothing else.
    fn cover(&mut self, mount: &ViewMount<'_>, expected: TargetIdentity) -> Result<(), StepFailure> {
        let Some(at) = mount.target() else { return Err(format!("{mount:?} covers nothing").into()) };
        let target = open_expected(at, expected, || self.look_up(at))?;
        let covered = match mount {
            ViewMount::Memory { mode, size, .. } => new_memory(mode, *size).and_then(|memory| {
                move_to(&memory, &target)?;
                self.hiding.insert(at.to_owned(), memory);
                Ok(())
            }),
            // On itself: its own path may lead elsewhere by now.
            ViewMount::Bind { source, .. } if *source == at => {
                clone_tree(&target, PLAIN | MountAttrFlags::MOUNT_ATTR_RDONLY).and_then(|tree| move_to(&tree, &target))
            }
            ViewMount::Bind { source, .. } => self
                .look_up_old(source)
                .and_then(|source| clone_tree(&source, PLAIN | MountAttrFlags::MOUNT_ATTR_RDONLY))
                .and_then(|tree| move_to(&tree, &target)),
            _ => Err(Errno::INVAL),
        };
        covered.map_err(|error| refusal(at, error))
    }

    /// Leaves the old root for good.
    pub(super) fn enter(self, directory: &Path) -> Result<(), StepFailure> {
        let entered = || -> rustix::io::Result<()> {
            rustix::mount::unmount("/old", UnmountFlags::DETACH)?;
            rustix::process::fchdir(&self.new)?;
            rustix::process::pivot_root(".", ".")?;
            rustix::mount::unmount(".", UnmountFlags::DETACH)?;
            rustix::process::chdir("/")
        };
        entered().map_err(|error| format!("cannot enter the new root: {error}"))?;
        rustix::process::chdir(directory).map_err(|error| format!("cannot start in {}: {error}", directory.display()).into())
    }

    fn bind(&self, source: &OwnedFd, at: &Path, attributes: MountAttrFlags) -> rustix::io::Result<()> {
        let is_folder = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(source)?.st_mode).is_dir();
        self.bind_handle(source, at, if is_folder { TargetKind::Folder } else { TargetKind::File }, attributes)
    }

    fn bind_handle(&self, source: &OwnedFd, at: &Path, kind: TargetKind, attributes: MountAttrFlags) -> rustix::io::Result<()> {
        self.attach(&clone_tree(source, attributes)?, at, kind)
    }

    fn attach(&self, mount: &OwnedFd, at: &Path, kind: TargetKind) -> rustix::io::Result<()> {
        move_to(mount, &self.target(at, kind)?)
    }

    /// The mount point, made where it is missing.
    fn target(&self, at: &Path, kind: TargetKind) -> rustix::io::Result<OwnedFd> {
        match self.look_up(at) {
            Err(Errno::NOENT) => {}
            found => return found,
        }
        let (parent, name) = self.parent(at)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let made = match kind {
            TargetKind::Folder => rustix::fs::mkdirat(&parent, name, FOLDER_MODE),
            TargetKind::File => rustix::fs::openat(&parent, name, flags, Mode::from_raw_mode(0o444)).map(drop),
        };
        match made {
            // In a folder that several commands share, another one may have made it.
            Ok(()) | Err(Errno::EXIST) => self.look_up(at),
            Err(error) => Err(error),
        }
    }

    fn look_up_old(&self, path: &Path) -> rustix::io::Result<OwnedFd> {
        rustix::fs::openat2(&self.old, inside(path), OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), LINKLESS)
    }

    fn look_up(&self, at: &Path) -> rustix::io::Result<OwnedFd> {
        rustix::fs::openat2(&self.new, inside(at), OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), LINKLESS)
    }

    fn is_missing(&self, at: &Path) -> bool {
        matches!(self.look_up(at), Err(Errno::NOENT | Errno::NOTDIR))
    }

    fn parent<'a>(&self, at: &'a Path) -> rustix::io::Result<(OwnedFd, &'a OsStr)> {
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else { return Err(Errno::INVAL) };
        Ok((self.target(parent, TargetKind::Folder)?, name))
    }

    fn memory(&self, at: &Path, mode: &OsStr, size: Option<&OsStr>) -> rustix::io::Result<()> {
        self.attach(&new_memory(mode, size)?, at, TargetKind::Folder)
    }

    fn link(&self, target: &OsStr, at: &Path) -> rustix::io::Result<()> {
        let (parent, name) = self.parent(at)?;
        rustix::fs::symlinkat(target, &parent, name)
    }

    fn make_read_only(&self, at: &Path) -> rustix::io::Result<()> {
        let read_only = |mount: &OwnedFd| attributes::add(mount.as_fd(), MountAttrFlags::MOUNT_ATTR_RDONLY, MountScope::One);
        // What it hides may have been moved since.
        match self.hiding.get(at) {
            Some(mount) => read_only(mount),
            None => read_only(&self.look_up(at)?),
        }
    }

    fn devices(&self, at: &Path) -> rustix::io::Result<()> {
        self.memory(at, OsStr::new("0755"), None)?;
        for name in DEVICES {
            self.bind(&self.look_up_old(&Path::new("/dev").join(name))?, &at.join(name), DEVICE)?;
        }
        self.target(&at.join("shm"), TargetKind::Folder)?;
        let terminals = [("ptmxmode", OsStr::new("0666")), ("mode", OsStr::new("620"))];
        let terminals = new_mount("devpts", &terminals, MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC)?;
        self.attach(&terminals, &at.join("pts"), TargetKind::Folder)?;
        if let Some(terminal) = self.own_terminal() {
            self.bind(&terminal, &at.join("console"), DEVICE)?;
        }
        LINKS.iter().try_for_each(|(name, target)| self.link(OsStr::new(target), &at.join(name)))
    }

    /// The terminal on standard input. It is not among the terminals of the sandbox, and programs that ask for the name of theirs, such
    /// as `tty`, look for it in `/dev`.
    fn own_terminal(&self) -> Option<OwnedFd> {
        let name = rustix::fs::readlinkat(&self.old, "proc/self/fd/0", Vec::new()).ok()?;
        let path = Path::new(OsStr::from_bytes(name.as_bytes()));
        path.starts_with("/dev/pts").then(|| self.look_up_old(path).ok()).flatten()
    }

    fn processes(&self, at: &Path) -> rustix::io::Result<()> {
        let mount = new_mount("proc", &[], PLAIN | MountAttrFlags::MOUNT_ATTR_NOEXEC)?;
        self.attach(&mount, at, TargetKind::Folder)?;
        let covered = if rustix::process::geteuid().is_root() { &KERNEL[..] } else { &[] };
        for name in covered {
            let covered = at.join(name);
            let Ok(handle) = self.look_up(&covered) else { continue };
            self.bind_handle(&handle, &covered, TargetKind::Folder, PLAIN | MountAttrFlags::MOUNT_ATTR_RDONLY)?;
        }
        Ok(())
    }
}

/// What is missing now was there when the mounts were planned.
fn refusal(at: &Path, error: Errno) -> StepFailure {
    let failed = StepFailure::from(format!("cannot mount {}: {error}", at.display()));
    if error == Errno::NOENT { StepFailure { code: MOVED, ..failed } } else { failed }
}

/// A copy of what is mounted at a handle and beneath, not mounted anywhere yet.
fn clone_tree(source: &OwnedFd, attributes: MountAttrFlags) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    let tree = rustix::mount::open_tree(source, "", flags | OpenTreeFlags::AT_RECURSIVE)?;
    attributes::add(tree.as_fd(), attributes, MountScope::Tree)?;
    Ok(tree)
}

fn move_to(mount: &OwnedFd, target: &OwnedFd) -> rustix::io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(mount, "", target, "", flags)
}

fn new_memory(mode: &OsStr, size: Option<&OsStr>) -> rustix::io::Result<OwnedFd> {
    let mut options = vec![("mode", mode)];
    options.extend(size.map(|size| ("size", size)));
    new_mount("tmpfs", &options, PLAIN)
}

fn open_folder(path: &str) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// A file system of its own, not mounted anywhere yet.
fn new_mount(kind: &str, options: &[(&str, &OsStr)], attributes: MountAttrFlags) -> rustix::io::Result<OwnedFd> {
    let system = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    options.iter().try_for_each(|(name, value)| rustix::mount::fsconfig_set_string(system.as_fd(), *name, *value))?;
    rustix::mount::fsconfig_create(system.as_fd())?;
    rustix::mount::fsmount(system.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// A path of the sandbox, as one beneath its root.
fn inside(path: &Path) -> PathBuf {
    let relative: PathBuf = path.components().skip_while(|part| matches!(part, std::path::Component::RootDir)).collect();
    if relative.as_os_str().is_empty() { ".".into() } else { relative }
}
