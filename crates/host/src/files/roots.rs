//! The directories a session may use, each held open from the start.

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{ToolError, Zone};
use rustix::fs::{CWD, Mode, fstat, openat, readlink, stat};

use super::beneath::{CHOSEN_DIRECTORY, Way};
use super::cached;
use super::protected;

/// A directory that is held open: the session stays with it, wherever its path leads later.
#[derive(Debug)]
pub(super) struct Root {
    handle: OwnedFd,
    path: PathBuf,
    zone: Zone,
    way: Way,
    is_local: bool,
}

impl Root {
    fn open(path: &Path, zone: Zone, way: Way) -> Result<Self, ToolError> {
        let failed = |why: &dyn std::fmt::Display| {
            ToolError::validation(format!("The folder '{}' cannot be opened: {why}. Give the path of a folder.", path.display()))
        };
        let handle = openat(CWD, path, CHOSEN_DIRECTORY, Mode::empty()).map_err(|errno| failed(&errno))?;
        let held = fstat(&handle).map_err(|errno| failed(&errno))?;
        let is_held = |path: &PathBuf| stat(path).is_ok_and(|named| (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino));
        let path = match known_path(&handle).filter(is_held) {
            Some(path) => path,
            None => path.canonicalize().ok().filter(is_held).ok_or_else(|| failed(&"it changed meanwhile"))?,
        };
        let is_local = cached::is_local(&handle);
        Ok(Self { handle, path, zone, way, is_local })
    }
    pub(super) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
    /// Its path when it was opened, free of links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
    pub(super) fn zone(&self) -> Zone {
        self.zone
    }
    pub(super) fn way(&self) -> Way {
        self.way
    }
    /// Whether it is on a file system of this machine.
    pub(super) fn is_local(&self) -> bool {
        self.is_local
    }
}

/// The path of an open directory, free of links, as far as the system knows it: one call, where following the path takes one for each
/// of its names.
fn known_path(handle: &OwnedFd) -> Option<PathBuf> {
    let path = readlink(format!("/proc/self/fd/{}", handle.as_raw_fd()), Vec::new()).ok()?;
    Some(OsString::from_vec(path.into_bytes()).into())
}

/// A root and the way beneath it.
#[derive(Debug, Clone)]
pub(super) struct RootedPath {
    pub(super) root: Arc<Root>,
    pub(super) beneath: PathBuf,
}

/// All roots of a session.
#[derive(Debug)]
pub(super) struct Roots {
    main: PathBuf,
    /// The deepest first, so that the first that holds a path is the most specific; the whole machine is last.
    all: Vec<Arc<Root>>,
    /// Those that were added for reading.
    shown: Vec<PathBuf>,
}

impl Roots {
    pub(super) fn open(main: &Path, read_only: &[PathBuf], writable: &[PathBuf], way: Way) -> Result<Self, ToolError> {
        let main = Root::open(main, Zone::Workspace, way)?;
        let path = main.path.clone();
        let mut all = vec![main];
        // Read-only ones first: where a folder is named as both, the stricter holds.
        for root in read_only {
            all.insert(0, Root::open(root, Zone::ReadOnlyRoot, way)?);
        }
        for root in writable {
            all.push(Root::open(root, Zone::Workspace, way)?);
        }
        if let Some(root) = all.iter().find(|root| protected::is_of_the_kernel(&root.path)) {
            return Err(ToolError::validation(format!(
                "The folder '{}' belongs to the kernel and cannot be a workspace: choose a folder of files.",
                root.path.display()
            )));
        }
        all.push(Root::open(Path::new("/"), Zone::Outside, way)?);
        all.sort_by_key(|root| std::cmp::Reverse(root.path.components().count()));
        Ok(Self { main: path, all: all.into_iter().map(Arc::new).collect(), shown: Vec::new() })
    }

    /// The same, and this folder for reading; `None` if it lies in a root already, or the workspace lies in it.
    pub(super) fn with_read_only(&self, folder: &Path, way: Way) -> Result<Option<Self>, ToolError> {
        let root = Root::open(folder, Zone::ReadOnlyRoot, way)?;
        let is_shown = self.holding(&root.path).is_some_and(|(holding, _)| holding.zone != Zone::Outside);
        if is_shown || self.main.starts_with(&root.path) || protected::is_of_the_kernel(&root.path) {
            return Ok(None);
        }
        let (mut all, mut shown) = (self.all.clone(), self.shown.clone());
        shown.push(root.path.clone());
        all.push(Arc::new(root));
        all.sort_by_key(|root| std::cmp::Reverse(root.path.components().count()));
        Ok(Some(Self { main: self.main.clone(), all, shown }))
    }

    /// The folders that were added for reading.
    pub(super) fn added_folders(&self) -> impl Iterator<Item = &Path> {
        self.shown.iter().map(PathBuf::as_path)
    }

    /// The path of the workspace.
    pub(super) fn main(&self) -> &Path {
        &self.main
    }
    /// The most specific root that holds an absolute path, and the rest of the path. Compares whole names.
    pub(super) fn holding<'p>(&self, path: &'p Path) -> Option<(&Arc<Root>, &'p Path)> {
        self.all.iter().find_map(|root| path.strip_prefix(&root.path).ok().map(|rest| (root, rest)))
    }
    /// The root at exactly this path.
    pub(super) fn at(&self, path: &Path) -> Option<&Arc<Root>> {
        self.all.iter().find(|root| root.path == path)
    }
    /// Whether this is one of them, itself.
    pub(super) fn hold(&self, root: &Arc<Root>) -> bool {
        self.all.iter().any(|own| Arc::ptr_eq(own, root))
    }
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Root>> {
        self.all.iter()
    }
    /// Those in which files may be written.
    pub(super) fn writable(&self) -> impl Iterator<Item = &Arc<Root>> {
        self.all.iter().filter(|root| root.zone == Zone::Workspace)
    }
}
