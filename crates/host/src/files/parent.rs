//! The directory of a target, held open from the first look to the last step.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, Stat, fsync, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;

use super::beneath::{DIRECTORY, Way, open_beneath, open_name};
use super::errors;
use super::roots::{Root, RootedPath};

/// An open directory, and those that had to be made to have it. Dropped unsettled, it takes them with it.
#[derive(Debug)]
pub(super) struct Parent {
    handle: OwnedFd,
    way: Way,
    made: Vec<Made>,
    settled: bool,
}

/// A directory that was made, by its own parent's handle: its path may lead elsewhere by now.
#[derive(Debug)]
struct Made {
    within: OwnedFd,
    name: OsString,
    path: PathBuf,
}

impl Parent {
    /// Opens the directory of a place.
    pub(super) fn open(place: &RootedPath) -> Result<Self, Errno> {
        let handle = open_beneath(&place.root, parent_of(place), DIRECTORY)?;
        Ok(Self { handle, way: place.root.way(), made: Vec::new(), settled: false })
    }

    /// Opens the directory of a place, making what is missing.
    pub(super) fn open_or_make(place: &RootedPath) -> Result<Self, Errno> {
        match Self::open(place) {
            Err(Errno::NOENT) => Self::make(&place.root, parent_of(place)),
            answer => answer,
        }
    }

    /// Opens it once more, because it is gone: what was made of the way to it is taken back, and made again.
    pub(super) fn open_anew(&mut self, place: &RootedPath) -> Result<(), Errno> {
        self.take_back();
        *self = Self::open_or_make(place)?;
        Ok(())
    }

    /// The directories that are missing on the way to a place, outermost first.
    pub(super) fn missing(place: &RootedPath) -> Result<Vec<PathBuf>, Errno> {
        let (path, mut missing) = (parent_of(place), Vec::new());
        let directories = path.ancestors().filter(|directory| !directory.as_os_str().is_empty());
        for directory in directories {
            match open_beneath(&place.root, directory, DIRECTORY) {
                Err(Errno::NOENT) => missing.insert(0, place.root.path().join(directory)),
                answer => return answer.map(|_| missing),
            }
        }
        Ok(missing)
    }

    fn make(root: &Root, path: &Path) -> Result<Self, Errno> {
        let handle = root.handle().try_clone_to_owned().map_err(|error| errors::number(&error))?;
        let mut parent = Self { handle, way: root.way(), made: Vec::new(), settled: false };
        let mut whole = root.path().to_owned();
        for name in path {
            whole.push(name);
            match open_name(&parent.handle, name, DIRECTORY) {
                Err(Errno::NOENT) => parent.make_and_enter(name, &whole)?,
                answer => parent.handle = answer?,
            }
        }
        Ok(parent)
    }

    fn make_and_enter(&mut self, name: &OsStr, path: &Path) -> Result<(), Errno> {
        let is_new = match mkdirat(&self.handle, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
            Err(Errno::EXIST) => false,
            answer => answer.map(|()| true)?,
        };
        let inner = open_name(&self.handle, name, DIRECTORY)?;
        let within = std::mem::replace(&mut self.handle, inner);
        if is_new {
            self.made.push(Made { within, name: name.to_owned(), path: path.to_owned() });
        }
        Ok(())
    }

    /// The directory.
    pub(super) fn handle(&self) -> &OwnedFd {
        &self.handle
    }
    /// How it was opened.
    pub(super) fn way(&self) -> Way {
        self.way
    }
    /// What a name is here, a link being a link.
    pub(super) fn status(&self, name: &OsStr) -> Result<Option<Stat>, Errno> {
        match statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(None),
            answer => answer.map(Some),
        }
    }
    /// The paths of the directories that were made, outermost first.
    pub(super) fn created_paths(&self) -> Vec<PathBuf> {
        self.made.iter().map(|made| made.path.clone()).collect()
    }
    /// Keeps the directories that were made.
    pub(super) fn settle(&mut self) {
        self.settled = true;
    }
    /// Makes a change of names here survive a power cut.
    pub(super) fn sync(&self) -> Result<(), Errno> {
        // The handle itself may be one that only names the directory. One that may not be read cannot be synced.
        match openat(self.handle.as_fd(), ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
            Ok(directory) => fsync(directory),
            Err(Errno::ACCESS) => Ok(()),
            Err(errno) => Err(errno),
        }
        .or_else(|errno| if errno == Errno::INVAL { Ok(()) } else { Err(errno) })
    }
}

impl Parent {
    fn take_back(&mut self) {
        while let Some(made) = self.made.pop() {
            match unlinkat(&made.within, &made.name, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT) => {}
                // One that is not empty any more holds somebody else's file, and stays with all above it.
                Err(_) => return self.made.clear(),
            }
        }
    }
}

impl Drop for Parent {
    fn drop(&mut self) {
        if !self.settled {
            self.take_back();
        }
    }
}

fn parent_of(place: &RootedPath) -> &Path {
    place.beneath.parent().unwrap_or(Path::new(""))
}
