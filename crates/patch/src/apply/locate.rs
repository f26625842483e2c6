//! The position of each hunk.

use std::collections::HashMap;
use std::ops::Range;

use memchr::memmem;

use super::fault::{HunkError, HunkFault};
use super::index::LineIndex;
use super::search::{HunkBlock, HunkMatch, SearchBudget};
use crate::fold::{Fold, trim};
use crate::{FuzzyLevel, Hunk, HunkLine, LineKind, Nearest};

/// Hunks after this many faults are not tried.
pub(super) const MAX_FAULTS: usize = 3;

/// How many places are listed of lines that are in the file several times.
const LISTED_PLACES: usize = 10;

/// A hunk and its position.
#[derive(Debug)]
pub(super) struct LocatedHunk<'h> {
    /// Its lines, without those that the file lacks.
    pub(super) lines: Vec<&'h HunkLine>,
    /// The first line of the file that it covers.
    pub(super) at: usize,
    pub(super) level: FuzzyLevel,
}

impl LocatedHunk<'_> {
    fn old_lines(&self) -> usize {
        self.lines.iter().filter(|line| line.kind != LineKind::Add).count()
    }

    /// The first line that the next hunk may cover, if both share context lines.
    fn changed_until(&self) -> usize {
        let context = self.lines.iter().rev().take_while(|line| line.kind == LineKind::Context).count();
        self.at + self.old_lines() - context
    }
}

/// The positions of all hunks.
pub(super) fn locate<'h>(index: &LineIndex<'_>, hunks: &'h [Hunk], budget: SearchBudget) -> Result<Vec<LocatedHunk<'h>>, HunkError> {
    let mut locator = Locator { index, budget, after: 0, changed_until: 0 };
    let (mut located, mut faults) = (Vec::with_capacity(hunks.len()), Vec::new());
    let mut alike = AlikeHunks::new(hunks);
    for (number, hunk) in hunks.iter().enumerate() {
        let to_come = alike.next(hunk);
        match locator.place(hunk, to_come) {
            Ok(place) => located.push(place),
            Err(fault) => faults.push((Some(number), fault)),
        }
        if faults.len() == MAX_FAULTS {
            break;
        }
    }
    if faults.is_empty() { Ok(located) } else { Err(HunkError::new(faults, hunks)) }
}

struct Locator<'a> {
    index: &'a LineIndex<'a>,
    budget: SearchBudget,
    /// The line behind the last hunk.
    after: usize,
    /// The line behind what the last hunk changes.
    changed_until: usize,
}

impl Locator<'_> {
    /// Places a hunk. With those that follow, so many hunks have the same old lines.
    fn place<'h>(&mut self, hunk: &'h Hunk, alike: usize) -> Result<LocatedHunk<'h>, HunkFault> {
        let mut lines: Vec<&HunkLine> = hunk.lines.iter().collect();
        let mut found = self.find(hunk, &lines, alike)?;
        if found.is_none()
            && let Some(fewer) = without_empty_end(&lines)
        {
            found = self.find(hunk, &fewer, alike)?;
            lines = if found.is_some() { fewer } else { lines };
        }
        let HunkMatch { at, level } = found.ok_or_else(|| self.missing(hunk))?;
        let located = LocatedHunk { lines, at, level };
        (self.after, self.changed_until) = (at + located.old_lines(), located.changed_until());
        Ok(located)
    }

    fn find(&mut self, hunk: &Hunk, lines: &[&HunkLine], alike: usize) -> Result<Option<HunkMatch>, HunkFault> {
        let block = HunkBlock::new(lines.iter().filter(|line| line.kind != LineKind::Add).map(|line| &*line.text));
        let found = if hunk.headers.is_empty() { self.find_from(hunk, &block, None) } else { self.find_after_headers(hunk, &block)? };
        if let Some(found) = found {
            self.refuse_several(hunk, &block, found, alike)?;
        }
        // A better match may be in the part that was not searched.
        if self.budget.is_spent() { Err(HunkFault::TooCommon) } else { Ok(found) }
    }

    /// Searches after the headers: those that follow the hunk before, or else the first in the file.
    fn find_after_headers(&mut self, hunk: &Hunk, block: &HunkBlock<'_>) -> Result<Option<HunkMatch>, HunkFault> {
        let behind = self.follow(&hunk.headers, self.after);
        if let Some(found) = behind.ok().and_then(|header| self.find_from(hunk, block, Some(header))) {
            return Ok(Some(found));
        }
        match (self.follow(&hunk.headers, 0), behind) {
            (Ok(header), behind) if behind != Ok(header) => Ok(self.find_from(hunk, block, Some(header))),
            (Err(header), Err(_)) => Err(self.missing_header(header)),
            _ => Ok(None),
        }
    }

    fn find_from(&mut self, hunk: &Hunk, block: &HunkBlock<'_>, header: Option<usize>) -> Option<HunkMatch> {
        if block.len() == 0 {
            return Some(HunkMatch { at: self.insertion(hunk, header), level: FuzzyLevel::Exact });
        }
        let near = hunk.near.map(|line| line.saturating_sub(1));
        self.starts(hunk, block, header).into_iter().find_map(|starts| block.find(self.index, starts, near, &mut self.budget))
    }

    /// Refuses lines that are in the file several times, unless something else chooses the place: a header, a line number, the end of
    /// the file, the hunk before, or as many hunks as there are places.
    fn refuse_several(&mut self, hunk: &Hunk, block: &HunkBlock<'_>, found: HunkMatch, alike: usize) -> Result<(), HunkFault> {
        if block.len() == 0 || !hunk.headers.is_empty() || hunk.near.is_some() {
            return Ok(());
        }
        let range = self.starts(hunk, block, None).into_iter().find(|starts| starts.contains(&found.at)).unwrap_or_default();
        let most = alike.max(LISTED_PLACES) + 1;
        let places = block.equal_places(self.index, range, found.level, most, &mut self.budget);
        if places.len() <= alike {
            return Ok(());
        }
        Err(HunkFault::Several {
            lines: places.iter().take(LISTED_PLACES).map(|at| at + 1).collect(),
            is_all: places.len() <= LISTED_PLACES,
        })
    }

    /// The position of a hunk without old lines: after its header or the line it names, or at the end.
    fn insertion(&self, hunk: &Hunk, header: Option<usize>) -> usize {
        let end = self.index.lines.len();
        match (header, hunk.near) {
            _ if hunk.end_of_file => end,
            (Some(header), _) => header + 1,
            (None, Some(near)) => near.min(end),
            (None, None) => end,
        }
    }

    /// The ranges in which the lines may start, the likeliest first.
    fn starts(&self, hunk: &Hunk, block: &HunkBlock<'_>, header: Option<usize>) -> Vec<Range<usize>> {
        let end = self.index.lines.len();
        let at_end = end.checked_sub(block.len()).filter(|_| hunk.end_of_file).map(|last| last..last + 1);
        let others = match header {
            // The header may be repeated as the first line.
            Some(header) => {
                let behind = self.after.max(header + 1);
                [behind..end, header + 1..behind, header..header + 1]
            }
            None => [self.after..end, self.changed_until..self.after, 0..self.changed_until],
        };
        at_end.into_iter().chain(others).collect()
    }

    /// The line of the last header, when the first is searched from a line on; or the header that is missing.
    fn follow<'h>(&mut self, headers: &'h [String], mut from: usize) -> Result<usize, &'h str> {
        let mut anchor = from;
        for header in headers {
            anchor = self.header(header, from).ok_or(&**header)?;
            from = anchor + 1;
        }
        Ok(anchor)
    }

    /// The line that equals a header; or the first that contains it, since headers are often cut.
    fn header(&mut self, header: &str, from: usize) -> Option<usize> {
        let lines = &self.index.lines;
        let whole = HunkBlock::new(std::iter::once(header)).find(self.index, from..lines.len(), None, &mut self.budget);
        let part = || {
            let start = lines.start(from);
            let found = memmem::find(&lines.bytes()[start..], trim(header.as_bytes(), Fold::Nothing))?;
            Some(lines.containing(start + found))
        };
        whole.map(|found| found.at).or_else(part)
    }

    fn missing(&self, hunk: &Hunk) -> HunkFault {
        let lines: Vec<String> = hunk.old_lines().map(|line| line.text.clone()).collect();
        let needle: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
        let nearest = Nearest::find(self.index.lines.bytes(), &needle).map(Box::new);
        HunkFault::NotFound { header: hunk.headers.last().cloned(), nearest, lines }
    }

    fn missing_header(&self, header: &str) -> HunkFault {
        let nearest = Nearest::find(self.index.lines.bytes(), &[header.as_bytes()]).map(Box::new);
        HunkFault::HeaderNotFound { header: header.to_owned(), nearest }
    }
}

/// How many hunks with the same old lines are still to be placed.
struct AlikeHunks<'h>(HashMap<Vec<&'h str>, usize>);

impl<'h> AlikeHunks<'h> {
    fn new(hunks: &'h [Hunk]) -> Self {
        let mut counts = HashMap::new();
        for hunk in hunks {
            *counts.entry(Self::key(hunk)).or_default() += 1;
        }
        Self(counts)
    }

    fn key(hunk: &Hunk) -> Vec<&str> {
        hunk.old_lines().map(|line| &*line.text).collect()
    }

    /// The number for the next hunk, itself included.
    fn next(&mut self, hunk: &'h Hunk) -> usize {
        let Some(count) = self.0.get_mut(&Self::key(hunk)) else { return 1 };
        let now = *count;
        *count -= 1;
        now
    }
}

/// The lines without an empty one at the end, which may be mere layout; `None` if nothing would be left.
fn without_empty_end<'h>(lines: &[&'h HunkLine]) -> Option<Vec<&'h HunkLine>> {
    let last = lines.iter().rposition(|line| line.kind != LineKind::Add)?;
    let is_empty = lines[last].kind == LineKind::Context && lines[last].text.trim().is_empty();
    let others = lines[..last].iter().any(|line| line.kind != LineKind::Add);
    (is_empty && others).then(|| [&lines[..last], &lines[last + 1..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_lines_end_the_search() {
        let hunk = Hunk { lines: vec![HunkLine::new(LineKind::Remove, "}")], near: Some(1), ..Hunk::default() };
        let file = b" }\n".repeat(10);
        let index = LineIndex::new(&file, std::slice::from_ref(&hunk)).unwrap();
        let found = |budget| locate(&index, std::slice::from_ref(&hunk), SearchBudget(budget)).map(|located| located[0].at);
        assert_eq!(found(11), Ok(0));
        let error = found(5).unwrap_err();
        assert_eq!(error.faults, [(Some(0), HunkFault::TooCommon)]);
        assert_eq!(error.to_string(), "The lines of hunk 1 are in the file too often. Add lines around them that are rarer.");
    }
}
