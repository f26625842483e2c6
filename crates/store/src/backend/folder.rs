//! A folder that is private to the user: everything in it is reached through one open handle.
//!
//! Another user of the machine may have put something where ours is to be (a symbolic link, a folder of their own), so
//! the folder is opened without following links and checked by its handle, and files are created exclusively beneath it.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::StoreError;

const FOLDER_MODE: Mode = Mode::RWXU;
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
const LOCK_POLL: Duration = Duration::from_millis(5);

/// A private folder.
#[derive(Debug)]
pub(super) struct PrivateFolder {
    path: PathBuf,
    handle: OwnedFd,
}

/// Held while one process at a time may create or replace files in the folder.
#[derive(Debug)]
pub(super) struct FolderLock {
    _handle: OwnedFd,
}

impl PrivateFolder {
    /// Opens a folder, creating it and its parents; its mode is narrowed to 0700.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        // Without a slash at the end, which would make the system follow a link.
        let path: PathBuf = path.components().collect();
        let create = || DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(|error| StoreError::io(&path, error));
        let handle = open_folder(CWD, &path, &path, create, refuse_shared_folder)?;
        let path = real_path(&path, &handle).map_err(|error| StoreError::io(&path, error))?;
        Ok(Self { path, handle: handle.0 })
    }

    /// Opens a folder in this one, creating it.
    pub(super) fn folder(&self, name: &str) -> Result<Self, StoreError> {
        let path = self.path.join(name);
        let create = || match rustix::fs::mkdirat(&self.handle, name, FOLDER_MODE) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(StoreError::io(&path, error)),
        };
        let (handle, _) = open_folder(&self.handle, Path::new(name), &path, create, |_| Ok(()))?;
        Ok(Self { path, handle })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a file for writing; it must not exist.
    pub(super) fn create(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.handle, name, flags, FILE_MODE)?))
    }

    /// Opens a file for reading.
    pub(super) fn read(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.handle, name, flags, Mode::empty())?))
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.handle, from, &self.handle, to)?)
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.handle, name, AtFlags::empty())?)
    }

    /// Removes an empty folder in this one.
    pub(super) fn remove_folder(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.handle, name, AtFlags::REMOVEDIR)?)
    }

    /// What is under a name, not following a link; `None` if nothing is.
    pub(super) fn stat(&self, name: &str) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The names in it that are text; ours all are.
    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.handle)? {
            if let Ok(name) = entry?.file_name().to_str() {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Makes the names in it safe on disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.handle)?)
    }

    /// Narrows a file to 0600; says whether there is one. By name: opening and closing a database file would drop the locks that
    /// another connection of this process holds on it.
    pub(super) fn narrow(&self, name: &str) -> Result<bool, StoreError> {
        let path = self.path.join(name);
        let failed = |error: io::Error| StoreError::io(&path, error);
        let Some(stat) = self.stat(name).map_err(failed)? else { return Ok(false) };
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(StoreError::untrusted(&path, "it is not an ordinary file: move it away"));
        }
        refuse_foreign(&stat, &path)?;
        if Mode::from_raw_mode(stat.st_mode) != FILE_MODE {
            rustix::fs::chmodat(&self.handle, name, FILE_MODE, AtFlags::empty()).map_err(|error| failed(error.into()))?;
        }
        Ok(true)
    }

    /// Waits for the folder's lock, which the system releases even when the holder is killed.
    pub(super) fn lock(&self, patience: Duration) -> Result<Option<FolderLock>, StoreError> {
        let failed = |error: Errno| StoreError::io(&self.path, error);
        // A handle of its own: such a lock belongs to the opening, not to the process.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(&self.handle, ".", flags, Mode::empty()).map_err(failed)?;
        let deadline = Instant::now() + patience;
        loop {
            match rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(FolderLock { _handle: handle })),
                Err(Errno::WOULDBLOCK) if Instant::now() >= deadline => return Ok(None),
                Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(LOCK_POLL),
                Err(error) => return Err(failed(error)),
            }
        }
    }
}

/// Opens `name` beneath `parent` without following a link, and creates it if it is missing; `path` is what errors call it. Nearly always
/// it is there, and then no call is made in vain. One that others may see is asked about before its mode is narrowed.
fn open_folder(
    parent: impl AsFd,
    name: &Path,
    path: &Path,
    create: impl FnOnce() -> Result<(), StoreError>,
    refuse_shared: fn(&Path) -> Result<(), StoreError>,
) -> Result<(OwnedFd, Stat), StoreError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || rustix::fs::openat(&parent, name, flags, Mode::empty());
    let opened = match open() {
        Err(Errno::NOENT) => {
            create()?;
            open()
        }
        opened => opened,
    };
    let handle = match opened {
        Ok(handle) => handle,
        Err(Errno::LOOP | Errno::NOTDIR) => {
            return Err(StoreError::untrusted(path, "it is a symbolic link or a file: move it away, or set HAFT_HOME to a real folder"));
        }
        Err(error) => return Err(StoreError::io(path, error)),
    };
    let stat = rustix::fs::fstat(&handle).map_err(|error| StoreError::io(path, error))?;
    let mode = Mode::from_raw_mode(stat.st_mode);
    if mode.intersects(Mode::RWXG | Mode::RWXO) {
        refuse_shared(path)?;
    }
    refuse_foreign(&stat, path)?;
    if mode.contains(Mode::SVTX) {
        // Root owns /tmp: narrowing that would lock everyone out.
        return Err(StoreError::untrusted(path, "it is a folder that users share: set HAFT_HOME to a folder of your own"));
    }
    if mode != FOLDER_MODE {
        rustix::fs::fchmod(&handle, FOLDER_MODE).map_err(|error| StoreError::io(path, error))?;
    }
    Ok((handle, stat))
}

/// The path of an open folder, free of links: the system knows it, and asking takes two calls where following the path takes one for
/// each of its parts.
fn real_path(path: &Path, (handle, stat): &(OwnedFd, Stat)) -> io::Result<PathBuf> {
    let known = std::fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd())).ok();
    let is_it = |named: Stat| (named.st_dev, named.st_ino) == (stat.st_dev, stat.st_ino);
    match known.filter(|path| rustix::fs::lstat(path).is_ok_and(is_it)) {
        Some(path) => Ok(path),
        None => path.canonicalize(),
    }
}

/// Refuses a folder that other users may see if it holds other files: narrowing its mode would break its use.
fn refuse_shared_folder(path: &Path) -> Result<(), StoreError> {
    const OURS: [&str; 4] = ["haft.db", "spills", "pre-images", "alerts.log"];
    let failed = |error| StoreError::io(path, error);
    for entry in path.read_dir().map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let name = name.to_string_lossy();
        if !OURS.iter().any(|ours| name.starts_with(ours)) {
            let problem = format!("it holds other things ('{name}'), and others may see it: set HAFT_HOME to a folder of its own");
            return Err(StoreError::untrusted(path, problem));
        }
    }
    Ok(())
}

fn refuse_foreign(stat: &Stat, path: &Path) -> Result<(), StoreError> {
    static ME: LazyLock<u32> = LazyLock::new(|| rustix::process::geteuid().as_raw());
    let me = *ME;
    if stat.st_uid == me {
        return Ok(());
    }
    let owner = stat.st_uid;
    Err(StoreError::untrusted(path, format!("it belongs to user {owner}, this is user {me}: set HAFT_HOME to a folder of your own")))
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_with_a_use_of_its_own_is_left_as_it_is() {
        let outer = tempfile::tempdir().unwrap();
        let mode = |mode| std::fs::set_permissions(outer.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        std::fs::write(outer.path().join("notes.txt"), "mine").unwrap();
        mode(0o755);
        let error = PrivateFolder::open(outer.path()).unwrap_err().to_string();
        assert!(
            error.ends_with("it holds other things ('notes.txt'), and others may see it: set HAFT_HOME to a folder of its own"),
            "{error}"
        );
        assert_eq!(outer.path().metadata().unwrap().permissions().mode() & 0o777, 0o755);
        std::fs::rename(outer.path().join("notes.txt"), outer.path().join("haft.db")).unwrap();
        PrivateFolder::open(outer.path()).unwrap();
        assert_eq!(outer.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn files_are_created_exclusively_and_never_through_a_link() {
        let outer = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::open(&outer.path().join("private")).unwrap();
        folder.create("taken").unwrap();
        let target = outer.path().join("target");
        std::os::unix::fs::symlink(&target, folder.path().join("link")).unwrap();
        for name in ["taken", "link"] {
            assert_eq!(folder.create(name).unwrap_err().kind(), ErrorKind::AlreadyExists, "{name}");
        }
        assert!(!target.exists());
        std::fs::write(&target, "secret").unwrap();
        assert_eq!(folder.read("link").unwrap_err().raw_os_error(), Some(Errno::LOOP.raw_os_error()));
    }

    #[test]
    fn one_holds_the_lock_at_a_time() {
        let outer = tempfile::tempdir().unwrap();
        let (one, other) = (PrivateFolder::open(outer.path()).unwrap(), PrivateFolder::open(outer.path()).unwrap());
        let held = one.lock(Duration::ZERO).unwrap();
        assert!(held.is_some());
        assert!(other.lock(Duration::ZERO).unwrap().is_none());
        drop(held);
        assert!(other.lock(Duration::ZERO).unwrap().is_some());
    }
}
