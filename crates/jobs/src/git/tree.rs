//! Files beneath a folder, reached from its handle and never through a link, whatever is swapped meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

#[cfg(any(target_os = "linux", target_os = "android"))]
use rustix::fs::ResolveFlags;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;

/// A handle that only names an entry, also a link, where the system has such handles.
#[cfg(any(target_os = "linux", target_os = "android"))]
const HANDLE: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const HANDLE: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK);
const ENTRY: OFlags = HANDLE.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// A directory of which only the name is needed: no right to list it.
const DIRECTORY: OFlags = HANDLE.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// A folder that stays the same one when it is moved.
#[derive(Debug)]
pub(crate) struct Tree(OwnedFd);

impl Tree {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::open(path, DIRECTORY, Mode::empty())?))
    }

    /// Opens a folder, and one in a root of commands through no link: a command that is running may put one above it.
    pub(crate) fn open_in(path: &Path, roots: &[PathBuf]) -> io::Result<Self> {
        match roots.iter().find_map(|root| Some((root, path.strip_prefix(root).ok()?))) {
            Some((root, beneath)) => Self::open(root)?.folder(beneath),
            None => Self::open(path),
        }
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Where it is now; `None` where the system does not say.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        use std::os::fd::AsRawFd;
        let path = fs::read_link(format!("/proc/self/fd/{}", self.0.as_raw_fd())).ok()?;
        // The kernel adds " (deleted)" to a path that is gone.
        path.is_dir().then_some(path)
    }

    /// A handle with which it can be listed.
    pub(crate) fn listed(&self) -> io::Result<OwnedFd> {
        Ok(openat(&self.0, ".", LISTED, Mode::empty())?)
    }

    /// The same of a folder beneath it.
    pub(crate) fn listed_folder(&self, path: &Path) -> io::Result<OwnedFd> {
        if path.as_os_str().is_empty() { self.listed() } else { self.open_beneath(path, LISTED) }
    }

    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        File::from(self.0.try_clone()?).metadata()
    }

    /// Gives the owner all rights to the folder, without which it cannot be looked through or changed. Whether one was missing.
    pub(crate) fn open_to_owner(&self) -> io::Result<bool> {
        use std::os::fd::AsRawFd;
        let mode = self.metadata()?.mode() & 0o7777;
        if mode & 0o700 == 0o700 {
            return Ok(false);
        }
        // The handle itself may be one that only names the folder.
        let changed = rustix::fs::chmod(format!("/proc/self/fd/{}", self.0.as_raw_fd()), Mode::from_raw_mode(mode | 0o700));
        changed.or_else(|_| rustix::fs::fchmod(&self.0, Mode::from_raw_mode(mode | 0o700)))?;
        Ok(true)
    }

    /// A folder beneath it.
    pub(crate) fn folder(&self, path: &Path) -> io::Result<Self> {
        if path.as_os_str().is_empty() {
            return Ok(Self(self.0.try_clone()?));
        }
        self.open_beneath(path, DIRECTORY).map(Self)
    }

    /// Opens an entry beneath it: with one call where the system has it, else name by name.
    pub(super) fn open_beneath(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let names = names_of(path)?;
        #[cfg(any(target_os = "linux", target_os = "android"))]
        match rustix::fs::openat2(&self.0, path, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS) {
            Ok(opened) => return Ok(opened),
            Err(Errno::NOENT) => return Err(Errno::NOENT.into()),
            // Of what is refused or not supported, the walk tells which it is.
            Err(_) => {}
        }
        let (name, above) = names.split_last().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let mut here = None;
        for folder in above {
            here = Some(openat(here.as_ref().unwrap_or(&self.0), *folder, DIRECTORY, Mode::empty())?);
        }
        Ok(openat(here.as_ref().unwrap_or(&self.0), *name, flags, Mode::empty())?)
    }

    /// The folder that holds an entry, and the entry's name in it.
    pub(crate) fn parent<'a>(&self, path: &'a Path) -> io::Result<(Self, &'a OsStr)> {
        let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok((self.folder(path.parent().unwrap_or(Path::new("")))?, name))
    }

    /// Creates the missing folders above an entry.
    pub(crate) fn make_parents(&self, path: &Path) -> io::Result<()> {
        self.make_folder(path.parent().unwrap_or(Path::new("")))
    }

    /// Creates a folder and the missing ones above it. In a repository that a group shares, they are the group's as well.
    pub(crate) fn make_folder(&self, path: &Path) -> io::Result<()> {
        let mut here = Self(self.0.try_clone()?);
        for name in names_of(path)? {
            let is_new = match mkdirat(&here.0, name, Mode::from_raw_mode(0o755)) {
                Err(Errno::EXIST) => false,
                made => made.map(|()| true)?,
            };
            let folder = Self(openat(&here.0, name, DIRECTORY, Mode::empty())?);
            if is_new {
                folder.share_like(&here)?;
            }
            here = folder;
        }
        Ok(())
    }

    /// Lets a group write to the folder that may write to the one above it.
    fn share_like(&self, above: &Self) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        let mode = above.metadata()?.mode() & 0o7777;
        if mode & 0o020 == 0 {
            return Ok(());
        }
        // The handle itself may be one that only names the folder.
        let by_name = rustix::fs::chmod(format!("/proc/self/fd/{}", self.0.as_raw_fd()), Mode::from_raw_mode(mode));
        Ok(by_name.or_else(|_| rustix::fs::fchmod(&self.0, Mode::from_raw_mode(mode)))?)
    }

    /// What is known of an entry, also of a link; `None` if there is none.
    pub(crate) fn entry(&self, path: &Path) -> io::Result<Option<Metadata>> {
        if path.as_os_str().is_empty() {
            return self.metadata().map(Some);
        }
        match self.open_beneath(path, ENTRY) {
            Ok(handle) => File::from(handle).metadata().map(Some),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether there is an entry that is no link and no folder.
    pub(crate) fn has_file(&self, path: &Path) -> bool {
        matches!(self.entry(path), Ok(Some(metadata)) if metadata.is_file())
    }

    /// Opens an ordinary file.
    pub(crate) fn open_file(&self, path: &Path) -> io::Result<File> {
        let file = File::from(self.open_beneath(path, READ)?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not an ordinary file")) }
    }

    /// The bytes of an ordinary file, which may not have more than these.
    pub(crate) fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open_file(path)?.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most { Err(io::Error::other("it is too large")) } else { Ok(bytes) }
    }

    /// The names in a folder beneath it, sorted.
    pub(crate) fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        names_in(self.listed_folder(path)?)
    }

    pub(crate) fn remove_file(&self, path: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        Ok(unlinkat(&parent.0, name, AtFlags::empty())?)
    }

    /// Removes a folder if it is empty.
    pub(crate) fn remove_folder(&self, path: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        Ok(unlinkat(&parent.0, name, AtFlags::REMOVEDIR)?)
    }
}

/// The names in a folder, sorted.
pub(crate) fn names_in(folder: OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::new(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Whether an error says that there is no such entry.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The names of a path that only leads down.
fn names_of(path: &Path) -> io::Result<Vec<&OsStr>> {
    path.components()
        .map(|part| match part {
            std::path::Component::Normal(name) => Ok(name),
            _ => Err(io::Error::from(io::ErrorKind::InvalidInput)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn tree_reads_beneath_its_folder_and_follows_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("t");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/f"), "text").unwrap();
        fs::write(folder.path().join("outside"), "secret").unwrap();
        symlink("../outside", root.join("link")).unwrap();
        symlink("..", root.join("up")).unwrap();
        let tree = Tree::open(&root).unwrap();
        assert_eq!(tree.read(Path::new("a/b/f"), 4).unwrap(), b"text");
        assert!(tree.read(Path::new("a/b/f"), 3).is_err(), "too large");
        for path in ["link", "up/outside", "../outside", "/etc/passwd", "a", ""] {
            assert!(tree.read(Path::new(path), 100).is_err(), "{path}");
        }
        assert!(tree.entry(Path::new("link")).unwrap().unwrap().is_symlink());
        assert!(tree.entry(Path::new("a/b/f/g")).unwrap().is_none());
        assert!(Tree::open(&root.join("up/t/a")).is_ok(), "links above it are followed");
        let roots = [root.clone()];
        assert!(Tree::open_in(&root.join("up/t/a"), &roots).is_err() && Tree::open_in(&root.join("a/b"), &roots).is_ok());
        assert!(Tree::open_in(&root, &roots).is_ok() && Tree::open_in(folder.path(), &roots).is_ok());
        assert!(tree.make_parents(Path::new("up/x/y")).is_err());
        assert!(!folder.path().join("x").exists());
        fs::rename(&root, folder.path().join("moved")).unwrap();
        assert_eq!(tree.names(Path::new("a")).unwrap(), ["b"]);
        assert_eq!(tree.path().unwrap().file_name().unwrap(), "moved");
    }
}
