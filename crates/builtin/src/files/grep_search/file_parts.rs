//! A large file, searched in parts by several threads.
//!
//! A part has the lines that begin in a range of bytes. The results are merged in order, as if the file had been searched from
//! start to end.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::TreeEntry;

use super::params::OutputMode;
use super::search::{GrepRequest, GrepSearchRun, GrepStop};
use super::sink::{FileMatches, MatchLine};
use super::source::is_late;
use crate::shared::tree_search::Deadline;

/// Most threads for one file.
const MOST_THREADS: usize = 8;
/// Parts for each thread, because some take longer than others.
const PARTS_FOR_EACH: usize = 4;
/// Each part keeps as many lines as the whole result, so there must not be too many.
const MOST_KEPT: usize = 5_000;

/// Helper threads of all searches in the process.
static HELPERS: AtomicUsize = AtomicUsize::new(0);

/// Whether a search can be split: matches and their context must not cross parts.
pub(super) fn can_split(request: &GrepRequest, keep: usize) -> bool {
    !request.multiline && request.before == 0 && request.after == 0 && keep <= MOST_KEPT
}

/// Searches a file of this size, first as one of ordinary lines without NULs, if it begins so.
pub(super) fn search(search: &GrepSearchRun, entry: &dyn TreeEntry, size: u64, keep: usize, is_plain: bool) -> io::Result<FileMatches> {
    let threads = HelperThreads::take();
    let is_odd = AtomicBool::new(!is_plain);
    if is_plain {
        let found = search_parts(search, entry, size, keep, (&threads, |part| plain_part(search, part, keep, &is_odd)))?;
        if !is_odd.load(Ordering::Relaxed) {
            return Ok(found);
        }
    }
    search_parts(search, entry, size, keep, (&threads, |part| one(search, part, keep)))
}

fn search_parts(
    search: &GrepSearchRun,
    entry: &dyn TreeEntry,
    size: u64,
    keep: usize,
    (threads, one): (&HelperThreads, impl Fn(FilePart) -> io::Result<FileMatches> + Sync),
) -> io::Result<FileMatches> {
    let parts = split(search, entry, size, threads.count * PARTS_FOR_EACH)?;
    let passed: Vec<_> = parts.iter().map(|part| Arc::clone(&part.passed)).collect();
    let results: Vec<Mutex<io::Result<FileMatches>>> = parts.iter().map(|_| Mutex::new(Ok(FileMatches::default()))).collect();
    let waiting = Mutex::new(parts.into_iter().enumerate());
    // Not as the condition of the loop, which would hold the lock while a part is searched.
    let take = || locked(&waiting).next();
    let work = || {
        while let Some((location, part)) = take() {
            *locked(&results[location]) = one(part);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.count {
            scope.spawn(work);
        }
        work();
    });
    let results = results.into_iter().map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner));
    merge(search, results.zip(&passed), keep)
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A part of a file of ordinary lines. Where it is none, no part of it is searched any more.
fn plain_part(search: &GrepSearchRun, mut part: FilePart, keep: usize, is_odd: &AtomicBool) -> io::Result<FileMatches> {
    part.counts_lines = false;
    let (needed, passed, is_start) = (Arc::clone(&part.needed), Arc::clone(&part.passed), !part.is_within);
    let Some((outcome, lines)) = search.with_searcher(|searcher| searcher.search_plain(search, &mut part, keep, is_start))? else {
        is_odd.store(true, Ordering::Relaxed);
        needed.store(0, Ordering::Relaxed);
        return Ok(FileMatches::default());
    };
    passed.lines.store(lines, Ordering::Relaxed);
    if search.request.mode == OutputMode::FilesWithMatches && outcome.matches > 0 {
        // One match suffices.
        needed.store(0, Ordering::Relaxed);
    }
    Ok(outcome)
}

fn one(search: &GrepSearchRun, mut part: FilePart, keep: usize) -> io::Result<FileMatches> {
    let (needed, number, is_start) = (Arc::clone(&part.needed), part.number, !part.is_within);
    let searched = search.with_searcher(|searcher| {
        searcher.begin(&mut part)?;
        searcher.search(search, Box::new(part), keep, is_start)
    });
    let outcome = match searched {
        Err(error) if is_late(&error) => FileMatches { ended: Some(GrepStop::Late), ..FileMatches::default() },
        other => other?,
    };
    if search.request.mode == OutputMode::FilesWithMatches && outcome.matches > 0 {
        // One match suffices.
        needed.store(0, Ordering::Relaxed);
    } else if outcome.binary.is_some() && !search.is_file {
        // Nothing is searched after the first NUL.
        needed.fetch_min(number, Ordering::Relaxed);
    }
    Ok(outcome)
}

/// Merges the results of parts.
fn merge<'p>(
    search: &GrepSearchRun,
    parts: impl Iterator<Item = (io::Result<FileMatches>, &'p Arc<PartProgress>)>,
    keep: usize,
) -> io::Result<FileMatches> {
    let (mut whole, mut lines_before) = (FileMatches::default(), 0);
    for (part, passed) in parts {
        let part = part?;
        let is_hidden = whole.binary.is_some();
        whole.matches += part.matches;
        whole.ended = whole.ended.or(part.ended);
        whole.binary = whole.binary.or(part.binary.map(|offset| passed.start.load(Ordering::Relaxed) + offset));
        if !is_hidden {
            whole.lines += part.lines;
            let space = keep - whole.kept.len();
            whole.kept.extend(part.kept.into_iter().take(space).map(|line| renumber(line, lines_before)));
        }
        lines_before += passed.lines.load(Ordering::Relaxed);
        if whole.binary.is_some() && !search.is_file {
            break;
        }
        if whole.matches >= search.budget.in_file {
            whole.ended = whole.ended.or(Some(GrepStop::TooManyMatches));
            break;
        }
    }
    Ok(whole)
}

fn renumber(line: MatchLine, lines: u64) -> MatchLine {
    match line {
        MatchLine::Text(number, separator, text) => MatchLine::Text(number.map(|number| number + lines), separator, text),
        MatchLine::Gap => MatchLine::Gap,
    }
}

fn split(search: &GrepSearchRun, entry: &dyn TreeEntry, size: u64, count: usize) -> io::Result<Vec<FilePart>> {
    let (count, needed) = (count.max(1) as u64, Arc::new(AtomicU64::new(u64::MAX)));
    let counts_lines = search.request.mode == OutputMode::Content && search.request.line_numbers;
    let part = |number: u64| {
        let (start, end) = (size / count * number, if number + 1 == count { u64::MAX } else { size / count * (number + 1) });
        // With the byte before, to see whether a line begins here.
        let position = start.saturating_sub(1);
        let content = entry.open_from(position)?;
        let (passed, needed, deadline) = (Arc::default(), Arc::clone(&needed), search.deadline);
        let number = number + 1;
        Ok(FilePart { content, number, position, end, is_within: start > 0, is_done: false, counts_lines, passed, needed, deadline })
    };
    (0..count).map(part).collect()
}

/// The lines that begin in a range of a file.
struct FilePart {
    content: Box<dyn Read + Send>,
    /// Its number, counted from 1.
    number: u64,
    /// Position of the next byte in the file.
    position: u64,
    end: u64,
    /// Whether no line has begun yet.
    is_within: bool,
    is_done: bool,
    counts_lines: bool,
    passed: Arc<PartProgress>,
    /// The last part that is needed: a match in another one can make later parts needless.
    needed: Arc<AtomicU64>,
    /// A line that spans the whole part is skipped, and may be as long as the file.
    deadline: Deadline,
}

/// Counts of a part that was read.
#[derive(Debug, Default)]
struct PartProgress {
    /// Where its first line begins in the file.
    start: AtomicU64,
    lines: AtomicU64,
}

impl FilePart {
    /// The range of some bytes that belongs to the part.
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
        // A line that begins after the end belongs to the next part; one that only continues there does not.
        if was_within && start + from as u64 >= self.end {
            self.is_done = true;
            return 0..0;
        }
        // The last line has the byte before the end.
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

impl Read for FilePart {
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
            // Only the first bytes of a part belong to the one before.
            if own.start > 0 {
                buffer.copy_within(own, 0);
            }
            return Ok(count);
        }
        Ok(0)
    }
}

/// The threads of one file, including the current one.
struct HelperThreads {
    count: usize,
}

impl HelperThreads {
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

impl Drop for HelperThreads {
    fn drop(&mut self) {
        HELPERS.fetch_sub(self.count - 1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Condvar;
    use std::time::{Duration, SystemTime};

    use serde_json::json;

    use super::*;
    use crate::files::grep_search::params::Params;
    use crate::files::grep_search::search::GrepBudget;

    /// A file of which no part can be read before another one is read as well.
    #[derive(Default)]
    struct Meeting {
        parts: Arc<(Mutex<usize>, Condvar)>,
    }

    struct MeetingPart {
        parts: Arc<(Mutex<usize>, Condvar)>,
        rest: &'static [u8],
    }

    impl Read for MeetingPart {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let (parts, arrived) = &*self.parts;
            let mut count = locked(parts);
            *count += 1;
            arrived.notify_all();
            let waited = arrived.wait_timeout_while(count, Duration::from_secs(20), |count| *count < 2).unwrap().1;
            assert!(!waited.timed_out(), "nobody reads another part");
            self.rest.read(buffer)
        }
    }

    impl TreeEntry for Meeting {
        fn path(&self) -> &Path {
            Path::new("f")
        }
        fn is_directory(&self) -> bool {
            false
        }
        fn facts(&self) -> io::Result<(u64, Option<SystemTime>)> {
            Ok((8, None))
        }
        fn open(&self) -> io::Result<Box<dyn Read + Send>> {
            self.open_from(0)
        }
        fn open_from(&self, offset: u64) -> io::Result<Box<dyn Read + Send>> {
            const TEXT: &[u8] = b"a\na\na\na\na\na\na\na\n";
            let rest = &TEXT[usize::try_from(offset).unwrap()..];
            Ok(Box::new(MeetingPart { parts: Arc::clone(&self.parts), rest }))
        }
    }

    #[test]
    fn parts_are_searched_at_the_same_time() {
        if std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1) {
            let params: Params = serde_json::from_value(json!({"pattern": "a", "output_mode": "count"})).unwrap();
            let run = GrepSearchRun::new(params.request().unwrap(), "f".to_owned(), true, GrepBudget::default());
            assert_eq!(search(&run, &Meeting::default(), 16, 0, true).unwrap().matches, 8);
        }
    }
}
