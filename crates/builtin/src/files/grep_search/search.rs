//! The search itself: every file of a tree, from several threads at once.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use haft_contract::{TreeEntry, TreeVisitor, Visit};

use super::filter::Filter;
use super::kept::Kept;
use super::params::Mode;
use super::sink::{FileSink, Outcome};
use super::source::{Cuts, Source, is_late};
use crate::shared::searching::{Deadline, Newest, TIME, named};

/// What a search that spans lines holds of a file, which is all of it.
const LARGEST_WHOLE: usize = 64 << 20;
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

/// How much is looked for, so that no search is endless.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    pub(super) time: Duration,
    /// Matches in one file, and in all.
    pub(super) in_file: u64,
    pub(super) in_all: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { time: TIME, in_file: 1_000_000, in_all: 10_000_000 }
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
    is_file: bool,
    pub(super) budget: Budget,
    deadline: Deadline,
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
    pub(super) not_text: u64,
    pub(super) cut: u64,
    pub(super) ended: Option<Ended>,
    pub(super) troubles: Vec<(String, String)>,
}

/// What one thread needs to search; made once, used again and again.
#[derive(Debug)]
struct Kit {
    searcher: Searcher,
    /// Only for what has to be decoded first.
    decoding: Searcher,
    matcher: RegexMatcher,
    head: Vec<u8>,
    cuts: Cuts,
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
            not_text: 0,
            cut: 0,
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

    /// How many lines of a file are worth keeping.
    fn wanted(&self, path: &Path) -> usize {
        match self.request.mode {
            Mode::Content if self.found().kept.wants(path) => self.request.keep,
            _ => 0,
        }
    }

    fn look_into(&self, entry: &dyn TreeEntry) -> io::Result<Outcome> {
        let path = entry.path();
        let content = entry.open()?;
        let mut kit = self.kit();
        let Kit { searcher, decoding, matcher, head, cuts } = &mut kit;
        let source = Source::new(content, head, (!self.request.multiline).then_some(&*cuts), self.deadline)?;
        let searcher = if source.is_utf_16() { decoding } else { searcher };
        let mut sink = FileSink::new(self, path, matcher, cuts, self.wanted(path));
        let ending = searcher.search_reader(&*matcher, source.settled(), &mut sink);
        let mut outcome = sink.into_outcome();
        self.return_kit(kit);
        match ending {
            Err(error) if is_late(&error) => outcome.ended = Some(Ended::Late),
            other => other?,
        }
        Ok(outcome)
    }

    fn kit(&self) -> Kit {
        let kept = self.kits.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_else(|| Kit {
            searcher: self.searcher(false),
            decoding: self.searcher(true),
            matcher: self.request.matcher.clone(),
            head: Vec::new(),
            cuts: Cuts::default(),
        })
    }
    fn return_kit(&self, kit: Kit) {
        self.kits.lock().unwrap_or_else(PoisonError::into_inner).push(kit);
    }

    /// As ripgrep would search: a file that was named is searched although it is binary, others only up to the first NUL.
    fn searcher(&self, decodes: bool) -> Searcher {
        let Request { before, after, multiline, mode, line_numbers, .. } = self.request;
        let binary = if self.is_file { BinaryDetection::convert(0) } else { BinaryDetection::quit(0) };
        let mut builder = SearcherBuilder::new();
        builder
            .line_number(mode == Mode::Content && line_numbers)
            .multi_line(multiline)
            .before_context(before)
            .after_context(after)
            .binary_detection(binary)
            .bom_sniffing(decodes)
            .heap_limit(Some(LARGEST_WHOLE));
        builder.build()
    }

    fn add(&self, entry: &dyn TreeEntry, outcome: Outcome) {
        let mut found = self.found();
        found.searched += 1;
        found.ended = found.ended.or(outcome.ended);
        found.binary += u64::from(outcome.is_binary);
        if outcome.matches == 0 {
            return;
        }
        found.files += 1;
        found.matches += outcome.matches;
        found.lines += outcome.lines;
        found.not_text += outcome.not_text;
        found.cut += outcome.cut;
        match self.request.mode {
            Mode::Content => found.kept.add(entry.path(), outcome.kept),
            Mode::Count => found.kept.add(entry.path(), vec![format!("{}:{}", self.named(entry.path()), outcome.matches)]),
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
        if self.deadline.is_past() {
            self.found().ended.get_or_insert(Ended::Late);
            return true;
        }
        let is_over = self.matches.load(Ordering::Relaxed) >= self.budget.in_all;
        if is_over {
            self.found().ended.get_or_insert(Ended::TooManyMatches);
        }
        is_over
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
