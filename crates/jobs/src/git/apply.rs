//! Writing to a Git folder as Git does: under its locks, beside the file, then renamed over it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Mode, OFlags, linkat, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::evaluate::Step;
use super::log::{append_rest, is_log};
use super::tree::Tree;

/// How long a lock of another program is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(20);
/// What Git writes to the disk before it names it. It does so for nothing else unless `core.fsync` says so, and the overlay, in
/// which it runs, does nothing of it.
const PACKS: &str = "objects/pack";

/// What became of steps that belong together.
pub(super) enum Applied {
    /// So many were done.
    All(usize),
    /// None was, because these were changed or locked by another program.
    None(Vec<PathBuf>),
}

/// Writes files of an upper layer to the Git folder.
pub(super) struct Applier<'a> {
    upper: &'a Tree,
    lower: &'a Tree,
    deadline: Instant,
}

impl<'a> Applier<'a> {
    pub(super) fn new(upper: &'a Tree, lower: &'a Tree) -> Self {
        Self { upper, lower, deadline: Instant::now() + PATIENCE }
    }

    /// Adds an object or pack, and never replaces one. It is linked where that can be.
    pub(super) fn add_object(&mut self, path: &Path) -> io::Result<()> {
        self.lower.make_parents(path)?;
        let ((from, from_name), (to, to_name)) = (self.upper.parent(path)?, self.lower.parent(path)?);
        let file = self.upper.open_file(path)?;
        if path.starts_with(PACKS) {
            file.sync_data()?;
        }
        let metadata = file.metadata()?;
        let mode = Permissions::from_mode(metadata.mode() & 0o444 | 0o400);
        if metadata.nlink() == 1 && !has_attributes(&file) {
            file.set_permissions(mode.clone())?;
            match linkat(from.as_fd(), from_name, to.as_fd(), to_name, AtFlags::empty()) {
                Ok(()) | Err(Errno::EXIST) => return Ok(()),
                Err(_) => {}
            }
        }
        let draft = OsString::from(format!("tmp_obj_haft{}", std::process::id()));
        let mut copy = create(&to, &draft)?;
        let copied = copy_file(&file, &mut copy).and_then(|()| copy.set_permissions(mode));
        let copied = copied.and_then(|()| if path.starts_with(PACKS) { copy.sync_all() } else { Ok(()) });
        let linked = copied.and_then(|()| match linkat(to.as_fd(), &*draft, to.as_fd(), to_name, AtFlags::empty()) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        });
        unlinkat(to.as_fd(), &*draft, AtFlags::empty())?;
        linked
    }

    /// Replaces a file by a text.
    pub(super) fn write(&mut self, path: &Path, text: &[u8]) -> io::Result<()> {
        let mode = self.lower.entry(path)?.map_or(0o644, |below| below.mode() & 0o777);
        let mut lock = self.lock(path)?.ok_or_else(|| io::Error::other("another program holds its lock"))?;
        lock.file.write_all(text)?;
        lock.file.set_permissions(Permissions::from_mode(mode))?;
        lock.file.sync_all()?;
        lock.rename()
    }

    /// Does all steps, or none if one of them is raced. An error names the step that failed; those before it are done.
    pub(super) fn apply_together(&mut self, steps: &[Step], is_raced: impl Fn(&Step) -> bool) -> Result<Applied, (PathBuf, io::Error)> {
        let mut steps: Vec<&Step> = steps.iter().collect();
        steps.sort_by(|one, other| one.turn.cmp(&other.turn).then_with(|| other.path.cmp(&one.path)));
        let mut locks = BTreeMap::new();
        let mut conflicts = Vec::new();
        for step in &steps {
            let failed = |error| (step.path.clone(), error);
            // What is new has no lock to take yet: the folder above it may not be there.
            let exists = self.lower.entry(&step.path).map_err(failed)?.is_some_and(|below| !below.is_dir());
            let is_lockable = exists && step.path.extension().is_none_or(|end| end != "lock");
            match if is_lockable { self.lock(&step.path).map_err(failed)? } else { None } {
                Some(lock) => drop(locks.insert(&step.path, lock)),
                None if is_lockable => conflicts.push(step.path.clone()),
                None => {}
            }
        }
        // Under the locks, so that nothing comes in between.
        conflicts.extend(steps.iter().filter(|step| is_raced(step)).map(|step| step.path.clone()));
        if !conflicts.is_empty() {
            conflicts.sort_unstable();
            conflicts.dedup();
            return Ok(Applied::None(conflicts));
        }
        for step in &steps {
            let lock = locks.remove(&step.path);
            self.apply(step, lock).map_err(|error| (step.path.clone(), error))?;
        }
        Ok(Applied::All(steps.len()))
    }

    fn apply(&mut self, step: &Step, lock: Option<Lock>) -> io::Result<()> {
        if step.is_deletion {
            return match self.lower.remove_file(&step.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                done => done,
            };
        }
        if lock.is_some() && is_log(&step.path) && append_rest(self.upper, self.lower, &step.path)? {
            return Ok(());
        }
        let mut lock = if let Some(lock) = lock {
            lock
        } else {
            self.make_way(&step.path)?;
            self.lock(&step.path)?.ok_or_else(|| io::Error::other("another program holds its lock"))?
        };
        let file = self.upper.open_file(&step.path)?;
        copy_file(&file, &mut lock.file)?;
        let metadata = file.metadata()?;
        lock.file.set_permissions(Permissions::from_mode(metadata.mode() & 0o666 | 0o600))?;
        lock.file.set_modified(metadata.modified()?)?;
        lock.rename()
    }

    /// Creates the folders above a file, and removes empty ones in its place, as Git does for refs.
    fn make_way(&self, path: &Path) -> io::Result<()> {
        self.lower.make_parents(path)?;
        if self.lower.entry(path)?.is_some_and(|below| below.is_dir()) {
            self.remove_empty(path, 0);
        }
        Ok(())
    }

    fn remove_empty(&self, path: &Path, depth: usize) {
        if depth < 32 {
            self.lower.names(path).unwrap_or_default().iter().for_each(|name| self.remove_empty(&path.join(name), depth + 1));
        }
        self.lower.remove_folder(path).ok();
    }

    /// Takes the lock that Git takes; `None` if another program holds it.
    fn lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        let (folder, name) = self.lower.parent(path)?;
        let mut lock = name.to_owned();
        lock.push(".lock");
        loop {
            match create(&folder, &lock) {
                Ok(file) => return Ok(Some(Lock { folder, name: name.to_owned(), draft: lock, file, is_renamed: false })),
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Err(_) if Instant::now() >= self.deadline => return Ok(None),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }
}

/// A lock, which is also the file that replaces the locked one. Dropped before, it is released.
struct Lock {
    folder: Tree,
    name: OsString,
    draft: OsString,
    file: File,
    is_renamed: bool,
}

impl Lock {
    fn rename(mut self) -> io::Result<()> {
        renameat(self.folder.as_fd(), &*self.draft, self.folder.as_fd(), &*self.name)?;
        self.is_renamed = true;
        Ok(())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if !self.is_renamed {
            unlinkat(self.folder.as_fd(), &*self.draft, AtFlags::empty()).ok();
        }
    }
}

pub(super) fn create(folder: &Tree, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(folder.as_fd(), name, flags, Mode::from_raw_mode(0o600))?))
}

pub(super) fn copy_file(mut from: &File, to: &mut File) -> io::Result<()> {
    io::copy(&mut from, to).map(drop)
}

/// Whether a file has attributes other than those of overlays: privileges could be among them.
fn has_attributes(file: &File) -> bool {
    let mut names = vec![0; 4096];
    let Ok(length) = rustix::fs::flistxattr(file, &mut names[..]) else { return true };
    let is_foreign = |name: &[u8]| !name.is_empty() && !name.windows(9).any(|part| part == b".overlay.") && name != b"security.selinux";
    names[..length].split(|byte| *byte == 0).any(is_foreign)
}
