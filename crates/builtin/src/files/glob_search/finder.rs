//! Looks at every file of a tree, and keeps the newest that match.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use haft_contract::{TreeEntry, TreeVisitor, Visit};

use super::pattern::Pattern;
use crate::shared::searching::{Deadline, Newest, named};

#[derive(Debug)]
pub(super) struct Finder {
    pattern: Pattern,
    place: String,
    found: Mutex<Newest>,
    deadline: Deadline,
    late: AtomicBool,
}

/// What was found.
#[derive(Debug)]
pub(super) struct Found {
    /// The newest first.
    pub(super) names: Vec<String>,
    pub(super) total: u64,
    /// Whether there was no time to see everything.
    pub(super) late: bool,
}

impl Finder {
    /// Finds in a place, and keeps so many.
    pub(super) fn new(pattern: Pattern, place: String, most: usize, deadline: Deadline) -> Self {
        Self { pattern, place, found: Mutex::new(Newest::new(most)), deadline, late: AtomicBool::new(false) }
    }

    /// Whether the search begins in a directory that the pattern names.
    pub(super) fn is_led_on(&self) -> bool {
        self.pattern.is_led_on()
    }

    /// What was found so far, which is no longer kept.
    pub(super) fn found(&self) -> Found {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let found = std::mem::replace(&mut *found, Newest::new(0));
        Found { total: found.total(), names: found.into_names(), late: self.late.load(Ordering::Relaxed) }
    }
}

impl TreeVisitor for Finder {
    fn visit(&self, entry: &dyn TreeEntry) -> Visit {
        if self.deadline.is_past() {
            self.late.store(true, Ordering::Relaxed);
            return Visit::Enough;
        }
        // Looked up outside the lock. What is gone, or was swapped for a link, has no date and is no match either.
        if self.pattern.matches(entry.path())
            && let Ok((_, modified)) = entry.facts()
        {
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.add(modified, || named(&self.place, entry.path()));
        }
        Visit::On
    }
}
