use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags};

/// Marks a directory as ours: no other program makes one of this mode. A run that was killed leaves it, the next removes it.
const MODE: u32 = 0o1500;
const ATTEMPTS: usize = 16;

/// An empty directory where a protected name was missing, so that there is something to mount upon.
///
/// Several runs share one. The last to hold its lock removes it: removed earlier, it would take the mount of the others along.
#[derive(Debug)]
pub(crate) struct Placeholder {
    path: PathBuf,
    lock: File,
}

impl Placeholder {
    /// Whether `path` is one that another run has made, or has left behind.
    pub(crate) fn is_one(metadata: &Metadata) -> bool {
        metadata.is_dir() && metadata.mode() & 0o7777 == MODE
    }

    /// Makes one, or joins the one that is there.
    pub(crate) fn hold(path: &Path) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            match DirBuilder::new().mode(MODE).create(path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            if let Some(lock) = lock(path)? {
                return Ok(Self { path: path.to_owned(), lock });
            }
        }
        Err(io::Error::other("it is made and removed by others all the time"))
    }
}

/// The shared lock, unless the directory went away while we waited for it.
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
            // It fails only where something was put inside meanwhile, which is then not ours to remove.
            fs::remove_dir(&self.path).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_holder_removes_it_and_nobody_earlier() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".git");
        let first = Placeholder::hold(&path).unwrap();
        let second = Placeholder::hold(&path).unwrap();
        drop(first);
        assert!(path.is_dir(), "another run still needs it");
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn one_left_behind_is_known_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".git");
        DirBuilder::new().mode(MODE).create(&path).unwrap();
        assert!(Placeholder::is_one(&fs::metadata(&path).unwrap()));
        assert!(!Placeholder::is_one(&fs::metadata(folder.path()).unwrap()));
        drop(Placeholder::hold(&path).unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn what_was_put_inside_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".git");
        let held = Placeholder::hold(&path).unwrap();
        rustix::fs::chmod(&path, Mode::from_raw_mode(0o700)).unwrap();
        fs::write(path.join("config"), "person").unwrap();
        drop(held);
        assert_eq!(fs::read_to_string(path.join("config")).unwrap(), "person");
    }
}
