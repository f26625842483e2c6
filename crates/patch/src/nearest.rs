//! The text in a file that is most similar to a text that is not there.
//!
//! The work is bounded: the result is good, and need not be the best.

mod block;
mod similarity;

use std::fmt;

use haft_text::display::escape_bytes_and_blanks;
use haft_text::numbers::line_range;

use crate::QUOTED_CHARS;

/// How much of a file is searched.
const SEARCHED: usize = 32 << 20;

/// How many lines are searched: the first ones suffice to find the others.
const SEARCHED_LINES: usize = 1_000;

/// How many lines are shown.
const SHOWN_LINES: usize = 8;

/// Similarity in percent below which a text is not shown.
const ALIKE_ENOUGH: usize = 40;

/// The text that is most similar to the one that was searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// Its first and last line, counted from 1.
    pub lines: (usize, usize),
    /// How similar it is, in percent.
    pub alike: usize,
    /// Its first lines, escaped.
    pub text: Vec<String>,
    /// The first difference.
    pub difference: Option<FirstDifference>,
}

/// The first difference of two texts. Blanks are shown as symbols.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstDifference {
    /// The line of the file, counted from 1.
    pub line: usize,
    /// The character in that line, counted from 1.
    pub column: usize,
    /// The line as the file has it.
    pub found: String,
    /// The line that was searched.
    pub needle: String,
}

impl Nearest {
    /// Searches lines in a file.
    pub(crate) fn find(file: &[u8], needle: &[&[u8]]) -> Option<Self> {
        let searched = &file[..file.len().min(SEARCHED)];
        let needle = &needle[..needle.len().min(SEARCHED_LINES)];
        block::candidates(searched, needle)
            .into_iter()
            .map(|start| block::NearestBlock::at(searched, start, needle))
            .max_by_key(|block| (block.alike(), std::cmp::Reverse(block.start())))
            .filter(|block| block.alike() >= ALIKE_ENOUGH)
            .map(|block| block.describe(file, needle))
    }
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = self.lines;
        writeln!(f, "The nearest place is {} ({} % alike):", line_range(self.lines), self.alike)?;
        for (line, text) in (first..).zip(&self.text) {
            writeln!(f, "{line:>6} | {text}")?;
        }
        let shown = first + self.text.len();
        if shown <= last {
            writeln!(f, "       | … up to line {last}")?;
        }
        match &self.difference {
            None => Ok(()),
            Some(difference) => write!(f, "{difference}"),
        }
    }
}

impl fmt::Display for FirstDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "First difference, line {} column {} (· is a space, → a tab):", self.line, self.column)?;
        writeln!(f, "  file:   {}", self.found)?;
        writeln!(f, "  wanted: {}", self.needle)
    }
}

/// A line, from shortly before the character where it differs.
fn quoted_near(line: &[u8], at: usize) -> String {
    const BEFORE: usize = 40;
    let Some(mut start) = at.checked_sub(BEFORE).filter(|_| line.len() > 3 * BEFORE) else {
        return escape_bytes_and_blanks(line, QUOTED_CHARS);
    };
    // Not from the middle of a character.
    while start > 0 && line[start] & 0xc0 == 0x80 {
        start -= 1;
    }
    format!("…{}", escape_bytes_and_blanks(&line[start..], QUOTED_CHARS))
}
