//! Watches directories for changes, by the kernel's inotify.
//!
//! The kernel queues a change before the call that made it returns. So a caller that asks the queue knows of every change that ended
//! before, and need not look at files that nothing happened to. It does not report what changes on the far side of a network file system, so only
//! file systems that are known to report everything are watched; wherever else, and whenever something is unclear, the answer is that
//! anything may have changed.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_contract::{BoxFuture, TreeChanges, TreeWatch};
use rustix::fs::inotify::{self, CreateFlags, Event, ReadFlags, Reader, WatchFlags};
use rustix::fs::{FsWord, OFlags, fstat, fstatfs};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::beneath::{DIRECTORY, open_beneath};
use super::roots::Roots;

/// The kernel allows a user some thousands; others need them, too.
const MOST_WATCHED: usize = 4_000;
/// More changes than this are better found by looking at everything.
const MOST_CHANGES: usize = 1_000;
const BUFFER: usize = 16 << 10;
/// How long to wait where the queue cannot be waited for.
const WITHOUT_QUEUE: Duration = Duration::from_mins(1);

const OF_DIRECTORY: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);
const OF_FILE: WatchFlags = WatchFlags::MODIFY.union(WatchFlags::CLOSE_WRITE).union(WatchFlags::ATTRIB);
const FILE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// What happened to a watched directory itself, or to the queue.
const UNCLEAR: ReadFlags = ReadFlags::QUEUE_OVERFLOW.union(ReadFlags::UNMOUNT);
const ITSELF: ReadFlags = ReadFlags::DELETE_SELF.union(ReadFlags::MOVE_SELF).union(ReadFlags::IGNORED);

/// File systems of this machine, which report every change.
const REPORTING: [FsWord; 8] = [
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683e, // Btrfs
    0x0102_1994, // tmpfs
    0x794c_7630, // overlayfs
    0xf2f5_2010, // F2FS
    0x2fc1_2fc1, // ZFS
    0xca45_1a4e, // bcachefs
];

/// Directories that are watched, and what happened in them.
pub(super) struct DirectoryWatch {
    queue: OwnedFd,
    roots: Arc<Roots>,
    state: Mutex<QueuedChanges>,
}

struct QueuedChanges {
    watched: HashMap<i32, WatchedEntry>,
    /// Paths that are looked at, and what was there.
    paths: HashMap<PathBuf, Option<PathStamp>>,
    changes: BTreeSet<PathBuf>,
    /// Whether every change is known.
    is_certain: bool,
}

/// Device, inode, time of the last change, and size.
type PathStamp = (u64, u64, i64, u64, i64);

enum WatchedEntry {
    Directory(PathBuf),
    /// One file has one watch, whatever names it has.
    File(BTreeSet<PathBuf>),
}

impl DirectoryWatch {
    /// A watch of nothing yet; `None` if the kernel gives no queue.
    pub(super) fn new(roots: Arc<Roots>) -> Option<Self> {
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        let state = QueuedChanges { watched: HashMap::new(), paths: HashMap::new(), changes: BTreeSet::new(), is_certain: true };
        Some(Self { queue, roots, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, QueuedChanges> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, path: &Path, open: OFlags, watch: WatchFlags, keep: impl FnOnce(&mut QueuedChanges, i32) -> bool) {
        let mut state = self.state();
        let is_known = match self.begin(path, open, watch).filter(|_| state.watched.len() < MOST_WATCHED) {
            Some(id) => keep(&mut state, id),
            None => false,
        };
        state.is_certain &= is_known;
    }

    /// Watches what the handles of the roots lead to: where the path leads by now may be something else.
    fn begin(&self, path: &Path, open: OFlags, watch: WatchFlags) -> Option<i32> {
        let (root, beneath) = self.roots.holding(path)?;
        let handle = open_beneath(root, beneath, open).ok()?;
        fstatfs(&handle).ok().filter(|system| REPORTING.contains(&system.f_type))?;
        inotify::add_watch(&self.queue, format!("/proc/self/fd/{}", handle.as_raw_fd()), watch).ok()
    }

    /// What is at a path now; a link is not followed.
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "narrower, or signed, on other machines")]
    fn look(&self, path: &Path) -> Option<PathStamp> {
        let (root, beneath) = self.roots.holding(path)?;
        let stat = fstat(open_beneath(root, beneath, FILE).ok()?).ok()?;
        Some((stat.st_dev.into(), stat.st_ino.into(), stat.st_ctime.into(), stat.st_ctime_nsec as u64, stat.st_size.into()))
    }

    fn look_at_paths(&self, state: &mut QueuedChanges) {
        for (path, known) in &mut state.paths {
            let now = self.look(path);
            if now != *known {
                *known = now;
                state.changes.insert(path.clone());
            }
        }
    }

    /// Takes over what the kernel has queued.
    fn drain(&self, state: &mut QueuedChanges) {
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut events = Reader::new(&self.queue, &mut buffer);
        while state.is_certain {
            match events.next() {
                Ok(event) => state.note(&event),
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(_) => state.is_certain = false,
            }
        }
    }
}

impl QueuedChanges {
    fn note(&mut self, event: &Event<'_>) {
        let what = event.events();
        let changed: Vec<PathBuf> = match self.watched.get(&event.wd()) {
            Some(WatchedEntry::File(paths)) => paths.iter().cloned().collect(),
            Some(WatchedEntry::Directory(path)) if !what.intersects(ITSELF) && !what.contains(ReadFlags::ISDIR) => {
                event.file_name().map(|name| path.join(OsStr::from_bytes(name.to_bytes()))).into_iter().collect()
            }
            _ => Vec::new(),
        };
        self.is_certain &= !changed.is_empty() && !what.intersects(UNCLEAR) && self.changes.len() < MOST_CHANGES;
        self.changes.extend(changed);
    }
}

impl TreeWatch for DirectoryWatch {
    fn add_directory(&self, path: &Path) {
        self.add(path, DIRECTORY, OF_DIRECTORY, |state, id| {
            // A directory that is mounted twice has one watch, so its changes would have one path.
            let earlier = state.watched.insert(id, WatchedEntry::Directory(path.to_owned()));
            earlier.is_none_or(|earlier| matches!(earlier, WatchedEntry::Directory(same) if same == path))
        });
    }

    fn add_file(&self, path: &Path) {
        self.add(path, FILE, OF_FILE, |state, id| match state.watched.entry(id).or_insert_with(|| WatchedEntry::File(BTreeSet::new())) {
            WatchedEntry::File(paths) => {
                paths.insert(path.to_owned());
                true
            }
            WatchedEntry::Directory(_) => false,
        });
    }

    fn add_path(&self, path: &Path) {
        let now = self.look(path);
        self.state().paths.insert(path.to_owned(), now);
    }

    fn take(&self) -> TreeChanges {
        let mut state = self.state();
        self.drain(&mut state);
        self.look_at_paths(&mut state);
        if state.is_certain { TreeChanges::Entries(std::mem::take(&mut state.changes)) } else { TreeChanges::Anything }
    }

    fn wait(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Ok(queue) = self.queue.try_clone().and_then(waitable) else { return tokio::time::sleep(WITHOUT_QUEUE).await };
            loop {
                let is_over = {
                    let mut state = self.state();
                    self.drain(&mut state);
                    !state.is_certain || !state.changes.is_empty()
                };
                if is_over {
                    return;
                }
                match queue.readable().await {
                    Ok(mut ready) => ready.clear_ready(),
                    Err(_) => return tokio::time::sleep(WITHOUT_QUEUE).await,
                }
            }
        })
    }
}

/// A descriptor that can be waited for.
#[expect(deprecated, reason = "the replacement is unsafe; an owned descriptor keeps the promise that it asks for")]
pub(crate) fn waitable(queue: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(queue, Interest::READABLE)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use haft_contract::ports::FileSystem;

    use super::*;
    use crate::{LocalFiles, WorkspaceOptions};

    /// A workspace with the folder `notes`, which is watched.
    fn watched() -> (tempfile::TempDir, PathBuf, Arc<dyn TreeWatch>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        fs::create_dir(path.join("notes")).unwrap();
        fs::write(path.join("notes/a"), "a").unwrap();
        let watch = LocalFiles::open(WorkspaceOptions::new(&path)).unwrap().watch().unwrap();
        watch.add_directory(&path.join("notes"));
        (folder, path, watch)
    }

    /// What is done to `notes`.
    type Change = fn(&Path);

    #[test]
    fn changes_of_entries_are_named_and_those_of_directories_make_everything_unclear() {
        let changes: &[(&str, Change, Option<&[&str]>)] = &[
            ("nothing", |_| {}, Some(&[])),
            ("read", |notes| drop(fs::read(notes.join("a")).unwrap()), Some(&[])),
            ("written", |notes| fs::write(notes.join("a"), "b").unwrap(), Some(&["a"])),
            ("made", |notes| fs::write(notes.join("b"), "b").unwrap(), Some(&["b"])),
            ("renamed", |notes| fs::rename(notes.join("a"), notes.join("c")).unwrap(), Some(&["a", "c"])),
            ("removed", |notes| fs::remove_file(notes.join("a")).unwrap(), Some(&["a"])),
            (
                "touched",
                |notes| fs::File::open(notes.join("a")).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap(),
                Some(&["a"]),
            ),
            ("linked", |notes| std::os::unix::fs::symlink("a", notes.join("l")).unwrap(), Some(&["l"])),
            ("elsewhere", |notes| fs::write(notes.join("../x"), "x").unwrap(), Some(&[])),
            ("a folder", |notes| fs::create_dir(notes.join("d")).unwrap(), None),
            ("moved itself", |notes| fs::rename(notes, notes.with_file_name("moved")).unwrap(), None),
            ("removed itself", |notes| fs::remove_dir_all(notes).unwrap(), None),
            ("too much", |notes| (0..=MOST_CHANGES).for_each(|number| fs::write(notes.join(number.to_string()), "").unwrap()), None),
        ];
        for (what, change, expected) in changes {
            let (_folder, path, watch) = watched();
            change(&path.join("notes"));
            let expected = expected.map(|names| TreeChanges::Entries(names.iter().map(|name| path.join("notes").join(name)).collect()));
            assert_eq!(watch.take(), expected.clone().unwrap_or(TreeChanges::Anything), "{what}");
            let after = if expected.is_some() { TreeChanges::Entries(BTreeSet::new()) } else { TreeChanges::Anything };
            assert_eq!(watch.take(), after, "{what}, asked again");
        }
    }

    #[test]
    fn a_file_is_watched_by_all_of_its_names() {
        let (_folder, path, watch) = watched();
        fs::hard_link(path.join("notes/a"), path.join("notes/b")).unwrap();
        fs::hard_link(path.join("notes/a"), path.join("outside")).unwrap();
        watch.take();
        for name in ["notes/a", "notes/b"] {
            watch.add_file(&path.join(name));
        }
        fs::write(path.join("outside"), "changed").unwrap();
        assert_eq!(watch.take(), TreeChanges::Entries(BTreeSet::from([path.join("notes/a"), path.join("notes/b")])));
    }

    #[test]
    fn a_path_is_watched_whatever_is_there() {
        let (_folder, path, watch) = watched();
        let one = path.join("one");
        watch.add_path(&one);
        let changes: &[(&str, Change)] = &[
            ("made", |path| fs::write(path, "1").unwrap()),
            ("written", |path| fs::write(path, "12").unwrap()),
            ("removed", |path| fs::remove_file(path).unwrap()),
            ("linked", |path| std::os::unix::fs::symlink("notes/a", path).unwrap()),
            ("replaced", |path| {
                fs::write(path.with_file_name("two"), "2").unwrap();
                fs::rename(path.with_file_name("two"), path).unwrap();
            }),
        ];
        for (what, change) in changes {
            change(&one);
            assert_eq!(watch.take(), TreeChanges::Entries(BTreeSet::from([one.clone()])), "{what}");
            assert_eq!(watch.take(), TreeChanges::Entries(BTreeSet::new()), "{what}, asked again");
        }
    }

    #[test]
    fn what_is_not_there_or_not_reported_makes_everything_unclear() {
        for path in ["missing", "/proc/self", "notes/a"] {
            let (_folder, folder, watch) = watched();
            watch.add_directory(&folder.join(path));
            assert_eq!(watch.take(), TreeChanges::Anything, "{path}");
        }
        let (_folder, path, watch) = watched();
        std::os::unix::fs::symlink(path.join("notes"), path.join("link")).unwrap();
        watch.add_directory(&path.join("link"));
        assert_eq!(watch.take(), TreeChanges::Anything, "no link is followed");
    }

    #[tokio::test]
    async fn waiting_ends_with_a_change_that_is_still_there_to_take() {
        let (_folder, path, watch) = watched();
        for text in ["one", "two"] {
            let waiting = tokio::spawn({
                let watch = Arc::clone(&watch);
                async move { watch.wait().await }
            });
            tokio::task::yield_now().await;
            assert!(!waiting.is_finished());
            fs::write(path.join("notes/a"), text).unwrap();
            tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap().unwrap();
            // The end of the write may be reported after its beginning.
            assert_eq!(watch.take(), TreeChanges::Entries(BTreeSet::from([path.join("notes/a")])));
        }
    }

    #[test]
    fn views_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let open = || LocalFiles::open(WorkspaceOptions::new(folder.path())).unwrap();
        let (one, other) = (open(), open());
        assert_ne!(one.view(), other.view());
        let before = one.view();
        assert_eq!(one.view(), before);
        let more = tempfile::tempdir().unwrap();
        one.show_folder(more.path()).unwrap();
        assert_ne!(one.view(), before);
    }
}
