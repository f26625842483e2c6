//! Folders as a search sees them, and whether what it saw was all there at one moment.
//!
//! Commands may move folders while a search runs: from a part that is not read yet to one that was read already. So the search goes
//! through all folders again until it reads none anew. Then everything that it knows was there at the moment when the last pass began:
//! nothing in a folder has changed between its reading and its check in that pass. A folder is checked by its stamp, or, where stamps
//! cannot tell because it changes all the time, by a watch that was there before it was read.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use haft_contract::FileIdentity;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::super::folder_stamp::FolderStamp;
use super::scan::MOST_ENTRIES;
use super::watched_folders::WatchedFolders;

/// Folders in a cache; then it starts anew.
const MOST_CACHED: usize = 100_000;
/// How long a search waits for a moment in which nothing moves, and how many passes it makes before it waits between them.
const TIME: Duration = Duration::from_secs(2);
const EAGER_PASSES: u32 = 8;
const PAUSE: Duration = Duration::from_millis(2);

/// Folders, and those in generated ones, where other rules apply.
pub(super) type ScannedFolders = [HashMap<PathBuf, Arc<ScannedFolder>>; 2];

/// What matters of a folder.
#[derive(Debug)]
pub(super) struct ScannedFolder {
    stamp: FolderStamp,
    pub(super) count: usize,
    pub(super) entries: Vec<ScannedEntry>,
}

#[derive(Debug)]
pub(super) struct ScannedEntry {
    pub(super) name: OsString,
    pub(super) role: EntryRole,
    /// Of those that are hidden or protected, and no links.
    pub(super) identity: Option<FileIdentity>,
}

/// Why an entry matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryRole {
    Folder,
    GeneratedFolder,
    Denied,
    /// A secret by its name, in a generated folder: it counts if it was moved there.
    MovedSecret,
    Protected,
    Repository,
    /// A file that the search looks for by its inode.
    Wanted,
}

impl EntryRole {
    /// Whether it leads the search on; what else matters is a mount, which needs the identity.
    fn is_folder(self) -> bool {
        matches!(self, Self::Folder | Self::GeneratedFolder)
    }
}

/// An entry of a folder, before it is known what it is.
pub(super) struct FolderEntry<'a> {
    pub(super) folder: &'a Path,
    pub(super) is_generated: bool,
    pub(super) name: &'a OsStr,
    pub(super) kind: EntryKind,
    /// Absent if only the name is known.
    pub(super) inode: Option<u64>,
}

/// What the search needs to know of a file type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    Folder,
    Link,
    Socket,
    Other,
}

/// Tells which entries matter to a search.
pub(super) trait EntryRoles {
    fn role(&self, entry: &FolderEntry<'_>) -> Option<EntryRole>;
}

/// What a path of a folder led to.
pub(super) enum FoundFolder {
    Listed(Arc<ScannedFolder>),
    /// It is not there, or not any more.
    Absent,
    /// It cannot be listed or entered now, but its owner, who is this user, can change that.
    Closed(FileIdentity),
}

/// Reads the folders of one search.
pub(super) struct FolderReader<'a> {
    known: &'a mut ScannedFolders,
    watched: WatchedFolders,
    read_before: HashSet<PathBuf>,
    /// What changed in this pass, if something did.
    changed: Option<PathBuf>,
    /// Whether this pass has looked at a folder.
    has_begun: bool,
    passes: u32,
    started: Instant,
    #[cfg(test)]
    pub(super) before_read: Option<&'a mut dyn FnMut(&Path)>,
}

impl<'a> FolderReader<'a> {
    pub(super) fn new(known: &'a mut ScannedFolders) -> Self {
        // Not in the middle of a search, which would read all folders again and again.
        known.iter_mut().filter(|known| known.len() >= MOST_CACHED).for_each(HashMap::clear);
        Self {
            known,
            watched: WatchedFolders::default(),
            read_before: HashSet::new(),
            changed: None,
            has_begun: false,
            passes: 0,
            started: Instant::now(),
            #[cfg(test)]
            before_read: None,
        }
    }

    /// Whether the pass that has ended read nothing anew. If not, another one is to be made, as long as there is time: then the error
    /// names what changed.
    pub(super) fn end_pass(&mut self, roles: &dyn Fn(&FolderEntry<'_>) -> bool) -> Result<bool, PathBuf> {
        self.has_begun = false;
        let moved = self.watched.find_change(roles);
        let Some(changed) = self.changed.take().or(moved) else { return Ok(true) };
        self.passes += 1;
        if self.started.elapsed() > TIME {
            return Err(changed);
        }
        if self.passes > EAGER_PASSES {
            thread::sleep(PAUSE);
        }
        Ok(false)
    }

    /// What matters in a folder. Those that have not changed since they were read are not read again.
    pub(super) fn folder(&mut self, folder: &Path, is_generated: bool, roles: &dyn EntryRoles) -> FoundFolder {
        let now = SystemTime::now();
        // What is read before anything is checked is what was there when the checks began.
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let Some(metadata) = fs::symlink_metadata(folder).ok().filter(Metadata::is_dir) else { return self.missing(folder) };
        let stamp = FolderStamp::from_metadata(&metadata);
        let known = self.known[usize::from(is_generated)].get(folder).filter(|known| known.stamp == stamp).cloned();
        if let Some(known) = known.or_else(|| self.watched.unchanged(folder, is_generated, FileIdentity::from_metadata(&metadata))) {
            return FoundFolder::Listed(known);
        }
        #[cfg(test)]
        if let Some(hook) = &mut self.before_read {
            hook(folder);
        }
        let is_unsteady = !self.read_before.insert(folder.to_owned()) || !stamp.is_settled(now);
        match self.read(folder, is_generated, is_unsteady, roles) {
            Ok(scanned) => {
                self.changed = self.changed.take().or_else(|| (!is_first).then(|| folder.to_owned()));
                FoundFolder::Listed(scanned)
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => closed(&metadata),
            Err(_) => self.missing(folder),
        }
    }

    /// What the folder above it named, and is gone, was moved meanwhile.
    fn missing(&mut self, folder: &Path) -> FoundFolder {
        self.changed = Some(folder.to_owned());
        FoundFolder::Absent
    }

    fn read(&mut self, folder: &Path, is_generated: bool, is_unsteady: bool, roles: &dyn EntryRoles) -> io::Result<Arc<ScannedFolder>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(CWD, folder, flags, Mode::empty())?;
        let watch = if is_unsteady { self.watched.add(&handle, folder, is_generated) } else { None };
        let watch = watch.and_then(|watch| Some((watch, handle.try_clone().ok()?)));
        let now = SystemTime::now();
        let stat = rustix::fs::fstat(&handle)?;
        check_entry(&stat)?;
        let stamp = FolderStamp::from_stat(&stat);
        let scanned = Arc::new(ScannedFolder::read(handle, stamp, folder, is_generated, roles)?);
        if stamp.is_settled(now) {
            self.known[usize::from(is_generated)].insert(folder.to_owned(), Arc::clone(&scanned));
        }
        if let Some((watch, handle)) = watch {
            self.watched.insert(watch, handle, identity_of_stat(&stat), Arc::clone(&scanned));
        }
        Ok(scanned)
    }
}

/// A folder that cannot be read. The command has no more rights than we; only those of the owner can change.
fn closed(folder: &Metadata) -> FoundFolder {
    let is_own = folder.uid() == rustix::process::geteuid().as_raw();
    if is_own { FoundFolder::Closed(FileIdentity::from_metadata(folder)) } else { FoundFolder::Absent }
}

/// One that its owner can list and not enter hides what its entries are.
fn check_entry(folder: &Stat) -> io::Result<()> {
    let user = rustix::process::geteuid();
    let is_closed = !user.is_root() && folder.st_uid == user.as_raw() && !Mode::from_raw_mode(folder.st_mode).contains(Mode::XUSR);
    if is_closed { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
}

fn identity_of_stat(stat: &Stat) -> FileIdentity {
    #[cfg_attr(target_os = "linux", expect(clippy::useless_conversion, reason = "other systems have other types"))]
    let (device, inode) = (u64::try_from(stat.st_dev).unwrap_or_default(), u64::from(stat.st_ino));
    FileIdentity { device, inode, is_folder: FileType::from_raw_mode(stat.st_mode).is_dir() }
}

impl ScannedFolder {
    /// Reads the folder of this handle, which is the one whose stamp was taken.
    fn read(handle: OwnedFd, stamp: FolderStamp, folder: &Path, is_generated: bool, roles: &dyn EntryRoles) -> io::Result<Self> {
        let mut scanned = Self { stamp, count: 0, entries: Vec::new() };
        let mut listing = Dir::new(handle)?;
        while let Some(entry) = listing.next() {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            scanned.count += 1;
            let kind = kind_of(listing.fd()?, name, entry.file_type());
            let role = roles.role(&FolderEntry { folder, is_generated, name, kind, inode: Some(entry.ino()) });
            scanned.entries.extend(role.map(|role| ScannedEntry { name: name.to_owned(), role, identity: None }));
            if scanned.count > MOST_ENTRIES {
                break;
            }
        }
        let handle = listing.fd()?;
        for entry in scanned.entries.iter_mut().filter(|entry| !entry.role.is_folder()) {
            entry.identity = identity_in(handle, &entry.name)?;
        }
        Ok(scanned)
    }
}

/// The file type, which not every file system tells with the name.
fn kind_of(folder: BorrowedFd<'_>, name: &OsStr, kind: FileType) -> EntryKind {
    let look_up = || rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| FileType::from_raw_mode(stat.st_mode));
    match if kind == FileType::Unknown { look_up().unwrap_or(kind) } else { kind } {
        FileType::Directory => EntryKind::Folder,
        FileType::Symlink => EntryKind::Link,
        FileType::Socket => EntryKind::Socket,
        _ => EntryKind::Other,
    }
}

/// The identity of an entry that is no link. One that is gone by now has changed the folder.
fn identity_in(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<FileIdentity>> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok((!FileType::from_raw_mode(stat.st_mode).is_symlink()).then(|| identity_of_stat(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A path that leads to the folder of a handle, wherever it is moved.
pub(super) fn handle_path(handle: impl AsFd) -> PathBuf {
    use std::os::fd::AsRawFd;
    let folder = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    Path::new(folder).join(handle.as_fd().as_raw_fd().to_string())
}
