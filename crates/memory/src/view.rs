//! What is known of the files since they were last compared, so that a search looks at those alone that changed.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_contract::ports::FileSystem;
use haft_contract::{Location, TreeChanges, TreeWatch};

/// After this long all files are compared again: some changes are not reported, such as those through a name that a file got later.
const COMPARE_AGAIN: Duration = Duration::from_secs(30);
/// More changes than this are found faster by comparing all files.
const MOST_CHANGES: usize = 200;
/// Sessions with rights of their own have views of their own.
const MOST_VIEWS: usize = 4;

/// The files that one view showed, and how their changes are known.
pub(crate) struct WatchedView {
    /// The view of the files, and the roots in it.
    pub(crate) key: ViewKey,
    pub(crate) watch: Arc<dyn TreeWatch>,
    /// The roots that are folders: the others are looked at every time.
    pub(crate) folders: Vec<Location>,
    /// The files that may be read, as they are named.
    pub(crate) visible: Arc<HashSet<String>>,
    /// Changes that were reported while all files were compared.
    pub(crate) early: BTreeSet<PathBuf>,
    /// The state of the index, but for changes by this process.
    pub(crate) version: i64,
    pub(crate) compared: Instant,
}

/// Which files are seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ViewKey {
    view: u64,
    roots: Vec<PathBuf>,
}

impl ViewKey {
    pub(crate) fn from_roots(files: &dyn FileSystem, roots: &[Location]) -> Option<Self> {
        Some(Self { view: files.view()?, roots: roots.iter().map(|root| root.path().to_owned()).collect() })
    }
}

impl WatchedView {
    /// What changed since; `None` if all files are to be compared.
    pub(crate) fn changes(&mut self, version: i64) -> Option<BTreeSet<PathBuf>> {
        if self.version != version || self.compared.elapsed() >= COMPARE_AGAIN {
            return None;
        }
        match self.watch.take() {
            TreeChanges::Entries(mut changes) if changes.len() <= MOST_CHANGES => {
                changes.append(&mut self.early);
                Some(changes)
            }
            TreeChanges::Entries(_) | TreeChanges::Anything => None,
        }
    }
}

/// The views that were used last, the newest at the end.
#[derive(Default)]
pub(crate) struct WatchedViews(Vec<WatchedView>);

impl WatchedViews {
    /// Takes a view out: it comes back when all of its changes are in the index.
    pub(crate) fn take(&mut self, key: &ViewKey) -> Option<WatchedView> {
        let at = self.0.iter().position(|view| view.key == *key)?;
        Some(self.0.remove(at))
    }

    pub(crate) fn put(&mut self, view: WatchedView) {
        if self.0.len() >= MOST_VIEWS {
            self.0.remove(0);
        }
        self.0.push(view);
    }

    pub(crate) fn find(&self, key: &ViewKey) -> Option<&WatchedView> {
        self.0.iter().find(|view| view.key == *key)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
