//! Visits every file of a tree, and keeps the newest that match.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use haft_contract::{TreeEntry, TreeVisitor, Visit};

use super::pattern::SearchPattern;
use crate::shared::tree_search::{Deadline, NewestFiles, display_path};

#[derive(Debug)]
pub(super) struct GlobVisitor {
    pattern: SearchPattern,
    location: String,
    found: Mutex<NewestFiles>,
    deadline: Deadline,
    late: AtomicBool,
}

/// The result of a search.
#[derive(Debug)]
pub(super) struct GlobResult {
    /// The newest first.
    pub(super) names: Vec<String>,
    pub(super) total: u64,
    /// Whether the deadline stopped the search.
    pub(super) late: bool,
}

impl GlobVisitor {
    /// Keeps so many files.
    pub(super) fn new(pattern: SearchPattern, location: String, most: usize, deadline: Deadline) -> Self {
        Self { pattern, location, found: Mutex::new(NewestFiles::new(most)), deadline, late: AtomicBool::new(false) }
    }

    /// Whether the search begins in a directory that the pattern names.
    pub(super) fn names_start(&self) -> bool {
        self.pattern.names_start()
    }

    /// Takes the result.
    pub(super) fn take_result(&self) -> GlobResult {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let found = std::mem::replace(&mut *found, NewestFiles::new(0));
        GlobResult { total: found.total(), names: found.into_names(), late: self.late.load(Ordering::Relaxed) }
    }
}

impl TreeVisitor for GlobVisitor {
    fn visit(&self, entry: &dyn TreeEntry) -> Visit {
        if self.deadline.is_past() {
            self.late.store(true, Ordering::Relaxed);
            return Visit::Enough;
        }
        // Outside the lock. A file that was removed or replaced by a link has no date, and does not match.
        if self.pattern.matches(entry.path())
            && let Ok((_, modified)) = entry.facts()
        {
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.add(modified, || display_path(&self.location, entry.path()));
        }
        Visit::On
    }
}
