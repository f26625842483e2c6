//! Candidates, and how similar each is.

use memchr::memmem::{self, Finder};
use memchr::{memchr, memrchr};

use super::similarity::{PairSet, alike};
use super::{FirstDifference, Nearest, SHOWN_LINES, quoted_near};
use crate::fold::{self, Fold, plainest, trim};
use crate::quoted;
use crate::text::LineCounter;

/// How many lines are searched exactly, and how many matches of each are candidates.
const LOOKED_FOR: usize = 8;
const PLACES: usize = 4;

/// How many lines of a block are compared.
const COMPARED_LINES: usize = 40;

/// Starts of candidate blocks: around exact matches of the longest lines, and around the lines most similar to the longest.
pub(super) fn candidates(file: &[u8], needle: &[&[u8]]) -> Vec<usize> {
    let mut longest: Vec<(usize, &[u8])> = needle.iter().map(|line| trim(line, Fold::Punctuation)).enumerate().collect();
    longest.retain(|(_, line)| !line.is_empty());
    longest.sort_by_key(|(_, line)| std::cmp::Reverse(line.len()));
    let mut starts = Vec::new();
    for (number, line) in longest.iter().take(LOOKED_FOR) {
        let places = Finder::new(line);
        starts.extend(places.find_iter(file).take(PLACES).map(|at| lines_before(file, at, *number)));
    }
    if let Some((number, line)) = longest.first() {
        starts.extend(most_alike(file, line).into_iter().map(|at| lines_before(file, at, *number)));
    }
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// The starts of the lines most similar to this one.
fn most_alike(file: &[u8], needle: &[u8]) -> Vec<usize> {
    let mut pairs = PairSet::new(needle);
    let mut best: Vec<(usize, usize)> = Vec::with_capacity(PLACES * 2 + 1);
    let mut at = 0;
    while at < file.len() {
        let end = memchr(b'\n', &file[at..]).map_or(file.len(), |feed| at + feed);
        let shared = pairs.shared(&file[at..end]);
        if shared > 0 && (best.len() < PLACES * 2 || best.last().is_some_and(|(least, _)| shared > *least)) {
            let rank = best.partition_point(|(other, _)| *other >= shared);
            best.insert(rank, (shared, at));
            best.truncate(PLACES * 2);
        }
        at = end + 1;
    }
    best.into_iter().map(|(_, at)| at).collect()
}

/// The start of the line so many lines before the one with the byte at `at`, or of the first.
fn lines_before(file: &[u8], at: usize, lines: usize) -> usize {
    let mut start = memrchr(b'\n', &file[..at]).map_or(0, |feed| feed + 1);
    for _ in 0..lines {
        let Some(end) = start.checked_sub(1) else { break };
        start = memrchr(b'\n', &file[..end]).map_or(0, |feed| feed + 1);
    }
    start
}

/// Lines of the file that are compared with the needle.
#[derive(Debug)]
pub(super) struct NearestBlock<'a> {
    start: usize,
    lines: Vec<&'a [u8]>,
    alike: usize,
}

impl<'a> NearestBlock<'a> {
    pub(super) fn at(file: &'a [u8], start: usize, needle: &[&[u8]]) -> Self {
        let lines = lines_from(file, start, needle.len().min(COMPARED_LINES));
        let weights = needle.iter().take(COMPARED_LINES).map(|line| line.len() + 1);
        let missing = std::iter::repeat(&b""[..]);
        let found = lines.iter().copied().chain(missing).zip(needle).map(|(line, needle)| alike(line, needle));
        let (sum, total) = found.zip(weights).fold((0, 0), |(sum, total), (alike, weight)| (sum + alike * weight, total + weight));
        Self { start, lines, alike: sum / total.max(1) }
    }

    pub(super) fn alike(&self) -> usize {
        self.alike
    }

    pub(super) fn start(&self) -> usize {
        self.start
    }

    pub(super) fn describe(&self, file: &[u8], needle: &[&[u8]]) -> Nearest {
        let first = LineCounter::new(file).line(self.start);
        let last = first + lines_from(file, self.start, needle.len()).len().saturating_sub(1);
        let text = self.lines.iter().take(SHOWN_LINES).map(|line| quoted(line)).collect();
        Nearest { lines: (first, last), alike: self.alike.min(99), text, difference: self.difference(first, needle) }
    }

    /// The first pair of lines that differ at every level; or that differ at all.
    fn difference(&self, first: usize, needle: &[&[u8]]) -> Option<FirstDifference> {
        let missing = std::iter::repeat(&b""[..]);
        let pairs = || (0..).zip(self.lines.iter().copied().chain(missing.clone()).zip(needle.iter().copied())).take(COMPARED_LINES);
        // The needle may begin and end within a line.
        let at_edge = |number: usize| number == 0 || number + 1 == needle.len();
        let forgiven = |number: usize, line: &[u8], needle: &[u8]| {
            let (line, needle) = (plainest(line), plainest(needle));
            line == needle || at_edge(number) && memmem::find(&line, &needle).is_some()
        };
        let unlike = pairs().find(|(number, (line, needle))| !forgiven(*number, line, needle));
        let (number, (line, needle)) = unlike.or_else(|| pairs().find(|(_, (line, needle))| line != needle))?;
        Some(FirstDifference::between(first + number, line, needle, unlike.is_some()))
    }
}

impl FirstDifference {
    /// `beyond_blanks` leaves out how the lines are indented.
    fn between(number: usize, line: &[u8], needle: &[u8], beyond_blanks: bool) -> Self {
        let blanks = |line| if beyond_blanks { fold::leading(line, Fold::Nothing) } else { 0 };
        let (mut from, skipped) = (blanks(line), blanks(needle));
        let mut same = common(&line[from..], &needle[skipped..]);
        let (inside, more) = common_within(line, &needle[skipped..]);
        if more > same && more * 2 >= needle.len() - skipped {
            (from, same) = (inside, more);
        }
        let column = count_chars(&line[..from + same]) + 1;
        Self { line: number, column, found: quoted_near(line, from + same), needle: quoted_near(needle, skipped + same) }
    }
}

fn lines_from(file: &[u8], start: usize, count: usize) -> Vec<&[u8]> {
    let lines = file[start..].split_inclusive(|byte| *byte == b'\n').take(count);
    lines.map(|line| line.strip_suffix(b"\n").unwrap_or(line)).map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect()
}

fn count_chars(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// How many bytes two lines start with in common, whole count_chars.
fn common(one: &[u8], other: &[u8]) -> usize {
    let mut same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    while same > 0 && (is_inside(one, same) || is_inside(other, same)) {
        same -= 1;
    }
    same
}

fn is_inside(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_some_and(|byte| byte & 0xc0 == 0x80)
}

/// Position in the line of the longest start of the needle, and its length.
fn common_within(line: &[u8], needle: &[u8]) -> (usize, usize) {
    let found = |length: usize| Finder::new(&needle[..length]).find(line);
    let (mut least, mut most) = (0, needle.len());
    // A line that contains a text contains every start of it.
    while least < most {
        let middle = (least + most).div_ceil(2);
        if found(middle).is_some() { least = middle } else { most = middle - 1 }
    }
    let from = found(least).unwrap_or_default();
    (from, common(&line[from..], needle))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest(file: &str, needle: &str) -> Option<Nearest> {
        let lines: Vec<&[u8]> = needle.lines().map(str::as_bytes).collect();
        Nearest::find(file.as_bytes(), &lines)
    }

    fn difference(line: usize, column: usize, found: &str, needle: &str) -> FirstDifference {
        FirstDifference { line, column, found: found.to_owned(), needle: needle.to_owned() }
    }

    #[test]
    fn the_nearest_line_among_many_alike() {
        let file = (0..100).map(|number| format!("line number {number}\n")).collect::<Vec<_>>().concat();
        let found = nearest(&file, "line numbr 57").unwrap();
        assert_eq!(found.lines, (58, 58));
        assert_eq!(found.text, ["line number 57"]);
        assert_eq!(found.difference, Some(difference(58, 10, "line·number·57", "line·numbr·57")));
    }

    #[test]
    fn the_nearest_block_is_found_by_its_telling_lines() {
        let file = "}\n}\nfn first() {\n    let x = compute(1);\n    }\n}\nfn second() {\n\tlet x = compute(2);\n\treturn x;\n}\n";
        let found = nearest(file, "fn second() {\n    let x = compute(2);\n    return x + 1;\n}").unwrap();
        assert_eq!((found.lines, found.text.len()), ((7, 10), 4));
        assert_eq!(found.difference, Some(difference(9, 10, "→return·x;", "····return·x·+·1;")));
    }

    #[test]
    fn what_is_forgiven_is_shown_only_if_there_is_nothing_else() {
        let found = nearest("\tone = 1\n  two = 2\n", "    one = 1\n    two = 2").unwrap();
        assert_eq!(found.difference, Some(difference(1, 1, "→one·=·1", "····one·=·1")));
    }

    #[test]
    fn a_text_within_a_line_is_compared_from_where_it_begins() {
        let found = nearest("x\n  call(alpha, beta, gamma);\ny\n", "alpha, beto").unwrap();
        assert_eq!(found.difference, Some(difference(2, 18, "··call(alpha,·beta,·gamma);", "alpha,·beto")));
    }

    #[test]
    fn nothing_alike_is_nothing() {
        assert_eq!(nearest("", "some text"), None);
        assert_eq!(nearest("one\ntwo\n", "wholly other words"), None);
        assert_eq!(nearest("aaaa\n", ""), None);
    }

    #[test]
    fn a_long_block_is_named_whole() {
        let line = |number: usize| format!("line {number} of many\n");
        let file = (1..=200).map(line).collect::<Vec<_>>().concat();
        let found = nearest(&file, &file[line(1).len()..].replace("line 9 ", "lime 9 ")).unwrap();
        assert_eq!((found.lines, found.text.len()), ((2, 200), SHOWN_LINES));
        assert_eq!(found.difference, Some(difference(9, 3, "line·9·of·many", "lime·9·of·many")));
    }

    #[test]
    fn long_lines_are_shown_near_the_difference() {
        let (long, other) = ("é".repeat(500) + "x", "é".repeat(500) + "y");
        let FirstDifference { column, found, needle, .. } = nearest(&long, &other).unwrap().difference.unwrap();
        assert_eq!((column, &*found, &*needle), (501, &*format!("…{}x", "é".repeat(20)), &*format!("…{}y", "é".repeat(20))));
    }

    #[test]
    fn message_names_lines_and_first_difference() {
        let file = (0..20).map(|number| format!("item {number} of the list\n")).collect::<Vec<_>>().concat();
        let word = |number| if number == 9 { "lost" } else { "list" };
        let needle = (3..15).map(|number| format!("item {number} of the {}\n", word(number))).collect::<Vec<_>>().concat();
        let message = nearest(&file, &needle).unwrap().to_string();
        assert_eq!(
            message,
            "The nearest place is lines 4-15 (99 % alike):\n     4 | item 3 of the list\n     5 | item 4 of the list\n     \
             6 | item 5 of the list\n     7 | item 6 of the list\n     8 | item 7 of the list\n     9 | item 8 of the list\n    \
             10 | item 9 of the list\n    11 | item 10 of the list\n       | … up to line 15\nFirst difference, line 10 column 16 \
             (· is a space, → a tab):\n  file:   item·9·of·the·list\n  wanted: item·9·of·the·lost\n"
        );
    }
}
