//! Watches on folders whose stamps cannot tell whether they have changed, because they change all the time or did so just now.
//!
//! The kernel queues a change of names before it releases the folder. So every change before a folder was
//! listed is found when the queue is read next.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::FileIdentity;

use super::folder_reader::{FolderEntry, ScannedFolder};

#[cfg(target_os = "linux")]
pub(super) use self::inotify_queue::WatchedFolders;

/// Elsewhere stamps have to tell.
#[cfg(not(target_os = "linux"))]
#[derive(Debug, Default)]
pub(super) struct WatchedFolders;

#[cfg(not(target_os = "linux"))]
impl WatchedFolders {
    pub(super) fn unchanged(&self, _: &Path, _: bool, _: FileIdentity) -> Option<Arc<ScannedFolder>> {
        None
    }
    pub(super) fn add(&mut self, _: &std::os::fd::OwnedFd, _: &Path, _: bool) -> Option<i32> {
        None
    }
    pub(super) fn insert(&mut self, _: i32, _: std::os::fd::OwnedFd, _: FileIdentity, _: Arc<ScannedFolder>) {}
    pub(super) fn find_change(&mut self, _: &dyn Fn(&FolderEntry<'_>) -> bool) -> Option<PathBuf> {
        None
    }
}

#[cfg(target_os = "linux")]
mod inotify_queue {
    use std::collections::HashMap;
    use std::ffi::OsStr;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt;

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
    use rustix::io::Errno;

    use super::super::folder_reader::{EntryKind, handle_path};
    use super::{Arc, FileIdentity, FolderEntry, Path, PathBuf, ScannedFolder};

    /// Names that come, go and change; not what is written into files.
    const NAMES: WatchFlags = WatchFlags::CREATE.union(WatchFlags::MOVE).union(WatchFlags::DELETE).union(WatchFlags::ONLYDIR);
    /// The queue, or a watch, tells nothing more.
    const LOST: ReadFlags = ReadFlags::QUEUE_OVERFLOW.union(ReadFlags::IGNORED).union(ReadFlags::UNMOUNT);
    const BUFFER: usize = 16 << 10;

    /// The folders with a watch, by its number.
    #[derive(Debug, Default)]
    pub(in super::super) struct WatchedFolders {
        queue: Option<OwnedFd>,
        folders: HashMap<i32, WatchedFolder>,
        by_path: HashMap<(PathBuf, bool), i32>,
    }

    #[derive(Debug)]
    struct WatchedFolder {
        path: PathBuf,
        is_generated: bool,
        /// What was read after the watch was there, until something changed.
        listed: Option<(OwnedFd, FileIdentity, Arc<ScannedFolder>)>,
    }

    impl WatchedFolders {
        /// What was read of a folder, if nothing is known to have changed since.
        pub(in super::super) fn unchanged(&self, path: &Path, is_generated: bool, identity: FileIdentity) -> Option<Arc<ScannedFolder>> {
            if self.by_path.is_empty() {
                return None;
            }
            let folder = self.folders.get(self.by_path.get(&(path.to_owned(), is_generated))?)?;
            folder.listed.as_ref().filter(|(_, listed, _)| *listed == identity).map(|(.., scanned)| Arc::clone(scanned))
        }

        /// Watches a folder that is read afterwards; `None` where that cannot be done.
        pub(in super::super) fn add(&mut self, handle: &OwnedFd, path: &Path, is_generated: bool) -> Option<i32> {
            if self.queue.is_none() {
                self.queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
            }
            let watch = inotify::add_watch(self.queue.as_ref()?, handle_path(handle), NAMES).ok()?;
            // One that was moved has the same watch, under its new path.
            if let Some(before) = self.folders.insert(watch, WatchedFolder { path: path.to_owned(), is_generated, listed: None }) {
                self.by_path.remove(&(before.path, before.is_generated));
            }
            self.by_path.insert((path.to_owned(), is_generated), watch);
            Some(watch)
        }

        /// Notes what was read after the watch was there.
        pub(in super::super) fn insert(&mut self, watch: i32, handle: OwnedFd, identity: FileIdentity, scanned: Arc<ScannedFolder>) {
            if let Some(folder) = self.folders.get_mut(&watch) {
                folder.listed = Some((handle, identity, scanned));
            }
        }

        /// A folder in which something has changed that matters. Each such folder is to be read again.
        pub(in super::super) fn find_change(&mut self, matters: &dyn Fn(&FolderEntry<'_>) -> bool) -> Option<PathBuf> {
            let queue = self.queue.as_ref()?;
            for (handle, ..) in self.folders.values().filter_map(|folder| folder.listed.as_ref()) {
                // Waits for a change that has begun.
                drop(std::fs::read_dir(handle_path(handle)).ok().and_then(|mut entries| entries.next()));
            }
            let mut buffer = [MaybeUninit::uninit(); BUFFER];
            let mut events = Reader::new(queue, &mut buffer);
            let mut changed = None;
            loop {
                let event = match events.next() {
                    Ok(event) => event,
                    Err(Errno::INTR) => continue,
                    Err(_) => return changed,
                };
                if event.events().intersects(LOST) {
                    changed = self.folders.values().next().map(|folder| folder.path.clone()).or(changed);
                    self.folders.values_mut().for_each(|folder| folder.listed = None);
                    continue;
                }
                let (Some(folder), Some(name)) = (self.folders.get_mut(&event.wd()), event.file_name()) else { continue };
                let kind = if event.events().contains(ReadFlags::ISDIR) { EntryKind::Folder } else { EntryKind::Other };
                let name = OsStr::from_bytes(name.to_bytes());
                let entry = FolderEntry { folder: &folder.path, is_generated: folder.is_generated, name, kind, inode: None };
                if kind == EntryKind::Folder || matters(&entry) {
                    folder.listed = None;
                    changed = Some(folder.path.clone());
                }
            }
        }
    }
}
