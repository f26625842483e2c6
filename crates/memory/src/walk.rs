//! The memory files that a session may read, and what of them is new to the index.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Instant, SystemTime};

use haft_contract::ports::FileSystem;
use haft_contract::{EntryStamp, ErrorKind, FileKind, Location, ToolError, TreeEntry, TreeOptions, TreeVisitor, TreeWatch, Visit};
use haft_store::{FileStamp, KnownFile};
use haft_text::display::escape_line;

use crate::blame::WriterSource;
use crate::refresh::{ByteBudget, FileReading, NoteSource, read_note};

/// More files than this are not searched.
pub(crate) const MOST_FILES: usize = 50_000;
/// More remarks on single files than this help nobody.
pub(crate) const MOST_REMARKS: usize = 5;
/// A file that was read so soon after its change may have changed again within the same tick of the clock.
const TICK_NANOSECONDS: i64 = 50_000_000;

/// What a walk found.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// The files that may be read, as they are named.
    pub(crate) visible: Arc<HashSet<String>>,
    /// Files that were looked for and are not there.
    pub(crate) gone: Vec<String>,
    /// Changed files that were not read for lack of time.
    pub(crate) pending: usize,
    /// What is not searched.
    pub(crate) warnings: Vec<String>,
    /// Whether all files were seen: only then is one that was not seen gone.
    pub(crate) is_complete: bool,
    /// The roots that are folders.
    pub(crate) folders: Vec<Location>,
}

/// What the walk compares with, and where it sends what is new.
pub(crate) struct WalkParts {
    pub(crate) known: Arc<HashMap<String, KnownFile>>,
    pub(crate) changed: ChangedPaths,
    pub(crate) sender: SyncSender<FileReading>,
    /// Changed files are not read after this.
    pub(crate) deadline: Option<Instant>,
    /// Reports what changes after the walk has looked at it.
    pub(crate) watch: Option<Arc<dyn TreeWatch>>,
}

/// The files that calls changed: their lines have writers. The history is asked when the first file is read.
pub(crate) struct ChangedPaths {
    pub(crate) source: Option<Arc<dyn WriterSource>>,
    pub(crate) runtime: tokio::runtime::Handle,
    pub(crate) paths: OnceLock<HashSet<PathBuf>>,
}

impl ChangedPaths {
    fn contain(&self, path: &Path) -> bool {
        let Some(source) = &self.source else { return false };
        self.paths.get_or_init(|| self.runtime.block_on(source.changed_paths()).unwrap_or_default()).contains(path)
    }
}

/// A walk that is under way.
pub(crate) struct MemoryWalk<'f> {
    files: &'f dyn FileSystem,
    shared: Arc<SharedWalk>,
    walked: Walked,
}

impl<'f> MemoryWalk<'f> {
    pub(crate) fn new(files: &'f dyn FileSystem, parts: WalkParts) -> Self {
        let (count, pending) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let shared = SharedWalk { parts, budget: Arc::default(), found: Mutex::default(), unreadable: Mutex::default(), count, pending };
        Self { files, shared: Arc::new(shared), walked: Walked { is_complete: true, ..Walked::default() } }
    }

    /// Looks at all files of all roots.
    pub(crate) async fn compare_all(mut self, roots: &[Location]) -> Walked {
        for root in roots {
            match self.kind(root).await {
                Some(FileKind::Directory) => {
                    self.walked.folders.push(root.clone());
                    if let Some(watch) = &self.shared.parts.watch {
                        watch.add_directory(root.path());
                    }
                    self.walk(root, root.display(), WalkTarget::Folder).await;
                }
                kind => self.compare_file(root, kind).await,
            }
        }
        let mut walked = self.finish();
        walked.visible = Arc::new(std::mem::take(&mut *self.shared.lock_found()));
        if walked.is_complete {
            walked.gone = self.shared.parts.known.keys().filter(|path| !walked.visible.contains(*path)).cloned().collect();
        }
        if self.shared.count.load(Ordering::Relaxed) > MOST_FILES {
            walked.warnings.push(format!("There are more than {MOST_FILES} memory files; the others are not searched. Join small files."));
        }
        walked
    }

    /// Looks at what was reported; `visible` is what was there. `None` if all files are to be compared after all.
    pub(crate) async fn compare_changed(
        mut self,
        roots: &[Location],
        folders: &[Location],
        changes: &BTreeSet<PathBuf>,
        visible: &Arc<HashSet<String>>,
    ) -> Option<Walked> {
        let mut looked_at = Vec::new();
        for root in roots {
            if !changes.contains(root.path()) {
                continue;
            }
            match self.kind(root).await {
                Some(FileKind::Directory) => return None,
                Some(FileKind::File) => self.walk(root, root.display(), WalkTarget::ChangedRoot).await,
                _ => {}
            }
            looked_at.push(root.display().to_owned());
        }
        let named: Vec<(&Path, String)> = changes.iter().flat_map(|path| names_of(path, folders)).collect();
        for (path, name) in named {
            self.look_again(path, &name).await;
            looked_at.push(name);
        }
        let (mut walked, found) = (self.finish(), std::mem::take(&mut *self.shared.lock_found()));
        walked.visible = Arc::clone(visible);
        for name in looked_at {
            if found.contains(&name) != visible.contains(&name) {
                let visible = Arc::make_mut(&mut walked.visible);
                if found.contains(&name) {
                    visible.insert(name.clone())
                } else {
                    visible.remove(&name)
                };
            }
            if !found.contains(&name) && self.shared.parts.known.contains_key(&name) {
                walked.gone.push(name);
            }
        }
        walked.folders = folders.to_vec();
        (walked.visible.len() < MOST_FILES).then_some(walked)
    }

    /// What a root is; `None` if nothing is there that may be read.
    async fn kind(&mut self, root: &Location) -> Option<FileKind> {
        match self.files.info(root).await {
            Ok(info) => Some(info.kind),
            Err(error) if error.kind() == ErrorKind::FileNotFound => None,
            Err(error) => {
                self.trouble(root.display(), &error);
                None
            }
        }
    }

    /// Looks at a root that is no folder, and watches for what comes to be there.
    async fn compare_file(&mut self, root: &Location, mut kind: Option<FileKind>) {
        if let Some(watch) = self.shared.parts.watch.clone() {
            watch.add_path(root.path());
            kind = self.kind(root).await;
        }
        match kind {
            Some(FileKind::File) => self.walk(root, root.display(), WalkTarget::Root).await,
            // It became one this moment.
            Some(FileKind::Directory) => self.walked.is_complete = false,
            _ => {}
        }
    }

    /// Looks at a file that changed. One that is a link by now, or may not be read, is not there.
    async fn look_again(&mut self, path: &Path, name: &str) {
        match self.files.locate(path) {
            Ok(at) if at.path() == path && at.no_read().is_none() => self.walk(&at, name, WalkTarget::ChangedFile).await,
            Ok(_) => {}
            Err(error) => self.trouble(name, &error),
        }
    }

    async fn walk(&mut self, at: &Location, display: &str, target: WalkTarget) {
        let visitor = Visitor { shared: Arc::clone(&self.shared), root: at.path().to_owned(), display: display.to_owned(), target };
        let options = TreeOptions::default().with_ignored(true).with_directories(self.shared.parts.watch.is_some());
        match self.files.walk(at, options, Arc::new(visitor)).await {
            Ok(summary) => {
                self.walked.is_complete &= !summary.stopped;
                let troubles = summary.troubles.iter().take(3);
                self.walked.warnings.extend(troubles.map(|(path, why)| format!("{path} is not searched: {why}")));
            }
            // It vanished meanwhile.
            Err(error) if error.kind() == ErrorKind::FileNotFound => {}
            Err(error) => self.trouble(display, &error),
        }
    }

    fn trouble(&mut self, name: &str, error: &ToolError) {
        self.walked.is_complete = false;
        self.walked.warnings.push(format!("{name} is not searched: {}", error.message()));
    }

    fn finish(&mut self) -> Walked {
        self.walked.pending = self.shared.pending.load(Ordering::Relaxed);
        let unreadable = std::mem::take(&mut *self.shared.unreadable.lock().unwrap_or_else(PoisonError::into_inner));
        self.walked.warnings.extend(unreadable.into_iter().take(MOST_REMARKS));
        std::mem::take(&mut self.walked)
    }
}

/// What is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WalkTarget {
    /// A folder, with all that is in it.
    Folder,
    /// A root that is a file.
    Root,
    /// The same, of which a change was reported: it is read whatever its stamp says.
    ChangedRoot,
    /// A file in a folder, of which a change was reported.
    ChangedFile,
}

struct SharedWalk {
    parts: WalkParts,
    budget: Arc<ByteBudget>,
    found: Mutex<HashSet<String>>,
    /// What is said of files that cannot be read.
    unreadable: Mutex<BTreeSet<String>>,
    count: AtomicUsize,
    pending: AtomicUsize,
}

impl SharedWalk {
    fn lock_found(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Visitor {
    shared: Arc<SharedWalk>,
    root: PathBuf,
    display: String,
    target: WalkTarget,
}

impl TreeVisitor for Visitor {
    fn visit(&self, entry: &dyn TreeEntry) -> Visit {
        let is_folder = self.target == WalkTarget::Folder;
        let absolute = || if is_folder { self.root.join(entry.path()) } else { self.root.clone() };
        if entry.is_directory() {
            if let Some(watch) = &self.shared.parts.watch {
                watch.add_directory(&absolute());
            }
            return Visit::On;
        }
        let path = if is_folder { Path::new(&self.display).join(entry.path()) } else { PathBuf::from(&self.display) };
        if !is_markdown(&path) {
            return Visit::On;
        }
        if self.shared.count.fetch_add(1, Ordering::Relaxed) >= MOST_FILES {
            return Visit::Enough;
        }
        // A name that is not plain text could not be cited, or would say something of its own where it is.
        let Some(name) = path.to_str().filter(|name| *escape_line(name) == **name) else { return Visit::On };
        let Some(stamp) = self.stamp(entry, &absolute) else { return Visit::On };
        let known = self.shared.parts.known.get(name);
        self.shared.lock_found().insert(name.to_owned());
        let is_reported = matches!(self.target, WalkTarget::ChangedFile | WalkTarget::ChangedRoot);
        if is_reported || known.is_none_or(|known| known.stamp != stamp || may_have_changed(known)) {
            self.read(name, absolute(), stamp, entry);
        }
        Visit::On
    }
}

impl Visitor {
    /// What tells that a file changes. One that may change in a way that its folder does not report is watched itself before.
    fn stamp(&self, entry: &dyn TreeEntry, absolute: &dyn Fn() -> PathBuf) -> Option<FileStamp> {
        let mut stamp = entry.stamp().ok()?;
        let is_root = matches!(self.target, WalkTarget::Root | WalkTarget::ChangedRoot);
        if let Some(watch) = self.shared.parts.watch.as_ref().filter(|_| stamp.names > 1 || is_root) {
            watch.add_file(&absolute());
            stamp = entry.stamp().ok()?;
        }
        let EntryStamp { size, modified, changed, .. } = stamp;
        Some(FileStamp { size, modified, changed })
    }

    fn read(&self, name: &str, absolute: PathBuf, stamp: FileStamp, entry: &dyn TreeEntry) {
        let parts = &self.shared.parts;
        if parts.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.shared.pending.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let share = self.shared.budget.take(stamp.size);
        let (checked, has_writers) = (now_nanoseconds(), parts.changed.contain(&absolute));
        let source = NoteSource { name, absolute, stamp, checked, has_writers, share };
        match entry.open().and_then(|content| read_note(source, content)) {
            // Without a receiver the index cannot be written, which is said there.
            Ok(reading) => drop(parts.sender.send(reading)),
            // What vanished meanwhile is found to be gone by the next walk.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let mut unreadable = self.shared.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
                unreadable.insert(format!("{name} is not searched: {error}."));
            }
        }
    }
}

/// Whether a file is Markdown by its name.
pub(crate) fn is_markdown(path: &Path) -> bool {
    path.extension()
        .and_then(|ending| ending.to_str())
        .is_some_and(|ending| ["md", "markdown"].contains(&ending.to_ascii_lowercase().as_str()))
}

/// How a memory file is named, in each of the folders that it lies in.
fn names_of<'a>(path: &'a Path, folders: &[Location]) -> Vec<(&'a Path, String)> {
    if is_hidden(path) || !is_markdown(path) {
        return Vec::new();
    }
    let beneath = |folder: &Location| Some(Path::new(folder.display()).join(path.strip_prefix(folder.path()).ok()?));
    folders.iter().filter_map(|folder| Some((path, beneath(folder)?.into_os_string().into_string().ok()?))).collect()
}

/// A walk of a folder leaves out names that begin with a dot.
fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

pub(crate) fn now_nanoseconds() -> i64 {
    nanoseconds(SystemTime::now())
}

fn nanoseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// A file that was read within the tick of its last change.
pub(crate) fn may_have_changed(known: &KnownFile) -> bool {
    let changed = known.stamp.changed.or(known.stamp.modified);
    changed.is_none_or(|changed| known.checked.saturating_sub(nanoseconds(changed)) < TICK_NANOSECONDS)
}
