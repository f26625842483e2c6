//! The search itself: every file of a tree, from several threads at once.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use grep_regex::RegexMatcher;
use haft_contract::{TreeEntry, TreeVisitor, Visit};

use super::filter::Filter;
use super::kept::{Kept, Row};
use super::kit::Kit;
use super::params::Mode;
use super::parts;
use super::sink::Outcome;
use crate::shared::searching::{Deadline, Newest, TIME, named};

/// What a search that spans lines holds of a file, which is all of it.
pub(super) const LARGEST_WHOLE: usize = 64 << 20;
/// More troubles than this help nobody.
const MOST_TROUBLES: usize = 20;

/// What to look for, and where.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) matcher: RegexMatcher,
    pub(super) filter: Filter,
    pub(super) mode: Mode,
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) line_numbers: bool,
    pub(super) multiline: bool,
    pub(super) only_matching: bool,
    /// How many lines or files can be shown.
    pub(super) keep: usize,
}

/// How much is looked for, so that no search is endless, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    pub(super) time: Duration,
    /// Matches in one file, and in all.
    pub(super) in_file: u64,
    pub(super) in_all: u64,
    /// From this size on, a file is searched by several threads.
    pub(super) large: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { time: TIME, in_file: 1_000_000, in_all: 10_000_000, large: 32 << 20 }
    }
}

/// Why a search ended before it had seen everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Late,
    TooManyMatches,
}

/// A search on its way.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) request: Request,
    /// The name of what is searched.
    pub(super) place: String,
    /// Whether that is a file, which was named itself.
    pub(super) is_file: bool,
    pub(super) budget: Budget,
    pub(super) deadline: Deadline,
    kits: Mutex<Vec<Kit>>,
    matches: AtomicU64,
    found: Mutex<Found>,
}

/// What was found so far.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) newest: Newest,
    pub(super) kept: Kept,
    pub(super) searched: u64,
    pub(super) files: u64,
    pub(super) lines: u64,
    pub(super) matches: u64,
    pub(super) binary: u64,
    pub(super) ended: Option<Ended>,
    pub(super) troubles: Vec<(String, String)>,
}

impl Search {
    pub(super) fn new(request: Request, place: String, is_file: bool, budget: Budget) -> Self {
        let found = Found {
            newest: Newest::new(request.keep),
            kept: Kept::new(request.keep),
            searched: 0,
            files: 0,
            lines: 0,
            matches: 0,
            binary: 0,
            ended: None,
            troubles: Vec::new(),
        };
        let deadline = Deadline::after(budget.time);
        Self { request, place, is_file, budget, deadline, kits: Mutex::default(), matches: AtomicU64::new(0), found: Mutex::new(found) }
    }

    pub(super) fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How a file is named.
    pub(super) fn named(&self, path: &Path) -> String {
        if self.is_file { named(".", Path::new(&self.place)) } else { named(&self.place, path) }
    }

    /// Does something with what a thread needs, and keeps that for the next.
    pub(super) fn with_kit<T>(&self, work: impl FnOnce(&mut Kit) -> T) -> T {
        let kits = || self.kits.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kits().pop();
        let mut kit = kept.unwrap_or_else(|| Kit::new(&self.request, self.is_file));
        let done = work(&mut kit);
        kits().push(kit);
        done
    }

    fn look_into(&self, entry: &dyn TreeEntry) -> io::Result<Outcome> {
        let mut content = entry.open()?;
        let keep = self.wanted(entry.path());
        self.with_kit(|kit| {
            kit.begin(&mut content)?;
            if kit.is_long() && !kit.is_utf_16() && parts::suit(&self.request, keep) {
                let (size, _) = entry.facts()?;
                if size >= self.budget.large {
                    return parts::search(self, entry, size, keep);
                }
            }
            kit.search(self, content, keep, true)
        })
    }

    /// How many lines of a file are worth keeping.
    fn wanted(&self, path: &Path) -> usize {
        match self.request.mode {
            Mode::Content if self.found().kept.wants(path) => self.request.keep,
            _ => 0,
        }
    }

    fn add(&self, entry: &dyn TreeEntry, mut outcome: Outcome) {
        let is_content = self.request.mode == Mode::Content;
        let is_left = outcome.binary.is_some() && !self.is_file;
        if is_left && !is_content {
            // What was found before the first NUL does not make it text.
            outcome.matches = 0;
        }
        let mut found = self.found();
        found.searched += 1;
        found.ended = found.ended.or(outcome.ended);
        found.binary += u64::from(is_left);
        if outcome.matches == 0 {
            return;
        }
        found.files += 1;
        found.matches += outcome.matches;
        found.lines += outcome.lines + u64::from(outcome.binary.is_some());
        match self.request.mode {
            Mode::Content => found.kept.add(entry.path(), outcome.into_lines(&self.named(entry.path()), is_left)),
            Mode::Count => {
                let row = Row::plain(format!("{}:{}", self.named(entry.path()), outcome.matches));
                found.kept.add(entry.path(), vec![row]);
            }
            Mode::FilesWithMatches => {
                drop(found);
                let modified = entry.facts().ok().and_then(|(_, modified)| modified);
                self.found().newest.add(modified, || self.named(entry.path()));
            }
        }
    }

    fn trouble(&self, path: &Path, error: &io::Error) {
        let mut found = self.found();
        if found.troubles.len() < MOST_TROUBLES {
            found.troubles.push((self.named(path), reason(error)));
        }
    }

    fn is_over(&self) -> bool {
        let ended = if self.deadline.is_past() {
            Ended::Late
        } else if self.matches.load(Ordering::Relaxed) >= self.budget.in_all {
            Ended::TooManyMatches
        } else {
            return false;
        };
        self.found().ended.get_or_insert(ended);
        true
    }
}

impl TreeVisitor for Search {
    fn visit(&self, entry: &dyn TreeEntry) -> Visit {
        if self.is_over() {
            return Visit::Enough;
        }
        if !self.is_file && !self.request.filter.admits(&self.place, entry.path()) {
            return Visit::On;
        }
        match self.look_into(entry) {
            Ok(outcome) => {
                self.matches.fetch_add(outcome.matches, Ordering::Relaxed);
                self.add(entry, outcome);
            }
            // What vanished meanwhile has nothing to say.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.trouble(entry.path(), &error),
        }
        Visit::On
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ if error.to_string().contains("allocation limit") => {
            format!("too large to be searched across lines ({} MB is the most)", LARGEST_WHOLE >> 20)
        }
        _ => error.to_string(),
    }
}
