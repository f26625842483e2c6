//! The search of a tree, on several threads.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use grep_regex::RegexMatcher;
use haft_contract::{TreeEntry, TreeVisitor, Visit};

use super::file_parts;
use super::filter::FileFilter;
use super::params::OutputMode;
use super::rows::{FileRows, ResultRow};
use super::searcher::ThreadSearcher;
use super::sink::FileMatches;
use crate::shared::tree_search::{Deadline, NewestFiles, TIME, display_path};

/// A multi-line search reads a whole file of at most this size.
pub(super) const LARGEST_WHOLE: usize = 64 << 20;
/// Most errors that are reported.
const MOST_TROUBLES: usize = 20;

/// The search to run.
#[derive(Debug)]
pub(super) struct GrepRequest {
    pub(super) matcher: RegexMatcher,
    pub(super) filter: FileFilter,
    pub(super) mode: OutputMode,
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) line_numbers: bool,
    pub(super) multiline: bool,
    pub(super) only_matching: bool,
    /// How many lines or files can be shown.
    pub(super) keep: usize,
}

/// Bounds of a search.
#[derive(Debug, Clone, Copy)]
pub(super) struct GrepBudget {
    pub(super) time: Duration,
    /// Matches in one file, and in all.
    pub(super) in_file: u64,
    pub(super) in_all: u64,
    /// From this size on, a file is searched by several threads.
    pub(super) large: u64,
}

impl Default for GrepBudget {
    fn default() -> Self {
        Self { time: TIME, in_file: 1_000_000, in_all: 10_000_000, large: 32 << 20 }
    }
}

/// Why a search stopped early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GrepStop {
    Late,
    TooManyMatches,
}

/// A running search.
#[derive(Debug)]
pub(super) struct GrepSearchRun {
    pub(super) request: GrepRequest,
    /// The name of the searched file or directory.
    pub(super) location: String,
    /// Whether that is a file.
    pub(super) is_file: bool,
    pub(super) budget: GrepBudget,
    pub(super) deadline: Deadline,
    searchers: Mutex<Vec<ThreadSearcher>>,
    matches: AtomicU64,
    found: Mutex<GrepResult>,
}

/// The results so far.
#[derive(Debug)]
pub(super) struct GrepResult {
    pub(super) newest: NewestFiles,
    pub(super) kept: FileRows,
    pub(super) searched: u64,
    pub(super) files: u64,
    pub(super) lines: u64,
    pub(super) matches: u64,
    pub(super) binary: u64,
    pub(super) ended: Option<GrepStop>,
    pub(super) troubles: Vec<(String, String)>,
}

impl GrepSearchRun {
    pub(super) fn new(request: GrepRequest, location: String, is_file: bool, budget: GrepBudget) -> Self {
        let found = GrepResult {
            newest: NewestFiles::new(request.keep),
            kept: FileRows::new(request.keep),
            searched: 0,
            files: 0,
            lines: 0,
            matches: 0,
            binary: 0,
            ended: None,
            troubles: Vec::new(),
        };
        let deadline = Deadline::after(budget.time);
        Self {
            request,
            location,
            is_file,
            budget,
            deadline,
            searchers: Mutex::default(),
            matches: AtomicU64::new(0),
            found: Mutex::new(found),
        }
    }

    pub(super) fn lock_result(&self) -> MutexGuard<'_, GrepResult> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name of a file in the results.
    pub(super) fn name_of(&self, path: &Path) -> String {
        if self.is_file { display_path(".", Path::new(&self.location)) } else { display_path(&self.location, path) }
    }

    /// Runs work with a pooled searcher.
    pub(super) fn with_searcher<T>(&self, work: impl FnOnce(&mut ThreadSearcher) -> T) -> T {
        let searchers = || self.searchers.lock().unwrap_or_else(PoisonError::into_inner);
        let pooled = searchers().pop();
        let mut searcher = pooled.unwrap_or_else(|| ThreadSearcher::new(&self.request, self.is_file));
        let done = work(&mut searcher);
        searchers().push(searcher);
        done
    }

    fn search_file(&self, entry: &dyn TreeEntry) -> io::Result<FileMatches> {
        let mut content = entry.open()?;
        let keep = self.lines_to_keep(entry.path());
        self.with_searcher(|searcher| {
            searcher.begin(&mut content)?;
            if searcher.is_long() && !searcher.is_utf_16() && file_parts::can_split(&self.request, keep) {
                let (size, _) = entry.facts()?;
                if size >= self.budget.large {
                    return file_parts::search(self, entry, size, keep, searcher.is_plain());
                }
            }
            searcher.search(self, content, keep, true)
        })
    }

    /// How many lines of a file to keep.
    fn lines_to_keep(&self, path: &Path) -> usize {
        match self.request.mode {
            OutputMode::Content if self.lock_result().kept.wants(path) => self.request.keep,
            _ => 0,
        }
    }

    fn add(&self, entry: &dyn TreeEntry, mut outcome: FileMatches) {
        let is_content = self.request.mode == OutputMode::Content;
        let is_left = outcome.binary.is_some() && !self.is_file;
        if is_left && !is_content {
            // Matches before the first NUL do not make it text.
            outcome.matches = 0;
        }
        let mut found = self.lock_result();
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
            OutputMode::Content => found.kept.add(entry.path(), outcome.into_lines(&self.name_of(entry.path()), is_left)),
            OutputMode::Count => {
                let row = ResultRow::plain(format!("{}:{}", self.name_of(entry.path()), outcome.matches));
                found.kept.add(entry.path(), vec![row]);
            }
            OutputMode::FilesWithMatches => {
                drop(found);
                let modified = entry.facts().ok().and_then(|(_, modified)| modified);
                self.lock_result().newest.add(modified, || self.name_of(entry.path()));
            }
        }
    }

    fn report_error(&self, path: &Path, error: &io::Error) {
        let mut found = self.lock_result();
        if found.troubles.len() < MOST_TROUBLES {
            found.troubles.push((self.name_of(path), reason(error)));
        }
    }

    fn is_over(&self) -> bool {
        let ended = if self.deadline.is_past() {
            GrepStop::Late
        } else if self.matches.load(Ordering::Relaxed) >= self.budget.in_all {
            GrepStop::TooManyMatches
        } else {
            return false;
        };
        self.lock_result().ended.get_or_insert(ended);
        true
    }
}

impl TreeVisitor for GrepSearchRun {
    fn visit(&self, entry: &dyn TreeEntry) -> Visit {
        if self.is_over() {
            return Visit::Enough;
        }
        if !self.is_file && !self.request.filter.admits(&self.location, entry.path()) {
            return Visit::On;
        }
        match self.search_file(entry) {
            Ok(outcome) => {
                self.matches.fetch_add(outcome.matches, Ordering::Relaxed);
                self.add(entry, outcome);
            }
            // The file was removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.report_error(entry.path(), &error),
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
