//! A directory that is held open, and what a visitor gets of it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use haft_contract::{EntryStamp, TreeEntry, Visit};
use rustix::fs::{AtFlags, FileType, OFlags, Stat, fstat, statat};
use rustix::io::Errno;

use super::super::beneath::{DIRECTORY, READ, open_beneath, open_name};
use super::super::blocking::Stop;
use super::super::open::{changed, is_shown_by_the_kernel, modified, size_of};
use super::super::roots::Root;
use super::{TreeWalk, lead};

/// A directory to list.
const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory, held open.
#[derive(Debug)]
pub(super) struct OpenDirectory {
    pub(super) handle: OwnedFd,
    /// Its whole path.
    pub(super) path: PathBuf,
    device: Option<u64>,
}

impl OpenDirectory {
    /// Opens a directory that can be listed.
    pub(super) fn open(root: &Root, path: &Path) -> Result<Self, Errno> {
        Self::opened(root, path, LISTED)
    }
    /// Opens a directory only for what is in it.
    pub(super) fn hold(root: &Root, path: &Path) -> Result<Self, Errno> {
        Self::opened(root, path, DIRECTORY)
    }

    fn opened(root: &Root, path: &Path, flags: OFlags) -> Result<Self, Errno> {
        let handle = open_beneath(root, path.strip_prefix(root.path()).unwrap_or(path), flags)?;
        // What the kernel shows as files is not listed, wherever it is mounted.
        if is_shown_by_the_kernel(&handle) {
            return Err(Errno::NOENT);
        }
        let device = fstat(&handle).ok().map(|stat| stat.st_dev);
        Ok(Self { handle, path: path.to_owned(), device })
    }

    /// What a name is here, a link being a link.
    pub(super) fn status(&self, name: &OsStr) -> Result<Stat, Errno> {
        statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Opens an ordinary file, and nothing else.
    pub(super) fn open_file(&self, name: &OsStr) -> Result<(File, Stat), Errno> {
        let handle = open_name(&self.handle, name, READ)?;
        let stat = fstat(&handle)?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        // The directory's own file system was looked at when it was opened.
        let is_elsewhere = self.device != Some(stat.st_dev);
        if !is_file || (is_elsewhere && is_shown_by_the_kernel(&handle)) {
            return Err(Errno::INVAL);
        }
        Ok((File::from(handle), stat))
    }
}

impl TreeWalk {
    /// Shows an entry to the visitor.
    pub(super) fn visit(&self, directory: &OpenDirectory, path: &Path, name: &OsStr, is_directory: bool) {
        let found = VisitedEntry { directory, path, name, is_directory, stop: &self.stop };
        if self.visitor.visit(&found) == Visit::Enough {
            self.enough.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }
    /// How many bytes of a whole path a visitor is not shown.
    pub(super) fn lead(&self) -> usize {
        lead(&self.path)
    }
}

/// Something that was found.
struct VisitedEntry<'w> {
    directory: &'w OpenDirectory,
    path: &'w Path,
    name: &'w OsStr,
    is_directory: bool,
    stop: &'w Stop,
}

impl VisitedEntry<'_> {
    /// What it is, if it is still what was listed.
    fn status(&self) -> Result<Stat, Errno> {
        let stat = self.directory.status(self.name)?;
        let expected = if self.is_directory { FileType::Directory } else { FileType::RegularFile };
        if FileType::from_raw_mode(stat.st_mode) == expected { Ok(stat) } else { Err(Errno::LOOP) }
    }
}

impl TreeEntry for VisitedEntry<'_> {
    fn path(&self) -> &Path {
        self.path
    }
    fn is_directory(&self) -> bool {
        self.is_directory
    }
    fn facts(&self) -> io::Result<(u64, Option<SystemTime>)> {
        let stat = self.status()?;
        Ok((size_of(&stat), modified(&stat)))
    }
    #[allow(clippy::useless_conversion, reason = "narrower on other systems")]
    fn stamp(&self) -> io::Result<EntryStamp> {
        let stat = self.status()?;
        Ok(EntryStamp { size: size_of(&stat), modified: modified(&stat), changed: changed(&stat), names: stat.st_nlink.into() })
    }
    fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        self.open_from(0)
    }
    fn open_from(&self, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        let (mut file, stat) = self.directory.open_file(self.name)?;
        if offset > 0 {
            file.seek(SeekFrom::Start(offset))?;
        }
        Ok(Box::new(BoundedContent { file, size: size_of(&stat), read: offset, stop: self.stop.clone() }))
    }
}

/// What a file holds; reading it ends with the call that it is for.
struct BoundedContent {
    file: File,
    /// The file's size when it was opened, if it has one: so its end is known without asking.
    size: u64,
    read: u64,
    stop: Stop,
}

impl Read for BoundedContent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stop.check()?;
        if self.read >= self.size && self.size > 0 {
            return Ok(0);
        }
        let length = self.file.read(buffer)?;
        self.read += length as u64;
        Ok(length)
    }
}
