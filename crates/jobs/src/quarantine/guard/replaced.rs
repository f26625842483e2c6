//! Protected files that the user replaces while a command runs.
//!
//! A mount makes the file read-only for the command, until the user renames another over it: then the mount detaches, and the
//! command can write the new one. The kernel reports what happens to the name, in order. While the mount holds, a rename can only
//! be the user's; what comes after it may be the command's.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::{KeptFile, MAX_COPY, version};

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const CONTENT: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
/// Of the events that are read at a time.
const BUFFER: usize = 4096;

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileState {
    /// The mount holds.
    Mounted,
    /// Another file was renamed over it, and nothing else happened since.
    Replaced,
    /// Anything else.
    Unknown,
}

/// The protected files that are mounted, and what happens to them.
#[derive(Debug)]
pub(super) struct ReplacedFiles {
    events: OwnedFd,
    /// The folders by their watch, with a handle: a command can rename them.
    folders: HashMap<i32, (PathBuf, OwnedFd)>,
    files: BTreeMap<(i32, OsString), FileState>,
}

impl ReplacedFiles {
    /// Watches these files from now on; `None` if there are none, or the kernel gives no more watches.
    pub(super) fn watch<'a>(files: impl Iterator<Item = &'a Path>) -> Option<Self> {
        let mut watched: Option<Self> = None;
        for file in files {
            let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else { continue };
            let all = match &mut watched {
                Some(all) => all,
                None => watched.insert(Self::new().ok()?),
            };
            all.add(folder, name).ok()?;
        }
        watched
    }

    fn new() -> io::Result<Self> {
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        Ok(Self { events, folders: HashMap::new(), files: BTreeMap::new() })
    }

    fn add(&mut self, folder: &Path, name: &OsStr) -> io::Result<()> {
        let kinds = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW;
        let watch = inotify::add_watch(&self.events, folder, kinds)?;
        if let std::collections::hash_map::Entry::Vacant(new) = self.folders.entry(watch) {
            new.insert((folder.to_owned(), openat(CWD, folder, FOLDER, Mode::empty())?));
        }
        self.files.insert((watch, name.to_owned()), FileState::Mounted);
        Ok(())
    }

    /// The files that the user has replaced since the last time, as the user left them.
    pub(super) fn take_replaced(&mut self) -> Vec<(PathBuf, KeptFile)> {
        self.read_events();
        let replaced: Vec<_> =
            self.files.iter().filter(|(_, state)| **state == FileState::Replaced).map(|(file, _)| file.clone()).collect();
        let found: Vec<_> = replaced.into_iter().filter_map(|file| Some((self.read(&file)?, file))).collect();
        // What was written while it was read may be the command's.
        self.read_events();
        let mut kept = Vec::new();
        for (file, at) in found {
            if self.files.insert(at.clone(), FileState::Unknown) == Some(FileState::Replaced)
                && let Some((folder, _)) = self.folders.get(&at.0)
            {
                kept.push((folder.join(&at.1), file));
            }
        }
        kept
    }

    /// Reads a file by the handle of its folder: another folder may be at its path by now. One with a second name could be
    /// written without an event.
    fn read(&self, (watch, name): &(i32, OsString)) -> Option<KeptFile> {
        let (_, folder) = self.folders.get(watch)?;
        let mut file = File::from(openat(folder, name.as_os_str(), CONTENT, Mode::empty()).ok()?);
        let metadata = file.metadata().ok().filter(|found| found.is_file() && found.len() <= MAX_COPY && found.nlink() == 1)?;
        let mut bytes = Vec::new();
        file.by_ref().take(MAX_COPY).read_to_end(&mut bytes).ok()?;
        let is_unchanged = file.metadata().is_ok_and(|now| version(&now) == version(&metadata));
        is_unchanged.then(|| KeptFile { version: version(&metadata), mode: metadata.mode(), bytes: Some(bytes) })
    }

    fn read_events(&mut self) {
        let Self { events, files, .. } = self;
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut reader = inotify::Reader::new(&*events, &mut buffer);
        while let Ok(event) = reader.next() {
            let kinds = event.events();
            if kinds.contains(ReadFlags::QUEUE_OVERFLOW) {
                for state in files.values_mut() {
                    *state = FileState::Unknown;
                }
                continue;
            }
            let Some(name) = event.file_name() else { continue };
            if let Some(state) = files.get_mut(&(event.wd(), OsStr::from_bytes(name.to_bytes()).to_owned())) {
                *state = state.after(kinds);
            }
        }
    }
}

impl FileState {
    fn after(self, kinds: ReadFlags) -> Self {
        match self {
            Self::Mounted if kinds.contains(ReadFlags::MOVED_TO) => Self::Replaced,
            // The user writes it in its place: for the command it is read-only.
            Self::Mounted if !kinds.intersects(ReadFlags::CREATE | ReadFlags::DELETE | ReadFlags::MOVED_FROM) => Self::Mounted,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// What is taken for the user's version of `d/file` after these changes.
    fn after(changes: impl FnOnce(&Path)) -> Option<String> {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("d");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("file"), "old").unwrap();
        fs::write(folder.join("new"), "new").unwrap();
        let file = folder.join("file");
        let mut watched = ReplacedFiles::watch([file.as_path()].into_iter()).unwrap();
        changes(&folder);
        let replaced = watched.take_replaced();
        assert_eq!(watched.take_replaced().len(), 0, "each is taken once");
        assert!(replaced.iter().all(|(path, _)| *path == file));
        replaced.into_iter().next().map(|(_, kept)| String::from_utf8(kept.bytes.unwrap()).unwrap())
    }

    #[test]
    fn file_that_was_renamed_into_its_place_is_the_users_until_something_else_happens() {
        let replace = |folder: &Path| fs::rename(folder.join("new"), folder.join("file")).unwrap();
        let write = |folder: &Path, text: &str| fs::write(folder.join("file"), text).unwrap();
        assert_eq!(after(|_| {}), None);
        assert_eq!(after(replace).as_deref(), Some("new"));
        assert_eq!(after(|folder| write(folder, "in place")), None, "the mount still holds");
        let in_place_first = |folder: &Path| {
            write(folder, "in place");
            replace(folder);
        };
        assert_eq!(after(in_place_first).as_deref(), Some("new"));
        let written_later = |folder: &Path| {
            replace(folder);
            write(folder, "planted");
        };
        assert_eq!(after(written_later), None);
        let created_anew = |folder: &Path| {
            fs::remove_file(folder.join("file")).unwrap();
            write(folder, "planted");
        };
        assert_eq!(after(created_anew), None);
        let replaced_twice = |folder: &Path| {
            replace(folder);
            fs::write(folder.join("other"), "planted").unwrap();
            fs::rename(folder.join("other"), folder.join("file")).unwrap();
        };
        assert_eq!(after(replaced_twice), None);
        let linked = |folder: &Path| {
            fs::hard_link(folder.join("new"), folder.join("second")).unwrap();
            replace(folder);
        };
        assert_eq!(after(linked), None, "it could be written under its other name");
        let folder_exchanged = |folder: &Path| {
            replace(folder);
            fs::rename(folder, folder.with_file_name("moved")).unwrap();
            fs::create_dir(folder).unwrap();
            write(folder, "planted");
        };
        assert_eq!(after(folder_exchanged).as_deref(), Some("new"));
    }
}
