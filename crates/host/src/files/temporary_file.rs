//! New content beside its target, until it takes the target's place.
//!
//! Where the system can, it has no name until then: whatever ends the process, even in the middle of a large file, leaves
//! nothing behind. Where it cannot, and for the moment in which a file is replaced, it has a name that nobody can guess.

use std::ffi::{OsStr, OsString};
use std::fs::{File, FileTimes};
use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

use haft_text::hex;
use ring::digest::{Context, SHA256};
use ring::rand::{SecureRandom, SystemRandom};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Stat, Uid, fchmod, fchown, fstat, openat, unlinkat};
use rustix::io::Errno;

use super::attributes;
use super::blocking::Stop;
use super::errors;
use super::fingerprint::each_piece;
use super::parent::Parent;
use super::reader::PIECE;
use super::target;
use super::tmpfile;

/// How often a name that is taken, or a directory that is gone, is replaced by another.
pub(super) const ATTEMPTS: usize = 8;
const TEMPORARY: OFlags = OFlags::RDWR.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const NEW_FILE: Mode = Mode::RUSR.union(Mode::WUSR).union(Mode::RGRP).union(Mode::WGRP).union(Mode::ROTH).union(Mode::WOTH);

/// A temporary file in its target's directory. Dropped before it is in place, it is gone.
pub(super) struct TemporaryFile {
    pub(super) parent: Parent,
    pub(super) name: OsString,
    /// The name it has until then, if it has one.
    pub(super) temporary: Option<OsString>,
    file: File,
    /// The permissions that a new file has here.
    natural: Mode,
    hash: Context,
    pub(super) stop: Stop,
    pub(super) placed: bool,
}

impl TemporaryFile {
    /// Makes an empty one, that only its owner can read.
    pub(super) fn begin(parent: Parent, name: &OsStr, stop: Stop) -> Result<Self, Errno> {
        let (temporary, file) = match tmpfile::create(&parent, NEW_FILE) {
            Some(file) => (None, file),
            None => create(&parent).map(|(name, file)| (Some(name), file))?,
        };
        let name = name.to_owned();
        let mut draft = Self { parent, name, temporary, file, natural: Mode::empty(), hash: Context::new(&SHA256), stop, placed: false };
        draft.natural = target::permissions(&fstat(&draft.file)?);
        fchmod(&draft.file, Mode::RUSR | Mode::WUSR)?;
        Ok(draft)
    }

    /// Adds content.
    pub(super) fn add(&mut self, content: &[u8]) -> Result<(), Errno> {
        for piece in content.chunks(PIECE) {
            self.stop.check()?;
            self.file.write_all(piece).map_err(|error| errors::number(&error))?;
            self.hash.update(piece);
        }
        Ok(())
    }

    /// Adds the content of another file.
    pub(super) fn add_file(&mut self, other: &File) -> Result<(), Errno> {
        let stop = self.stop.clone();
        each_piece(other, 0, &stop, |piece| self.add(piece))
    }

    /// Takes over a file's owner and group where that is possible, and says which permissions may be granted then.
    pub(super) fn inherit(&self, old: &Stat) -> Result<Mode, Errno> {
        let own = fstat(&self.file)?;
        let (owner, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
        let is_same = (own.st_uid, own.st_gid) == (old.st_uid, old.st_gid);
        if is_same || fchown(&self.file, Some(owner), Some(group)).is_ok() {
            return Ok(target::PERMISSIONS);
        }
        // What the old owner or group was granted is not for another one.
        let of_owner = target::PERMISSIONS - Mode::SUID;
        Ok(if fchown(&self.file, None, Some(group)).is_ok() { of_owner } else { of_owner - Mode::RWXG - Mode::SGID })
    }

    /// Takes over the extended attributes of the file that it replaces.
    pub(super) fn take_attributes(&self, old: &File) {
        attributes::copy_open(old, &self.file);
    }

    /// Sets when its content was last changed. Without it the file is only younger than it could be.
    pub(super) fn set_modified(&self, modified: SystemTime) {
        self.file.set_times(FileTimes::new().set_modified(modified)).ok();
    }

    /// Takes over the modification time and the user's extended attributes of another file, as far as the file system keeps them.
    pub(super) fn carry_over(&self, source: &Path) {
        let modified = source.symlink_metadata().and_then(|metadata| metadata.modified());
        if let Ok(modified) = modified {
            self.set_modified(modified);
        }
        attributes::copy(source, &self.file);
    }

    /// Ends the content, and sets the permissions. Gives the fingerprint.
    pub(super) fn finalize(&mut self, permissions: Option<Mode>) -> Result<String, Errno> {
        fchmod(&self.file, permissions.unwrap_or(self.natural))?;
        Ok(hex::encode(self.hash.clone().finish()))
    }

    /// Another handle of its file.
    pub(super) fn duplicate(&self) -> Result<File, Errno> {
        self.file.try_clone().map_err(|error| errors::number(&error))
    }

    /// Puts it in its target's place.
    pub(super) fn place(&mut self, is_new: bool) -> Result<(), Errno> {
        if self.temporary.is_none() && is_new {
            match tmpfile::link(&self.file, &self.parent, &self.name) {
                // A name is needed where that is not allowed.
                Err(errno) if !matches!(errno, Errno::EXIST | Errno::NOENT) => {}
                answer => return answer,
            }
        }
        if self.temporary.is_none() {
            self.take_a_name()?;
        }
        self.rename(is_new)
    }

    fn take_a_name(&mut self) -> Result<(), Errno> {
        let name = random_name()?;
        match tmpfile::link(&self.file, &self.parent, &name) {
            Ok(()) => self.temporary = Some(name),
            Err(errno @ Errno::NOENT) => return Err(errno),
            Err(_) => self.copy_to_a_name()?,
        }
        Ok(())
    }

    /// Writes it once more, into a file that has a name.
    fn copy_to_a_name(&mut self) -> Result<(), Errno> {
        let (name, file) = create(&self.parent)?;
        self.temporary = Some(name);
        fchmod(&file, Mode::RUSR | Mode::WUSR)?;
        let old = std::mem::replace(&mut self.file, file);
        let stop = self.stop.clone();
        each_piece(&old, 0, &stop, |piece| self.file.write_all(piece).map_err(|error| errors::number(&error)))?;
        let stat = fstat(&old)?;
        let most = self.inherit(&stat)?;
        self.take_attributes(&old);
        fchmod(&self.file, target::permissions(&stat) & most)?;
        sync_file(&self.file)
    }

    fn rename(&self, is_new: bool) -> Result<(), Errno> {
        let Some(from) = &self.temporary else { return Err(Errno::NOENT) };
        let (directory, to) = (self.parent.handle(), &self.name);
        #[cfg(any(target_os = "linux", target_vendor = "apple"))]
        if is_new {
            use rustix::fs::{RenameFlags, renameat_with};
            match renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
                // Not every file system knows how; the look a moment ago has to do.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
                answer => return answer,
            }
        }
        rustix::fs::renameat(directory, from, directory, to)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if let (false, Some(temporary)) = (self.placed, &self.temporary) {
            // Nothing better can be done about one that will not go.
            let _ = unlinkat(self.parent.handle(), temporary, AtFlags::empty());
        }
    }
}

/// Waits until the content of a file is on the disk.
pub(super) fn sync_file(file: &File) -> Result<(), Errno> {
    file.sync_all().map_err(|error| errors::number(&error))
}

/// Creates a file under a name that nobody can guess, and that nobody else has made.
fn create(parent: &Parent) -> Result<(OsString, File), Errno> {
    for _ in 0..ATTEMPTS {
        let name = random_name()?;
        match openat(parent.handle(), &name, TEMPORARY, NEW_FILE) {
            Err(Errno::EXIST) => {}
            answer => return answer.map(|handle| (name, File::from(handle))),
        }
    }
    Err(Errno::EXIST)
}

fn random_name() -> Result<OsString, Errno> {
    let mut random = [0; 16];
    SystemRandom::new().fill(&mut random).map_err(|_| Errno::IO)?;
    Ok(OsString::from(format!(".haft-{}", hex::encode(random))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::beneath::Way;
    use crate::files::blocking::{Call, Stop};
    use crate::files::roots::{RootedPath, Roots};

    fn draft(folder: &std::path::Path, way: Way, stop: Stop) -> TemporaryFile {
        let roots = Roots::open(folder, &[], &[], way).unwrap();
        let place = RootedPath { root: roots.writable().next().unwrap().clone(), beneath: "file".into() };
        TemporaryFile::begin(Parent::open(&place).unwrap(), OsStr::new("file"), stop).unwrap()
    }

    fn mode(draft: &TemporaryFile) -> u32 {
        target::permissions(&fstat(&draft.file).unwrap()).as_raw_mode()
    }

    #[test]
    fn a28_content_is_private_until_it_is_complete() {
        for way in [Way::Kernel, Way::Walk] {
            let folder = tempfile::TempDir::new().unwrap();
            let (_call, stop) = Call::begin();
            let mut draft = draft(folder.path(), way, stop);
            draft.add(b"new").unwrap();
            assert_eq!(mode(&draft), 0o600);
            draft.finalize(Some(Mode::RUSR | Mode::RGRP)).unwrap();
            assert_eq!(mode(&draft), 0o440);
            if let Some(temporary) = &draft.temporary {
                let taken = openat(draft.parent.handle(), temporary, TEMPORARY, Mode::RUSR);
                assert_eq!(taken.unwrap_err(), Errno::EXIST, "a name that is taken is never used");
            }
        }
    }

    #[test]
    fn what_may_not_be_given_a_name_is_written_once_more() {
        for (way, is_new) in [Way::Kernel, Way::Walk].into_iter().flat_map(|way| [(way, true), (way, false)]) {
            let folder = tempfile::TempDir::new().unwrap();
            let (_call, stop) = Call::begin();
            let mut draft = draft(folder.path(), way, stop);
            draft.add(b"new").unwrap();
            draft.finalize(Some(Mode::RUSR | Mode::RGRP)).unwrap();
            if let Some(name) = draft.temporary.take() {
                unlinkat(draft.parent.handle(), name, AtFlags::empty()).unwrap();
            }
            draft.copy_to_a_name().unwrap();
            assert_eq!(mode(&draft), 0o440);
            draft.place(is_new).unwrap();
            draft.placed = true;
            let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!((names, std::fs::read(folder.path().join("file")).unwrap()), (vec!["file".into()], b"new".to_vec()));
        }
    }
}
