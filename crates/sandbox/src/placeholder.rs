use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags};

/// Mode that identifies a placeholder: no other program creates such a directory. A killed run leaves it, the next removes it.
const MODE: u32 = 0o1500;
const ATTEMPTS: usize = 16;

/// An empty directory in place of a missing protected path, as a mount point.
///
/// Several runs share one. The last to hold its lock removes it: removed earlier, it would end the mount of the others.
#[derive(Debug)]
pub(crate) struct Placeholder {
    path: PathBuf,
    lock: File,
}

impl Placeholder {
    /// Whether this is the placeholder of another run, possibly a killed one.
    pub(crate) fn is_one(metadata: &Metadata) -> bool {
        metadata.is_dir() && metadata.mode() & 0o7777 == MODE
    }

    /// Creates the directory alone.
    pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(MODE).create(path)
    }

    /// Creates one, or shares the existing one.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            match Self::make_directory(path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            if let Some(lock) = lock(path)? {
                return Ok(Self { path: path.to_owned(), lock });
            }
        }
        Err(io::Error::other("other runs keep creating and removing it"))
    }
}

/// The shared lock, unless the directory was removed meanwhile.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(descriptor) => File::from(descriptor),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    rustix::fs::flock(&file, FlockOperation::LockShared)?;
    let ours = file.metadata()?;
    let same = fs::symlink_metadata(path).is_ok_and(|now| (now.dev(), now.ino()) == (ours.dev(), ours.ino()));
    Ok(same.then_some(file))
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        let alone = rustix::fs::flock(&self.lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        let still_ours = self.lock.metadata().is_ok_and(|metadata| Self::is_one(&metadata));
        if alone && still_ours {
            // It fails only if it is not empty any more, and then it stays.
            fs::remove_dir(&self.path).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholder_is_removed_by_its_last_holder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".git");
        let first = Placeholder::create(&path).unwrap();
        let second = Placeholder::create(&path).unwrap();
        drop(first);
        assert!(path.is_dir(), "another run still needs it");
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn placeholder_of_a_killed_run_is_recognized() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".git");
        Placeholder::make_directory(&path).unwrap();
        assert!(Placeholder::is_one(&fs::metadata(&path).unwrap()));
        assert!(!Placeholder::is_one(&fs::metadata(folder.path()).unwrap()));
        drop(Placeholder::create(&path).unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn placeholder_with_content_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".git");
        let placeholder = Placeholder::create(&path).unwrap();
        rustix::fs::chmod(&path, Mode::from_raw_mode(0o700)).unwrap();
        fs::write(path.join("config"), "user").unwrap();
        drop(placeholder);
        assert_eq!(fs::read_to_string(path.join("config")).unwrap(), "user");
    }
}
