//! The memory files that a session may read, and what of them is new to the index.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use haft_contract::ports::FileSystem;
use haft_contract::{ErrorKind, FileKind, Location, ToolError, TreeEntry, TreeOptions, TreeVisitor, Visit};
use haft_store::{FileStamp, KnownFile};
use haft_text::display::escape_line;

use crate::refresh::{FileReading, read_note};

/// More files than this are not searched.
const MOST_FILES: usize = 50_000;
/// A file that was read so soon after its change may have changed again within the same tick of the clock.
const TICK_NANOSECONDS: i64 = 50_000_000;

/// What a walk through the roots found.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// The files that may be read, as they are named.
    pub(crate) visible: HashSet<String>,
    /// Changed files that were not read for lack of time.
    pub(crate) pending: usize,
    /// What is not searched.
    pub(crate) warnings: Vec<String>,
    /// Whether all files were seen: only then is one that was not seen gone.
    pub(crate) is_complete: bool,
}

/// What the walk compares with, and where it sends what is new.
pub(crate) struct WalkParts {
    pub(crate) known: Arc<HashMap<String, KnownFile>>,
    /// Files that calls changed: their lines have writers.
    pub(crate) changed: Arc<HashSet<PathBuf>>,
    pub(crate) sender: SyncSender<FileReading>,
    /// Changed files are not read after this.
    pub(crate) deadline: Option<Instant>,
}

/// Walks through all roots.
pub(crate) async fn walk(files: &dyn FileSystem, roots: &[Location], parts: WalkParts) -> Result<Walked, ToolError> {
    let shared = Arc::new(MemoryWalk { parts, found: Mutex::default(), count: AtomicUsize::new(0), pending: AtomicUsize::new(0) });
    let mut walked = Walked { is_complete: true, ..Walked::default() };
    for root in roots {
        let is_file = match files.info(root).await {
            Ok(info) if info.kind == FileKind::Special => continue,
            Ok(info) => info.kind == FileKind::File,
            Err(error) if error.kind() == ErrorKind::FileNotFound => continue,
            Err(error) => {
                walked.is_complete = false;
                walked.warnings.push(format!("{} is not searched: {}", root.display(), error.message()));
                continue;
            }
        };
        let visitor = Visitor { shared: Arc::clone(&shared), root: root.path().to_owned(), display: root.display().to_owned(), is_file };
        let options = TreeOptions::default().with_ignored(true);
        match files.walk(root, options, Arc::new(visitor)).await {
            Ok(summary) => {
                walked.is_complete &= !summary.stopped;
                let troubles = summary.troubles.iter().take(3);
                walked.warnings.extend(troubles.map(|(path, why)| format!("{path} is not searched: {why}")));
            }
            Err(error) => {
                walked.is_complete = false;
                walked.warnings.push(format!("{} is not searched: {}", root.display(), error.message()));
            }
        }
    }
    walked.visible = std::mem::take(&mut *shared.found.lock().unwrap_or_else(PoisonError::into_inner));
    walked.pending = shared.pending.load(Ordering::Relaxed);
    if shared.count.load(Ordering::Relaxed) > MOST_FILES {
        walked.warnings.push(format!("There are more than {MOST_FILES} memory files; the others are not searched. Join small files."));
    }
    Ok(walked)
}

struct MemoryWalk {
    parts: WalkParts,
    found: Mutex<HashSet<String>>,
    count: AtomicUsize,
    pending: AtomicUsize,
}

struct Visitor {
    shared: Arc<MemoryWalk>,
    root: PathBuf,
    display: String,
    is_file: bool,
}

impl TreeVisitor for Visitor {
    fn visit(&self, entry: &dyn TreeEntry) -> Visit {
        let path = if self.is_file { PathBuf::from(&self.display) } else { Path::new(&self.display).join(entry.path()) };
        if entry.is_directory() || !is_markdown(&path) {
            return Visit::On;
        }
        if self.shared.count.fetch_add(1, Ordering::Relaxed) >= MOST_FILES {
            return Visit::Enough;
        }
        // A name that is not plain text could not be cited, or would say something of its own where it is.
        let Some(name) = path.to_str().filter(|name| *escape_line(name) == **name) else { return Visit::On };
        let Ok((size, modified)) = entry.facts() else { return Visit::On };
        self.shared.found.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        let stamp = FileStamp { size, modified };
        let known = self.shared.parts.known.get(name);
        if known.is_none_or(|known| known.stamp != stamp || may_have_changed(known)) {
            let absolute = if self.is_file { self.root.clone() } else { self.root.join(entry.path()) };
            self.read(name, absolute, stamp, entry);
        }
        Visit::On
    }
}

impl Visitor {
    fn read(&self, name: &str, absolute: PathBuf, stamp: FileStamp, entry: &dyn TreeEntry) {
        let parts = &self.shared.parts;
        if parts.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.shared.pending.fetch_add(1, Ordering::Relaxed);
            return;
        }
        // What vanished meanwhile is found to be gone by the next walk.
        let Ok(content) = entry.open() else { return };
        let checked = now_nanoseconds();
        let has_writers = parts.changed.contains(&absolute);
        if let Ok(reading) = read_note(name, absolute, stamp, checked, content, has_writers) {
            // Without a receiver the index cannot be written, which is said there.
            parts.sender.send(reading).ok();
        }
    }
}

/// Whether a file is Markdown by its name.
pub(crate) fn is_markdown(path: &Path) -> bool {
    path.extension()
        .and_then(|ending| ending.to_str())
        .is_some_and(|ending| ["md", "markdown"].contains(&ending.to_ascii_lowercase().as_str()))
}

pub(crate) fn now_nanoseconds() -> i64 {
    nanoseconds(SystemTime::now())
}

fn nanoseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// A file that was read within the tick of its last change.
fn may_have_changed(known: &KnownFile) -> bool {
    known.stamp.modified.is_none_or(|modified| known.checked.saturating_sub(nanoseconds(modified)) < TICK_NANOSECONDS)
}
