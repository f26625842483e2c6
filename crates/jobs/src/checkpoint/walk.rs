//! The walk of a checkpoint: two threads, each folder opened from the handle of the one above, so that no link is followed even
//! if a program exchanges names meanwhile.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::SystemTime;

use haft_contract::EntryKind;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, fstat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::CheckpointLimits;
use super::objects::ObjectStore;
use super::rules::{CACHE_TAGS, Rules};
use super::snapshot::{Entry, Snapshot, Unstored};

const THREADS: usize = 2;
const LISTED_BYTES: usize = 32 << 10;
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const CONTENT: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// A walk through a root.
pub(super) struct Walk<'a> {
    pub(super) root: &'a Path,
    /// A folder that is never covered: the data of this program.
    pub(super) hidden: &'a Path,
    /// What is known of the files: those with an unchanged stamp are not read.
    pub(super) known: &'a Snapshot,
    /// A state whose coverage holds again.
    pub(super) before: Option<&'a Snapshot>,
    pub(super) limits: CheckpointLimits,
    pub(super) objects: &'a ObjectStore,
}

/// A folder to look into.
struct Folder {
    above: Arc<OwnedFd>,
    /// Relative to the root.
    path: Vec<u8>,
    /// Where its name begins in the path.
    name: usize,
    rules: Arc<Rules>,
}

#[derive(Default)]
struct Queue {
    folders: Vec<Folder>,
    /// Folders that are waiting or being looked into.
    open: usize,
}

/// What the threads share.
struct WalkState<'a> {
    walk: &'a Walk<'a>,
    queue: Mutex<Queue>,
    work: Condvar,
    entries: AtomicUsize,
    new_bytes: AtomicU64,
    is_cut: AtomicBool,
    /// The path from the outermost rules to the root.
    lead: Vec<u8>,
    device: u64,
    started: SystemTime,
}

impl Walk<'_> {
    /// The state now.
    pub(super) fn run(self) -> io::Result<Snapshot> {
        let handle = Arc::new(openat(CWD, self.root, FOLDER & !OFlags::NOFOLLOW, Mode::empty())?);
        let (rules, lead) = Rules::above(self.root);
        let state = WalkState {
            device: fstat(&handle)?.st_dev,
            queue: Mutex::default(),
            work: Condvar::new(),
            entries: AtomicUsize::new(0),
            new_bytes: AtomicU64::new(0),
            is_cut: AtomicBool::new(false),
            lead,
            walk: &self,
            started: SystemTime::now(),
        };
        let mut first = Worker::new(&state);
        // The root itself is no entry, and there may be nothing to share: then no thread is worth its start.
        first.look_into(&handle, &[], &rules);
        let threads = if state.has_folders() { THREADS } else { 1 };
        let found = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| Worker::new(&state).work())).collect();
            let mut found = vec![first.work()];
            found.extend(others.into_iter().filter_map(|other| other.join().ok()));
            found
        });
        if found.len() < threads {
            return Err(io::Error::other("a thread of the checkpoint failed"));
        }
        Ok(self.merge(found, state.is_cut.into_inner(), state.new_bytes.into_inner()))
    }

    fn merge(&self, found: Vec<Found>, is_cut: bool, new_bytes: u64) -> Snapshot {
        let mut snapshot = Snapshot { is_cut, ..Snapshot::default() };
        let mut reused = 0;
        snapshot.entries.reserve(self.known.entries.len());
        for part in found {
            reused += part.reused;
            snapshot.entries.extend(part.entries);
            snapshot.excluded.extend(part.excluded);
            snapshot.unlisted.extend(part.unlisted);
        }
        let changed = (snapshot.entries.len() - reused).max(self.known.entries.len().saturating_sub(reused));
        let behind = self.known.unstored;
        snapshot.unstored = Unstored { entries: behind.entries + changed, bytes: behind.bytes.saturating_add(new_bytes) };
        snapshot
    }
}

/// What a thread has found.
#[derive(Default)]
struct Found {
    entries: Vec<(Box<[u8]>, Entry)>,
    excluded: Vec<Box<[u8]>>,
    unlisted: Vec<Box<[u8]>>,
    /// How many entries are as they are known.
    reused: usize,
}

struct Worker<'a> {
    state: &'a WalkState<'a>,
    walk: &'a Walk<'a>,
    found: Found,
    listing: Vec<MaybeUninit<u8>>,
}

impl<'a> Worker<'a> {
    fn new(state: &'a WalkState<'a>) -> Self {
        Self { state, walk: state.walk, found: Found::default(), listing: vec![MaybeUninit::uninit(); LISTED_BYTES] }
    }

    fn work(mut self) -> Found {
        while let Some(folder) = self.state.next() {
            self.enter(&folder);
            self.state.finish_folder();
        }
        self.found
    }

    fn enter(&mut self, folder: &Folder) {
        let name = &folder.path[folder.name..];
        match openat(&*folder.above, name, FOLDER, Mode::empty()) {
            Ok(handle) => match fstat(&handle) {
                Ok(stat) if stat.st_dev != self.state.device => self.exclude(&folder.path),
                Ok(stat) => {
                    let handle = Arc::new(handle);
                    if self.look_into(&handle, &folder.path, &folder.rules) {
                        self.push(&folder.path, Entry::from_stat(&stat));
                    }
                }
                Err(_) => self.exclude(&folder.path),
            },
            // It is gone, or became a link: then the next checkpoint sees that.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(_) => {
                if let Ok(stat) = statat(&*folder.above, name, AtFlags::SYMLINK_NOFOLLOW) {
                    self.push(&folder.path, Entry::from_stat(&stat));
                }
                self.found.unlisted.push(folder.path.as_slice().into());
            }
        }
    }

    /// Looks into a folder; `false` if it is not covered.
    fn look_into(&mut self, handle: &Arc<OwnedFd>, path: &[u8], above: &Arc<Rules>) -> bool {
        let mut names: Vec<Box<[u8]>> = Vec::new();
        if self.list(handle, &mut names).is_err() {
            self.found.unlisted.push(path.into());
            return true;
        }
        let has = |wanted: &[u8]| names.iter().any(|name| **name == *wanted);
        let is_known = path.is_empty() || self.walk.before.is_some_and(|before| before.entries.contains_key(path));
        if !is_known && CACHE_TAGS.iter().any(|tag| has(tag)) {
            self.exclude(path);
            return false;
        }
        let mut path = path.to_vec();
        if !path.is_empty() {
            path.push(b'/');
        }
        let absolute = self.walk.root.join(Path::new(std::ffi::OsStr::from_bytes(&path)));
        let rules = Rules::beneath(above, self.state.lead.len() + path.len(), handle, &absolute, has);
        let (start, mut full) = (path.len(), [self.state.lead.as_slice(), &path].concat());
        let lead = full.len();
        for name in names.iter().filter(|name| ***name != *b".git") {
            path.truncate(start);
            path.extend_from_slice(name);
            full.truncate(lead);
            full.extend_from_slice(name);
            self.visit(handle, &path, start, &full, &rules);
        }
        true
    }

    fn list(&mut self, handle: &OwnedFd, names: &mut Vec<Box<[u8]>>) -> Result<(), Errno> {
        let mut listing = RawDir::new(handle, &mut self.listing);
        while let Some(entry) = listing.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                names.push(name.into());
            }
        }
        Ok(())
    }

    fn visit(&mut self, folder: &Arc<OwnedFd>, path: &[u8], name: usize, full: &[u8], rules: &Arc<Rules>) {
        let Ok(stat) = statat(&**folder, &path[name..], AtFlags::SYMLINK_NOFOLLOW) else { return };
        let entry = Entry::from_stat(&stat);
        let is_directory = entry.kind == EntryKind::Directory;
        if self.is_excluded(path, &path[name..], full, rules, is_directory) {
            return self.exclude(path);
        }
        if self.state.entries.fetch_add(1, Ordering::Relaxed) >= self.walk.limits.entries {
            self.state.is_cut.store(true, Ordering::Relaxed);
            return;
        }
        if is_directory {
            self.state.add(Folder { above: Arc::clone(folder), path: path.to_vec(), name, rules: Arc::clone(rules) });
        } else {
            self.examine(folder, path, name, entry);
        }
    }

    fn is_excluded(&self, path: &[u8], name: &[u8], full: &[u8], rules: &Rules, is_directory: bool) -> bool {
        let by_rules = || rules.exclude(full, name, is_directory) || (is_directory && self.is_hidden(path));
        match self.walk.before {
            Some(before) if before.entries.contains_key(path) => false,
            // What was beyond the limit before cannot be told from what is new.
            Some(before) if before.is_cut || before.excluded.contains(path) => true,
            _ => by_rules(),
        }
    }

    fn is_hidden(&self, path: &[u8]) -> bool {
        let hidden = self.walk.hidden.strip_prefix(self.walk.root);
        hidden.is_ok_and(|hidden| hidden.as_os_str().as_bytes() == path)
    }

    /// Takes the content of an entry from what is known, or reads it.
    fn examine(&mut self, folder: &OwnedFd, path: &[u8], name: usize, mut entry: Entry) {
        let known = self.walk.known.entries.get(path);
        if let Some(known) = known.filter(|known| !known.is_racy && known.kind == entry.kind && known.stamp == entry.stamp) {
            self.found.reused += usize::from(known.mode == entry.mode);
            entry.hash = known.hash;
        } else {
            entry.is_racy = entry.stamp.is_racy(self.state.started);
            match entry.kind {
                EntryKind::Link => entry.hash = self.keep_target(folder, &path[name..]),
                EntryKind::File => self.keep_content(folder, &path[name..], &mut entry),
                EntryKind::Directory | EntryKind::Special => {}
            }
        }
        self.found.entries.push((path.into(), entry));
    }

    fn keep_target(&self, folder: &OwnedFd, name: &[u8]) -> Option<[u8; 32]> {
        let target = readlinkat(folder, name, Vec::new()).ok()?;
        self.walk.objects.keep_bytes(target.as_bytes()).ok()
    }

    /// Copies the content. An entry without a fingerprint is one whose content is not kept.
    fn keep_content(&self, folder: &OwnedFd, name: &[u8], entry: &mut Entry) {
        let size = entry.stamp.size;
        let new_bytes = self.state.new_bytes.fetch_add(size, Ordering::Relaxed).saturating_add(size);
        if size > self.walk.limits.file_bytes || new_bytes > self.walk.limits.new_bytes {
            return;
        }
        let Ok(handle) = openat(folder, name, CONTENT, Mode::empty()) else { return };
        let Some(opened) = fstat(&handle).ok().map(|stat| Entry::from_stat(&stat)).filter(|opened| opened.kind == EntryKind::File) else {
            return;
        };
        let mut file = File::from(handle);
        let Ok((hash, length)) = self.walk.objects.keep(&mut file, opened.stamp.size) else { return };
        let now = fstat(&file).map(|stat| Entry::from_stat(&stat).stamp);
        // A program writes it just now: it is read again next time.
        entry.is_racy |= now != Ok(entry.stamp) || length != entry.stamp.size;
        entry.hash = Some(hash);
    }

    fn push(&mut self, path: &[u8], entry: Entry) {
        let is_known = |known: &Entry| known.kind == entry.kind && known.mode == entry.mode;
        self.found.reused += usize::from(self.walk.known.entries.get(path).is_some_and(is_known));
        self.found.entries.push((path.into(), entry));
    }

    fn exclude(&mut self, path: &[u8]) {
        self.found.excluded.push(path.into());
    }
}

impl WalkState<'_> {
    fn add(&self, folder: Folder) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.folders.push(folder);
        queue.open += 1;
        drop(queue);
        self.work.notify_one();
    }

    /// Whether there is more to look into.
    fn has_folders(&self) -> bool {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).open > 0
    }

    /// The next folder; `None` when all are done.
    fn next(&self) -> Option<Folder> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let mut queue =
            self.work.wait_while(queue, |queue| queue.folders.is_empty() && queue.open > 0).unwrap_or_else(PoisonError::into_inner);
        queue.folders.pop()
    }

    fn finish_folder(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.open -= 1;
        if queue.open == 0 {
            self.work.notify_all();
        }
    }
}
