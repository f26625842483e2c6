//! Errors of hunks that cannot be applied.

use std::fmt;

use haft_text::numbers::group_digits;

use super::locate::MAX_FAULTS;
use super::write::LineChange;
use crate::quoted;
use crate::text::MAX_LINES;
use crate::{Hunk, Nearest};

/// How many lines are quoted.
const QUOTED: usize = 6;

/// Why no hunk was applied: every fault that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkError {
    /// The faults, each with its hunk, counted from 0, if it is of a single one.
    pub faults: Vec<(Option<usize>, HunkFault)>,
    /// For each hunk, the line of the patch where it begins, counted from 1.
    lines: Vec<usize>,
}

/// An error of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HunkFault {
    /// The line after `@@` is not in the file.
    HeaderNotFound {
        /// The line.
        header: String,
        /// The nearest text in the file.
        nearest: Option<Box<Nearest>>,
    },
    /// The lines of the hunk are not in the file.
    NotFound {
        /// The lines.
        lines: Vec<String>,
        /// The line after `@@`, if there is one.
        header: Option<String>,
        /// The nearest text in the file.
        nearest: Option<Box<Nearest>>,
    },
    /// The lines are in the file several times, and nothing says which are meant.
    Several {
        /// Where the first of them begin, counted from 1.
        lines: Vec<usize>,
        /// Whether there are no others.
        is_all: bool,
    },
    /// The lines are in the file too often.
    TooCommon,
    /// Two hunks change the same lines.
    Overlap {
        /// The hunks, in the order of the file.
        hunks: (usize, usize),
        /// The first line that both change, counted from 1.
        line: usize,
    },
    /// The file has too many lines.
    TooManyLines,
}

impl HunkError {
    pub(super) fn new(faults: Vec<(Option<usize>, HunkFault)>, hunks: &[Hunk]) -> Self {
        Self { faults, lines: hunks.iter().map(|hunk| hunk.line).collect() }
    }

    /// `hunk 2 (line 14 of the patch)`.
    fn name(&self, hunk: usize) -> String {
        match self.lines.get(hunk) {
            Some(line) if *line > 0 => format!("hunk {} (line {line} of the patch)", hunk + 1),
            _ => format!("hunk {}", hunk + 1),
        }
    }
}

/// Refuses hunks that change the same lines.
pub(super) fn refuse_overlaps(changes: &[LineChange], hunks: &[Hunk]) -> Result<(), HunkError> {
    let overlapping = changes.windows(2).filter_map(|two| match two {
        [one, other] if other.lines.start < one.lines.end => {
            Some((None, HunkFault::Overlap { hunks: (one.hunk, other.hunk), line: other.lines.start + 1 }))
        }
        _ => None,
    });
    let faults: Vec<_> = overlapping.take(QUOTED).collect();
    if faults.is_empty() { Ok(()) } else { Err(HunkError::new(faults, hunks)) }
}

impl fmt::Display for HunkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (hunk, fault)) in self.faults.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            self.write_fault(f, &self.name(hunk.unwrap_or_default()), fault)?;
        }
        let last = self.faults.last().and_then(|(hunk, _)| *hunk);
        let untried = self.faults.len() == MAX_FAULTS && last.is_some_and(|last| last + 1 < self.lines.len());
        if untried { write!(f, "\nThe hunks after it were not tried.") } else { Ok(()) }
    }
}

impl HunkError {
    fn write_fault(&self, f: &mut fmt::Formatter<'_>, name: &str, fault: &HunkFault) -> fmt::Result {
        match fault {
            HunkFault::HeaderNotFound { header, nearest } => {
                write!(f, "In {name}, the line after `@@` is not in the file: `{}`. ", quoted(header.as_bytes()))?;
                hint(f, nearest.as_deref(), "Give a line above the change, or `@@` alone.")
            }
            HunkFault::NotFound { lines, header, nearest } => {
                let after = header.as_ref().map_or(String::new(), |header| format!(" after `{}`", quoted(header.as_bytes())));
                writeln!(f, "The lines of {name} are not in the file{after}:")?;
                quote(f, lines)?;
                hint(f, nearest.as_deref(), "Give the lines as the file has them: read it again.")
            }
            HunkFault::Several { lines, is_all } => {
                let listed = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                let more = if *is_all { "" } else { " and more" };
                write!(f, "The lines of {name} are in the file several times, at lines {listed}{more}. ")?;
                f.write_str("Add lines around them, or a line above them after `@@`, so that only one place fits.")
            }
            HunkFault::TooCommon => write!(f, "The lines of {name} are in the file too often. Add lines around them that are rarer."),
            HunkFault::Overlap { hunks: (first, second), line } => {
                write!(f, "Two hunks change line {line}: {} and {}. Make one hunk of them.", self.name(*first), self.name(*second))
            }
            HunkFault::TooManyLines => {
                write!(f, "The file has more than {} lines, or more than 4 GB: it cannot be patched.", group_digits(MAX_LINES))
            }
        }
    }
}

fn quote(f: &mut fmt::Formatter<'_>, lines: &[String]) -> fmt::Result {
    for line in lines.iter().take(QUOTED) {
        writeln!(f, "       | {}", quoted(line.as_bytes()))?;
    }
    let rest = lines.len().saturating_sub(QUOTED);
    if rest > 0 { writeln!(f, "       | … and {} more", group_digits(rest)) } else { Ok(()) }
}

fn hint(f: &mut fmt::Formatter<'_>, nearest: Option<&Nearest>, advice: &str) -> fmt::Result {
    match nearest {
        Some(nearest) => write!(f, "{nearest}{advice}"),
        None => write!(f, "Nothing in the file looks like it. {advice}"),
    }
}

impl std::error::Error for HunkError {}
