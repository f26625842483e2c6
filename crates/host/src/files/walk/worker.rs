//! One thread of a walk.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::FileType;

use super::TreeWalk;
use super::directory::OpenDirectory;
use super::ignored::{IgnoreLevel, IgnoreVerdict};
use super::listing::{Listing, NameBatch};
use super::queue::{WalkQueue, WalkTask};

/// What a thread has seen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) entries: u64,
    pub(super) denied: u64,
}

impl Counts {
    pub(super) fn plus(self, other: Self) -> Self {
        Self { entries: self.entries + other.entries, denied: self.denied + other.denied }
    }
}

pub(super) struct WalkWorker<'w> {
    tree: &'w TreeWalk,
    queue: &'w WalkQueue,
    listing: Listing,
    /// The whole path of what is looked at: written over and over, never made anew.
    path: Vec<u8>,
    /// How much of it leads to the folder that is looked into.
    folder: usize,
    counts: Counts,
}

impl<'w> WalkWorker<'w> {
    pub(super) fn new(tree: &'w TreeWalk, queue: &'w WalkQueue) -> Self {
        Self { tree, queue, listing: Listing::new(), path: Vec::new(), folder: 0, counts: Counts::default() }
    }

    /// Works until all is done.
    pub(super) fn work(mut self) -> Counts {
        while let Some(job) = self.queue.next() {
            match job {
                WalkTask::Folder { path, level, depth } => self.look_into(&path, level, depth),
                WalkTask::Files(directory, files) => {
                    self.enter(&directory);
                    self.visit_all(&directory, files);
                }
            }
            if self.tree.is_over() {
                self.queue.end();
            }
        }
        self.counts
    }

    fn look_into(&mut self, path: &Path, level: Option<Arc<IgnoreLevel>>, depth: usize) {
        let directory = match OpenDirectory::open(&self.tree.root, path) {
            Ok(directory) => Arc::new(directory),
            Err(errno) => return self.tree.trouble(path, errno),
        };
        self.enter(&directory);
        let mut names = NameBatch::default();
        let mut more = self.list(&directory, &mut names);
        let level = level.map(|level| IgnoreLevel::beneath(level, &directory, (!more).then_some(&names)));
        loop {
            self.sift(&directory, &mut names, level.as_ref(), depth + 1);
            self.visit_all(&directory, std::mem::take(&mut names));
            if !more || self.tree.is_over() {
                return;
            }
            more = self.list(&directory, &mut names);
        }
    }

    fn list(&mut self, directory: &OpenDirectory, names: &mut NameBatch) -> bool {
        self.listing.next(&directory.handle, names).unwrap_or_else(|errno| {
            self.tree.trouble(&directory.path, errno);
            false
        })
    }

    /// Keeps the files that are to be visited, and queues the folders that are to be looked into.
    fn sift(&mut self, directory: &Arc<OpenDirectory>, names: &mut NameBatch, level: Option<&Arc<IgnoreLevel>>, depth: usize) {
        let mut folders = Vec::new();
        names.retain(|name, kind| match settled(directory, name, kind) {
            FileType::RegularFile => self.admits(level, name, false),
            FileType::Directory => {
                if self.admits(level, name, true) {
                    folders.push(name.to_owned());
                }
                false
            }
            // Links are not followed, and what is neither file nor directory is not for reading.
            _ => false,
        });
        if self.tree.options.directories {
            for name in &folders {
                self.visit(directory, name, true);
            }
        }
        if self.tree.options.depth.is_none_or(|deepest| depth < deepest) {
            let job = |name: OsString| WalkTask::Folder { path: directory.path.join(name), level: level.cloned(), depth };
            // The last is taken first: so what the directory lists first comes first.
            self.queue.add(folders.into_iter().rev().map(job));
        }
    }

    /// Whether something in the folder is to be seen.
    fn admits(&mut self, level: Option<&Arc<IgnoreLevel>>, name: &OsStr, is_directory: bool) -> bool {
        // Never searched beside the files that it keeps versions of; a search that begins in it does not meet the name.
        if name == ".git" {
            return false;
        }
        let is_hidden = name.as_bytes().starts_with(b".") && !self.tree.options.hidden;
        if is_hidden && level.is_none() {
            return false;
        }
        self.at(name);
        let is_left_out = match level.and_then(|level| level.check(&self.path, is_directory)) {
            Some(verdict) => verdict == IgnoreVerdict::LeftOut,
            None => is_hidden,
        };
        if is_left_out {
            return false;
        }
        let denied = self.tree.denied.covers(Path::new(OsStr::from_bytes(&self.path)), name);
        self.counts.denied += u64::from(denied);
        !denied
    }

    /// Visits files, and shares them with threads that have nothing to do.
    fn visit_all(&mut self, directory: &Arc<OpenDirectory>, mut files: NameBatch) {
        let mut place = 0;
        while place < files.len() && !self.tree.is_over() {
            let left = files.len() - place;
            if left > 1 && self.queue.is_short() {
                self.queue.add([WalkTask::Files(Arc::clone(directory), files.split_off(place + left.div_ceil(2)))]);
            }
            self.visit(directory, files.get(place).0, false);
            place += 1;
        }
    }

    fn visit(&mut self, directory: &OpenDirectory, name: &OsStr, is_directory: bool) {
        self.at(name);
        self.counts.entries += 1;
        let path = Path::new(OsStr::from_bytes(&self.path[self.tree.lead()..]));
        self.tree.visit(directory, path, name, is_directory);
    }

    /// From here on names are those of this folder.
    fn enter(&mut self, directory: &OpenDirectory) {
        self.path.clear();
        self.path.extend_from_slice(directory.path.as_os_str().as_bytes());
        if !self.path.ends_with(b"/") {
            self.path.push(b'/');
        }
        self.folder = self.path.len();
    }
    fn at(&mut self, name: &OsStr) {
        self.path.truncate(self.folder);
        self.path.extend_from_slice(name.as_bytes());
    }
}

/// What a name is, where the directory does not say.
fn settled(directory: &OpenDirectory, name: &OsStr, kind: FileType) -> FileType {
    if kind != FileType::Unknown {
        return kind;
    }
    directory.status(name).map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}
