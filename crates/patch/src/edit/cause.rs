//! Why an old text is not in the file.

use std::ops::Range;

use memchr::memmem::{Finder, find};

use super::matching::{EditMatch, MatchedSite};
use super::{Edit, NotFoundCause};
use crate::Nearest;
use crate::text::{LineBreaks, LineCounter};

/// How many matches of another edit are checked.
const LOOKED_AT: usize = 100;

/// A shorter new text is in many files by chance.
const TELLING: usize = 8;

/// Explains why an edit was not found; `search` adds the nearest text.
pub(super) fn explain(original: &[u8], edits: &[Edit], located: &[EditMatch], edit: usize, search: bool) -> NotFoundCause {
    let Edit { old, new, .. } = &edits[edit];
    let mut others = located.iter().enumerate().filter(|(other, _)| *other != edit);
    let only_after = others.find(|(_, located)| found_after(original, located, old)).map(|(other, _)| other);
    let already = if new.trim().len() < TELLING { None } else { find(original, new.as_bytes()) };
    let already = already.map(|at| LineCounter::new(original).lines(&(at..at + new.len())));
    let numbered = has_line_numbers(old);
    let nearest = if search && only_after.is_none() { nearest(original, old) } else { None };
    NotFoundCause { only_after, already, numbered, exact_only: false, searched: search, nearest }
}

/// Whether another edit creates the text.
fn found_after(original: &[u8], other: &EditMatch, old: &str) -> bool {
    let EditMatch::Found(_, matches) = other else { return false };
    let finder = Finder::new(old);
    matches.iter().take(LOOKED_AT).any(|found| finder.find(&edited(original, found, old.len())).is_some())
}

/// The bytes of a match after its edit, with so many bytes around it.
fn edited(original: &[u8], found: &MatchedSite, around: usize) -> Vec<u8> {
    let Range { start, end } = found.range;
    let mut bytes = original[start.saturating_sub(around)..start].to_vec();
    let mut at = start;
    for change in &found.changes {
        bytes.extend_from_slice(&original[at..change.range.start]);
        bytes.extend_from_slice(&change.text);
        at = change.range.end;
    }
    bytes.extend_from_slice(&original[at..end.saturating_add(around).min(original.len())]);
    bytes
}

/// Whether each line starts with a number and a separator, as in a listing.
fn has_line_numbers(text: &str) -> bool {
    let numbered = |line: &str| {
        let line = line.trim_start();
        let rest = line.trim_start_matches(|ch: char| ch.is_ascii_digit());
        rest.len() < line.len() && rest.starts_with(['\t', '|', '│', '→', ':']) || rest.len() < line.len() && rest.starts_with(" |")
    };
    text.lines().all(|line| line.trim().is_empty() || numbered(line))
}

fn nearest(original: &[u8], old: &str) -> Option<Nearest> {
    let lines: Vec<&[u8]> = LineBreaks::detect(old.as_bytes()).lines(old.as_bytes()).map(|line| line.body).collect();
    Nearest::find(original, &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_numbers_are_known_when_seen() {
        for (text, expected) in [
            ("12\tfn a() {\n13\t}", true),
            ("  7 | x\n\n  8 | y", true),
            ("1: a", true),
            ("12 apples\n13 pears", false),
            ("12\ta\nb", false),
            ("a", false),
        ] {
            assert_eq!(has_line_numbers(text), expected, "{text}");
        }
    }
}
