//! The place in a file that looks most like a text that is not there.
//!
//! The work is bounded: it finds a good place, which need not be the best.

mod block;
mod lines;

use std::fmt;

use crate::visible::{line_range, marked, quoted};

/// How much of a file is searched.
const SEARCHED: usize = 32 << 20;

/// How many lines are looked for: the first ones tell where the others are.
const WANTED: usize = 1_000;

/// How many lines of a place are shown.
const SHOWN_LINES: usize = 8;

/// Below this, a place is not worth showing.
const ALIKE_ENOUGH: usize = 40;

/// A place that looks like the text that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// Its first and last line, counted from 1.
    pub lines: (usize, usize),
    /// How much of the text is there, in percent.
    pub alike: usize,
    /// Its first lines, as they can be shown.
    pub text: Vec<String>,
    /// Where it begins to differ.
    pub difference: Option<Difference>,
}

/// Where two texts begin to differ. Blanks are shown as marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The line of the file, counted from 1.
    pub line: usize,
    /// The letter in that line, counted from 1.
    pub column: usize,
    /// The line as the file has it.
    pub found: String,
    /// The line as it was looked for.
    pub wanted: String,
}

impl Nearest {
    /// Looks for lines in a file.
    pub(crate) fn find(file: &[u8], wanted: &[&[u8]]) -> Option<Self> {
        let searched = &file[..file.len().min(SEARCHED)];
        let wanted = &wanted[..wanted.len().min(WANTED)];
        block::candidates(searched, wanted)
            .into_iter()
            .map(|start| block::Block::at(searched, start, wanted))
            .max_by_key(|block| (block.alike(), std::cmp::Reverse(block.start())))
            .filter(|block| block.alike() >= ALIKE_ENOUGH)
            .map(|block| block.describe(file, wanted))
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

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "First difference, line {} column {} (· is a space, → a tab):", self.line, self.column)?;
        writeln!(f, "  file:   {}", self.found)?;
        writeln!(f, "  wanted: {}", self.wanted)
    }
}

/// A line to be shown as it is.
fn shown(line: &[u8]) -> String {
    quoted(line)
}

/// A line to be shown from near the letter where it differs.
fn shown_near(line: &[u8], at: usize) -> String {
    const BEFORE: usize = 40;
    let Some(mut start) = at.checked_sub(BEFORE).filter(|_| line.len() > 3 * BEFORE) else { return marked(line) };
    // Never from the middle of a letter.
    while start > 0 && line[start] & 0xc0 == 0x80 {
        start -= 1;
    }
    format!("…{}", marked(&line[start..]))
}
