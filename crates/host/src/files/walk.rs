//! Walking through a tree.
//!
//! Every directory is opened from the handle of its root without following a link, listed through that handle, and what is
//! in it is opened through it: so a name that was swapped for a link meanwhile leads nowhere. This is why the walk is our
//! own. Libraries list by path, and hold all names of a directory at once; ours holds some, however many there are.

pub(super) mod denied;
mod directory;
mod ignored;
mod listing;
mod queue;
mod worker;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{FileKind, Location, ToolError, TreeOptions, TreeVisitor, WalkSummary, Zone};
use rustix::fs::FileType;
use rustix::io::Errno;

use self::denied::Denied;
use self::directory::OpenDirectory;
use self::ignored::IgnoreLevel;
use self::queue::{WalkQueue, WalkTask};
use self::worker::{Counts, WalkWorker};
use super::blocking::{Call, Stop, blocking};
use super::errors::{self, FileAction, failed};
use super::open::look;
use super::protected::ProtectedRules;
use super::roots::{Root, RootedPath};

/// More troubles than this help nobody.
const MOST_TROUBLES: usize = 20;

/// Visits what is beneath a location, and may be read.
pub(super) async fn walk(
    at: Location,
    rules: Arc<ProtectedRules>,
    options: TreeOptions,
    visitor: Arc<dyn TreeVisitor>,
) -> Result<WalkSummary, ToolError> {
    let (_call, stop) = Call::begin();
    blocking(move || TreeWalk::new(&at, rules, options, visitor, stop)?.walk(&at)).await
}

/// What every thread of a walk shares.
struct TreeWalk {
    root: Arc<Root>,
    /// The path that is walked, free of links.
    path: PathBuf,
    display: String,
    options: TreeOptions,
    denied: Denied,
    visitor: Arc<dyn TreeVisitor>,
    stop: Stop,
    /// The visitor has seen enough.
    enough: AtomicBool,
    troubles: Mutex<Vec<(String, String)>>,
}

impl TreeWalk {
    fn new(
        at: &Location,
        rules: Arc<ProtectedRules>,
        options: TreeOptions,
        visitor: Arc<dyn TreeVisitor>,
        stop: Stop,
    ) -> Result<Self, ToolError> {
        errors::check_readable(at)?;
        let root = Arc::clone(&RootedPath::from_location(at)?.root);
        let denied = Denied::new(rules, root.path());
        let (path, display) = (at.path().to_owned(), at.display().to_owned());
        Ok(Self { root, path, display, options, denied, visitor, stop, enough: AtomicBool::new(false), troubles: Mutex::default() })
    }

    fn walk(self, at: &Location) -> Result<WalkSummary, ToolError> {
        let counts = match look(at)?.kind {
            FileKind::Directory => self.walk_directory(at)?,
            FileKind::File => self.visit_file(at)?,
            FileKind::Special => return Err(errors::not_a_file(at, FileType::Unknown)),
        };
        let stopped = self.is_over();
        let mut walked = WalkSummary::default();
        (walked.entries, walked.denied, walked.stopped) = (counts.entries, counts.denied, stopped);
        walked.troubles = self.troubles.into_inner().unwrap_or_else(PoisonError::into_inner);
        walked.troubles.sort();
        Ok(walked)
    }

    fn walk_directory(&self, at: &Location) -> Result<Counts, ToolError> {
        if self.options.depth == Some(0) {
            return Ok(Counts::default());
        }
        // Opened once beforehand: that the root itself cannot be read is a failure, not one trouble among others.
        OpenDirectory::open(&self.root, &self.path).map_err(|errno| failed(FileAction::Read, at, errno))?;
        // Outside every root of the user's, only what is searched itself is known to belong together.
        let whole = if self.root.zone() == Zone::Outside { &*self.path } else { self.root.path() };
        let level = (!self.options.ignored).then(|| IgnoreLevel::above(&self.path, whole));
        let queue = WalkQueue::new(WalkTask::Folder { path: self.path.clone(), level, depth: 0 });
        Ok(queue.work(|| WalkWorker::new(self, &queue).work()))
    }

    /// A file that was named itself is visited, hidden or ignored as it may be.
    fn visit_file(&self, at: &Location) -> Result<Counts, ToolError> {
        let (Some(folder), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Err(errors::not_a_file(at, FileType::Directory));
        };
        let directory = OpenDirectory::hold(&self.root, folder).map_err(|errno| failed(FileAction::Read, at, errno))?;
        self.visit(&directory, Path::new(name), name, false);
        Ok(Counts { entries: 1, denied: 0 })
    }

    /// Whether nobody waits for the rest.
    fn is_over(&self) -> bool {
        self.enough.load(Ordering::Relaxed) || self.stop.check().is_err()
    }

    /// Keeps what could not be looked into. What vanished, or became a link, is simply not there.
    fn trouble(&self, path: &Path, errno: Errno) {
        if matches!(errno, Errno::NOENT | Errno::LOOP | Errno::NOTDIR) {
            return;
        }
        let mut troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        if troubles.len() < MOST_TROUBLES {
            troubles.push((self.display_name(path), reason(errno)));
        }
    }

    /// How to name a path beneath the one that is walked.
    fn display_name(&self, path: &Path) -> String {
        let beneath = path.strip_prefix(&self.path).unwrap_or(path);
        let whole = if self.display == "." { beneath.to_owned() } else { Path::new(&self.display).join(beneath) };
        whole.to_string_lossy().trim_end_matches('/').to_owned()
    }
}

fn reason(errno: Errno) -> String {
    match errno {
        Errno::ACCESS | Errno::PERM => "permission denied".to_owned(),
        Errno::NAMETOOLONG => "the path is longer than the system allows".to_owned(),
        _ => errno.to_string(),
    }
}

/// How many bytes lead to what is in a folder.
fn lead(folder: &Path) -> usize {
    let length = folder.as_os_str().len();
    if folder.as_os_str().as_bytes().ends_with(b"/") { length } else { length + 1 }
}
