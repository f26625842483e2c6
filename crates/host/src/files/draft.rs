//! New content beside its target, until it takes the target's place.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;

use haft_contract::{Location, PreImage, ToolError};
use ring::digest::{Context, SHA256};
use ring::rand::{SecureRandom, SystemRandom};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Stat, Uid, fchmod, fchown, fstat, openat, unlinkat};
use rustix::io::Errno;

use super::blocking::Stop;
use super::change::{Outcome, Step};
use super::errors::{self, Deed, failed};
use super::fingerprint::{each_piece, hex, hex_of};
use super::parent::Parent;
use super::reader::PIECE;
use super::target::{self, Target};

/// How often a name that is taken is replaced by another.
const ATTEMPTS: usize = 8;
const TEMPORARY: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A temporary file in its target's directory. Dropped before it is in place, it is gone.
pub(super) struct Draft {
    parent: Parent,
    name: OsString,
    temporary: OsString,
    file: File,
    /// The permissions that a new file has here.
    natural: Mode,
    hash: Context,
    stop: Stop,
    placed: bool,
}

impl Draft {
    /// Makes an empty one, that only its owner can read.
    pub(super) fn begin(parent: Parent, name: &OsStr, stop: Stop) -> Result<Self, Errno> {
        let (temporary, file) = create(&parent)?;
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
        each_piece(other, &stop, |piece| self.add(piece))
    }

    /// Takes over a file's owner and group where that is possible, and says which permissions may be granted then.
    pub(super) fn inherit(&self, old: &Stat) -> Result<Mode, Errno> {
        let own = fstat(&self.file)?;
        let (owner, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
        let is_same = (own.st_uid, own.st_gid) == (old.st_uid, old.st_gid);
        if is_same || fchown(&self.file, Some(owner), Some(group)).is_ok() || fchown(&self.file, None, Some(group)).is_ok() {
            return Ok(target::PERMISSIONS);
        }
        // What the old group was granted is not for another one.
        Ok(target::PERMISSIONS - Mode::RWXG)
    }

    /// Ends the content: permissions set, everything on the disk. Gives the fingerprint.
    pub(super) fn seal(&mut self, permissions: Option<Mode>) -> Result<String, Errno> {
        fchmod(&self.file, permissions.unwrap_or(self.natural))?;
        self.file.sync_all().map_err(|error| errors::number(&error))?;
        Ok(hex(&self.hash.clone().finish()))
    }

    /// Puts it in its target's place, if that still is what it was.
    fn place(mut self, at: &Location, before: Option<&Stat>) -> Outcome {
        if let Err(error) = self.try_place(at, before) {
            return Outcome::NotDone(error);
        }
        self.placed = true;
        self.parent.settle();
        Outcome::done(self.parent.sync(), at)
    }

    fn try_place(&self, at: &Location, before: Option<&Stat>) -> Result<(), ToolError> {
        self.stop.check().map_err(|errno| failed(Deed::Write, at, errno))?;
        target::check_unchanged(&self.parent, &self.name, at, before)?;
        self.rename(before.is_none()).map_err(|errno| match errno {
            Errno::EXIST => errors::changed_meanwhile(at),
            _ => failed(Deed::Write, at, errno),
        })
    }

    fn rename(&self, is_new: bool) -> Result<(), Errno> {
        let (directory, from, to) = (self.parent.handle(), &self.temporary, &self.name);
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

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.placed {
            // Nothing better can be done about one that will not go.
            let _ = unlinkat(self.parent.handle(), &self.temporary, AtFlags::empty());
        }
    }
}

/// A draft that only has to be put in place.
pub(super) struct Staged {
    at: Location,
    before: Option<Stat>,
    draft: Draft,
}

impl Staged {
    /// A sealed draft with this fingerprint, and the pre-image of what it replaces.
    pub(super) fn new(at: &Location, before: Option<Target>, draft: Draft, after: String) -> (Self, PreImage) {
        let stat = before.as_ref().map(|target| target.stat);
        let image = target::pre_image(at, before, Some(after), &draft.parent);
        (Self { at: at.clone(), before: stat, draft }, image)
    }
}

impl Step for Staged {
    fn take(self) -> Outcome {
        self.draft.place(&self.at, self.before.as_ref())
    }
}

/// Creates a file under a name that nobody can guess, and that nobody else has made.
fn create(parent: &Parent) -> Result<(OsString, File), Errno> {
    for _ in 0..ATTEMPTS {
        let mut random = [0; 16];
        SystemRandom::new().fill(&mut random).map_err(|_| Errno::IO)?;
        let name = OsString::from(format!(".haft-{}", hex_of(&random)));
        match openat(parent.handle(), &name, TEMPORARY, Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH) {
            Err(Errno::EXIST) => {}
            answer => return answer.map(|handle| (name, File::from(handle))),
        }
    }
    Err(Errno::EXIST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::beneath::Way;
    use crate::files::blocking::Call;
    use crate::files::roots::{Place, Roots};

    #[test]
    fn a28_content_is_private_until_it_is_complete() {
        let folder = tempfile::TempDir::new().unwrap();
        let roots = Roots::open(folder.path(), &[], &[], Way::Kernel).unwrap();
        let place = Place { root: roots.writable().next().unwrap().clone(), beneath: "file".into() };
        let (_call, stop) = Call::begin();
        let mut draft = Draft::begin(Parent::open(&place).unwrap(), OsStr::new("file"), stop).unwrap();
        let mode = |draft: &Draft| target::permissions(&fstat(&draft.file).unwrap()).as_raw_mode();
        draft.add(b"new").unwrap();
        assert_eq!(mode(&draft), 0o600);
        draft.seal(Some(Mode::RUSR | Mode::RGRP)).unwrap();
        assert_eq!(mode(&draft), 0o440);
        let taken = openat(draft.parent.handle(), &draft.temporary, TEMPORARY, Mode::RUSR);
        assert_eq!(taken.unwrap_err(), Errno::EXIST, "a name that is taken is never used");
    }
}
