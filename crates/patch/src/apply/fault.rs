//! Why hunks cannot be applied.

use std::fmt;

use super::locate::MAX_FAULTS;
use super::write::Change;
use crate::text::MAX_LINES;
use crate::visible::{grouped, quoted};
use crate::{Hunk, Nearest};

/// How many lines are quoted.
const QUOTED: usize = 6;

/// Why no hunk was applied: every fault that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkError {
    /// The faults, in the order of the hunks.
    pub faults: Vec<HunkFault>,
    /// For each hunk, the line of the patch where it begins, counted from 1.
    lines: Vec<usize>,
}

/// What is wrong with a hunk. Hunks are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HunkFault {
    /// The line behind `@@` is not in the file.
    HeaderNotFound {
        /// The hunk.
        hunk: usize,
        /// The line.
        header: String,
        /// The place that is most like it.
        nearest: Option<Box<Nearest>>,
    },
    /// The lines of the hunk are not in the file.
    NotFound {
        /// The hunk.
        hunk: usize,
        /// The lines.
        lines: Vec<String>,
        /// The line behind `@@`, if there is one.
        header: Option<String>,
        /// The place that is most like them.
        nearest: Option<Box<Nearest>>,
    },
    /// The lines are of a kind that is everywhere.
    TooCommon {
        /// The hunk.
        hunk: usize,
    },
    /// Two hunks change the same lines.
    Overlap {
        /// The hunk whose lines are first in the file.
        first: usize,
        /// The other one.
        second: usize,
        /// The first line that both change, counted from 1.
        line: usize,
    },
    /// The file has too many lines.
    TooManyLines,
}

impl HunkError {
    pub(super) fn new(faults: Vec<HunkFault>, hunks: &[Hunk]) -> Self {
        Self { faults, lines: hunks.iter().map(|hunk| hunk.line).collect() }
    }

    pub(super) fn too_many_lines() -> Self {
        Self::new(vec![HunkFault::TooManyLines], &[])
    }

    /// `hunk 2 (line 14 of the patch)`.
    fn name(&self, hunk: usize) -> String {
        match self.lines.get(hunk) {
            Some(line) if *line > 0 => format!("hunk {} (line {line} of the patch)", hunk + 1),
            _ => format!("hunk {}", hunk + 1),
        }
    }
}

/// Hunks that change the same lines.
pub(super) fn refuse_overlaps(changes: &[Change], hunks: &[Hunk]) -> Result<(), HunkError> {
    let overlapping = changes.windows(2).filter_map(|two| match two {
        [one, other] if other.lines.start < one.lines.end => {
            Some(HunkFault::Overlap { first: one.hunk, second: other.hunk, line: other.lines.start + 1 })
        }
        _ => None,
    });
    let faults: Vec<HunkFault> = overlapping.take(QUOTED).collect();
    if faults.is_empty() { Ok(()) } else { Err(HunkError::new(faults, hunks)) }
}

impl fmt::Display for HunkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, fault) in self.faults.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            self.one(f, fault)?;
        }
        let untried =
            self.faults.len() == MAX_FAULTS && self.faults.last().and_then(HunkFault::hunk).is_some_and(|last| last + 1 < self.lines.len());
        if untried { write!(f, "\nThe hunks behind it were not tried.") } else { Ok(()) }
    }
}

impl HunkFault {
    /// The hunk that this is about, if it is about one.
    pub fn hunk(&self) -> Option<usize> {
        match self {
            Self::HeaderNotFound { hunk, .. } | Self::NotFound { hunk, .. } | Self::TooCommon { hunk } => Some(*hunk),
            Self::Overlap { .. } | Self::TooManyLines => None,
        }
    }
}

impl HunkError {
    fn one(&self, f: &mut fmt::Formatter<'_>, fault: &HunkFault) -> fmt::Result {
        match fault {
            HunkFault::HeaderNotFound { hunk, header, nearest } => {
                write!(f, "In {}, the line behind `@@` is not in the file: `{}`. ", self.name(*hunk), quoted(header.as_bytes()))?;
                hint(f, nearest.as_deref(), "Give a line that stands above the change, or `@@` alone.")
            }
            HunkFault::NotFound { hunk, lines, header, nearest } => {
                let where_it_is = header.as_ref().map_or(String::new(), |header| format!(" behind `{}`", quoted(header.as_bytes())));
                writeln!(f, "The lines of {} are not in the file{where_it_is}:", self.name(*hunk))?;
                quote(f, lines)?;
                hint(f, nearest.as_deref(), "Give the lines as the file has them: read it again.")
            }
            HunkFault::TooCommon { hunk } => {
                write!(f, "The lines of {} are in the file far too often. Add lines around them that are not.", self.name(*hunk))
            }
            HunkFault::Overlap { first, second, line } => {
                write!(f, "Two hunks change line {line}: {} and {}. Make one hunk of them.", self.name(*first), self.name(*second))
            }
            HunkFault::TooManyLines => {
                write!(f, "The file has more than {} lines, or more than 4 GB: it cannot be patched.", grouped(MAX_LINES))
            }
        }
    }
}

fn quote(f: &mut fmt::Formatter<'_>, lines: &[String]) -> fmt::Result {
    for line in lines.iter().take(QUOTED) {
        writeln!(f, "       | {}", quoted(line.as_bytes()))?;
    }
    let rest = lines.len().saturating_sub(QUOTED);
    if rest > 0 { writeln!(f, "       | … and {} more", grouped(rest)) } else { Ok(()) }
}

fn hint(f: &mut fmt::Formatter<'_>, nearest: Option<&Nearest>, advice: &str) -> fmt::Result {
    match nearest {
        Some(nearest) => write!(f, "{nearest}{advice}"),
        None => write!(f, "Nothing in the file looks like it. {advice}"),
    }
}

impl std::error::Error for HunkError {}
