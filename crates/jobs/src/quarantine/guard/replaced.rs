//! Protected files that the user replaces while a command runs.
//!
//! A mount makes the file read-only for the command, until the user renames another over it or removes it: then the mount detaches,
//! and the command can write the new one. The kernel reports what happens to the name, in order. While the mount holds, a rename or a
//! removal can only be the user's; what comes after it may be the command's, unless no process of the command ran meanwhile.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use haft_sandbox::RunActivity;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, statat};
use rustix::io::Errno;

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
    /// The user has removed it, and nothing else happened since.
    Removed,
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
    /// Files of which an event came since the last look.
    touched: BTreeSet<(i32, OsString)>,
    /// The command as it slept at the last look; no event came after that until the look was over.
    at_rest: Option<RunActivity>,
}

/// What the user has done since the last look.
#[derive(Debug, Default)]
pub(super) struct UserChanges {
    /// The files as the user left them.
    pub(super) replaced: Vec<(PathBuf, KeptFile)>,
    /// Files that are gone.
    pub(super) removed: Vec<PathBuf>,
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
        Ok(Self { events, folders: HashMap::new(), files: BTreeMap::new(), touched: BTreeSet::new(), at_rest: None })
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

    /// What the user has changed since the last look. `activity` tells what the command has done.
    pub(super) fn take_changes(&mut self, activity: impl FnOnce() -> Option<RunActivity>) -> UserChanges {
        self.read_events();
        let touched = std::mem::take(&mut self.touched);
        let found: Vec<_> = touched.iter().map(|file| (file.clone(), self.read(file))).collect();
        let now = activity();
        // Then all of it was the user, also what was read.
        let is_users = now.is_some() && now == self.at_rest;
        // What was written while it was looked at may be the command's.
        self.read_events();
        self.at_rest = now.filter(|_| self.touched.is_empty());
        let mut changes = UserChanges::default();
        for (file, kept) in found {
            if !self.touched.contains(&file) {
                self.settle(&file, kept, is_users, &mut changes);
            }
        }
        changes
    }

    fn settle(&mut self, file: &(i32, OsString), kept: Option<KeptFile>, is_users: bool, changes: &mut UserChanges) {
        let (Some((folder, handle)), Some(state)) = (self.folders.get(&file.0), self.files.get_mut(file)) else { return };
        let path = folder.join(&file.1);
        let is_gone = matches!(statat(handle, file.1.as_os_str(), AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT));
        match (*state, kept) {
            (FileState::Mounted, _) => {}
            (FileState::Replaced, Some(kept)) => {
                changes.replaced.push((path, kept));
                *state = FileState::Unknown;
            }
            (_, Some(kept)) if is_users => changes.replaced.push((path, kept)),
            (FileState::Removed, None) if is_gone => changes.removed.push(path),
            (_, None) if is_users && is_gone => changes.removed.push(path),
            _ => {}
        }
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
        let Self { events, files, touched, .. } = self;
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut reader = inotify::Reader::new(&*events, &mut buffer);
        while let Ok(event) = reader.next() {
            let kinds = event.events();
            if kinds.contains(ReadFlags::QUEUE_OVERFLOW) {
                for (file, state) in files.iter_mut() {
                    *state = FileState::Unknown;
                    touched.insert(file.clone());
                }
                continue;
            }
            let Some(name) = event.file_name() else { continue };
            let file = (event.wd(), OsStr::from_bytes(name.to_bytes()).to_owned());
            if let Some(state) = files.get_mut(&file) {
                *state = state.after(kinds);
                touched.insert(file);
            }
        }
    }
}

impl FileState {
    fn after(self, kinds: ReadFlags) -> Self {
        match self {
            Self::Mounted if kinds.contains(ReadFlags::MOVED_TO) => Self::Replaced,
            Self::Mounted if kinds.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) => Self::Removed,
            // The user writes it in its place: for the command it is read-only.
            Self::Mounted if !kinds.contains(ReadFlags::CREATE) => Self::Mounted,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// What is taken for the user's version of `d/file` after these changes, while the command works.
    fn after(changes: impl FnOnce(&Path)) -> Option<String> {
        let changes = changed(changes, || None);
        let text = |(_, kept): (PathBuf, KeptFile)| String::from_utf8(kept.bytes.unwrap()).unwrap();
        changes.replaced.into_iter().next().map(text)
    }

    fn changed(changes: impl FnOnce(&Path), activity: impl Fn() -> Option<RunActivity>) -> UserChanges {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("d");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("file"), "old").unwrap();
        fs::write(folder.join("new"), "new").unwrap();
        let file = folder.join("file");
        let mut watched = ReplacedFiles::watch([file.as_path()].into_iter()).unwrap();
        assert!(watched.take_changes(&activity).replaced.is_empty());
        changes(&folder);
        let found = watched.take_changes(&activity);
        let again = watched.take_changes(&activity);
        assert!(again.replaced.is_empty() && again.removed.is_empty(), "each is taken once");
        assert!(found.replaced.iter().map(|(path, _)| path).chain(&found.removed).all(|path| *path == file));
        found
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

    /// A process that sleeps until it is dropped.
    struct Sleeper(std::process::Child);

    impl Drop for Sleeper {
        fn drop(&mut self) {
            self.0.kill().ok();
            self.0.wait().ok();
        }
    }

    #[test]
    fn while_the_command_sleeps_every_change_is_the_users() {
        let sleeper = Sleeper(std::process::Command::new("sleep").arg("600").spawn().unwrap());
        let at_rest = || {
            (0..1000).find_map(|_| {
                let first = RunActivity::read(sleeper.0.id());
                std::thread::sleep(std::time::Duration::from_millis(5));
                first.filter(|first| RunActivity::read(sleeper.0.id()).as_ref() == Some(first))
            })
        };
        let vim = |folder: &Path| {
            fs::rename(folder.join("file"), folder.join("file~")).unwrap();
            fs::write(folder.join("file"), "by an editor").unwrap();
            fs::remove_file(folder.join("file~")).unwrap();
        };
        let found = changed(vim, at_rest);
        assert_eq!(found.replaced[0].1.bytes.as_deref(), Some(&b"by an editor"[..]));
        assert_eq!(changed(vim, || None).replaced.len(), 0, "it may be the command's");
        let remove = |folder: &Path| fs::remove_file(folder.join("file")).unwrap();
        assert_eq!(changed(remove, || None).removed.len(), 1, "while the mount holds only the user removes it");
    }
}
