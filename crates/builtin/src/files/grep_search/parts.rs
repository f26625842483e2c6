//! A large file, searched in parts by several threads.
//!
//! A part is the lines that begin in a range of bytes. What the parts come to is put together in their order, so it is the
//! same as if the file had been searched from its beginning to its end.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::TreeEntry;

use super::params::Mode;
use super::search::{Ended, Request, Search};
use super::sink::{Line, Outcome};
use super::source::is_late;
use crate::shared::searching::Deadline;

/// More threads than this do not make memory faster.
const MOST_THREADS: usize = 8;
/// So many parts for each thread: they do not all take the same time.
const PARTS_FOR_EACH: usize = 4;
/// Each part keeps as many lines as all together are to show, so there must not be too many.
const MOST_KEPT: usize = 5_000;

/// Threads that help searches, in the whole process.
static HELPERS: AtomicUsize = AtomicUsize::new(0);

/// Whether a search can be done in parts: matches and what is shown around them must not reach from one into the next.
pub(super) fn suit(request: &Request, keep: usize) -> bool {
    !request.multiline && request.before == 0 && request.after == 0 && keep <= MOST_KEPT
}

/// Searches a file of this size.
pub(super) fn search(search: &Search, entry: &dyn TreeEntry, size: u64, keep: usize) -> io::Result<Outcome> {
    let threads = Threads::take();
    let parts = divided(search, entry, size, threads.count * PARTS_FOR_EACH)?;
    let passed: Vec<_> = parts.iter().map(|part| Arc::clone(&part.passed)).collect();
    let results: Vec<Mutex<io::Result<Outcome>>> = parts.iter().map(|_| Mutex::new(Ok(Outcome::default()))).collect();
    let waiting = Mutex::new(parts.into_iter().enumerate());
    let work = || {
        while let Some((place, part)) = locked(&waiting).next() {
            *locked(&results[place]) = one(search, part, keep);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.count {
            scope.spawn(work);
        }
        work();
    });
    let results = results.into_iter().map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner));
    together(search, results.zip(&passed), keep)
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn one(search: &Search, mut part: Part, keep: usize) -> io::Result<Outcome> {
    let (needed, number, is_start) = (Arc::clone(&part.needed), part.number, !part.is_within);
    let searched = search.with_kit(|kit| {
        kit.begin(&mut part)?;
        kit.search(search, Box::new(part), keep, is_start)
    });
    let outcome = match searched {
        Err(error) if is_late(&error) => Outcome { ended: Some(Ended::Late), ..Outcome::default() },
        other => other?,
    };
    if search.request.mode == Mode::FilesWithMatches && outcome.matches > 0 {
        // One match is all that is asked for.
        needed.store(0, Ordering::Relaxed);
    } else if outcome.binary.is_some() && !search.is_file {
        // What is behind the first NUL is not searched.
        needed.fetch_min(number, Ordering::Relaxed);
    }
    Ok(outcome)
}

/// Puts the outcomes of parts together.
fn together<'p>(search: &Search, parts: impl Iterator<Item = (io::Result<Outcome>, &'p Arc<Passed>)>, keep: usize) -> io::Result<Outcome> {
    let (mut whole, mut lines_before) = (Outcome::default(), 0);
    for (part, passed) in parts {
        let part = part?;
        let is_hidden = whole.binary.is_some();
        whole.matches += part.matches;
        whole.ended = whole.ended.or(part.ended);
        whole.binary = whole.binary.or(part.binary.map(|offset| passed.start.load(Ordering::Relaxed) + offset));
        if !is_hidden {
            whole.lines += part.lines;
            let room = keep - whole.kept.len();
            whole.kept.extend(part.kept.into_iter().take(room).map(|line| moved(line, lines_before)));
        }
        lines_before += passed.lines.load(Ordering::Relaxed);
        if whole.binary.is_some() && !search.is_file {
            break;
        }
        if whole.matches >= search.budget.in_file {
            whole.ended = whole.ended.or(Some(Ended::TooManyMatches));
            break;
        }
    }
    Ok(whole)
}

fn moved(line: Line, lines: u64) -> Line {
    match line {
        Line::Text(number, mark, text) => Line::Text(number.map(|number| number + lines), mark, text),
        Line::Gap => Line::Gap,
    }
}

fn divided(search: &Search, entry: &dyn TreeEntry, size: u64, count: usize) -> io::Result<Vec<Part>> {
    let (count, needed) = (count.max(1) as u64, Arc::new(AtomicU64::new(u64::MAX)));
    let counts_lines = search.request.mode == Mode::Content && search.request.line_numbers;
    let part = |number: u64| {
        let (start, end) = (size / count * number, if number + 1 == count { u64::MAX } else { size / count * (number + 1) });
        // With the byte before, which tells whether a line begins here.
        let position = start.saturating_sub(1);
        let content = entry.open_from(position)?;
        let (passed, needed, deadline) = (Arc::default(), Arc::clone(&needed), search.deadline);
        let number = number + 1;
        Ok(Part { content, number, position, end, is_within: start > 0, is_done: false, counts_lines, passed, needed, deadline })
    };
    (0..count).map(part).collect()
}

/// The lines that begin in a range of a file.
struct Part {
    content: Box<dyn Read + Send>,
    /// Which one it is, counted from 1.
    number: u64,
    /// Where the next byte stands in the file.
    position: u64,
    end: u64,
    /// Whether no line has begun yet.
    is_within: bool,
    is_done: bool,
    counts_lines: bool,
    passed: Arc<Passed>,
    /// The last part that is needed: what another one found can make those behind it needless.
    needed: Arc<AtomicU64>,
    /// A line that goes through the whole part is passed over here, and may be as long as the file.
    deadline: Deadline,
}

/// What is known of a part once it was read.
#[derive(Debug, Default)]
struct Passed {
    /// Where its first line begins in the file.
    start: AtomicU64,
    lines: AtomicU64,
}

impl Part {
    /// What of some bytes belongs to the part.
    fn own(&mut self, bytes: &[u8]) -> std::ops::Range<usize> {
        let (start, length, was_within) = (self.position, bytes.len(), self.is_within);
        self.position += length as u64;
        let mut from = 0;
        if was_within {
            match memchr::memchr(b'\n', bytes) {
                Some(before) => {
                    (from, self.is_within) = (before + 1, false);
                    self.passed.start.store(start + from as u64, Ordering::Relaxed);
                }
                None => from = length,
            }
        }
        // A line that begins behind the end is the next part's; one that only goes on there is not.
        if was_within && start + from as u64 >= self.end {
            self.is_done = true;
            return 0..0;
        }
        // The last line is the one that the byte before the end is of.
        let last = usize::try_from((self.end - 1).saturating_sub(start)).unwrap_or(usize::MAX).max(from);
        match bytes.get(last..).and_then(|behind| memchr::memchr(b'\n', behind)) {
            Some(end) => {
                self.is_done = true;
                from..last + end + 1
            }
            None => from..length,
        }
    }
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.is_done && self.number <= self.needed.load(Ordering::Relaxed) {
            if self.deadline.is_past() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let length = self.content.read(buffer)?;
            if length == 0 {
                return Ok(0);
            }
            let own = self.own(&buffer[..length]);
            if own.is_empty() {
                continue;
            }
            if self.counts_lines {
                self.passed.lines.fetch_add(memchr::memchr_iter(b'\n', &buffer[own.clone()]).count() as u64, Ordering::Relaxed);
            }
            let count = own.len();
            buffer.copy_within(own, 0);
            return Ok(count);
        }
        Ok(0)
    }
}

/// Threads that work on a file, the one that has it among them.
struct Threads {
    count: usize,
}

impl Threads {
    fn take() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut granted = 0;
        let grant = |used: usize| {
            granted = (cores.min(MOST_THREADS) - 1).min((2 * cores).saturating_sub(used));
            Some(used + granted)
        };
        let taken = HELPERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grant);
        Self { count: 1 + if taken.is_ok() { granted } else { 0 } }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        HELPERS.fetch_sub(self.count - 1, Ordering::Relaxed);
    }
}
