//! Making the changes of hunks to a file.
//!
//! The lines of a hunk are looked for in the original, behind the hunk before it first. They are looked for exactly, then
//! without blanks at their ends, then without any blanks around them, then with plain quotes and dashes. Lines that are not
//! changed keep their bytes; lines that come take the ending of their place, and its indentation, if that was forgiven.

mod fault;
mod index;
mod locate;
mod search;
mod write;

pub use fault::{HunkError, HunkFault};

use crate::text::TooManyLines;
use crate::{Hunk, Rule};

/// A file with hunks applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Updated {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// Where each hunk was applied, in the order of the hunks.
    pub places: Vec<HunkPlace>,
}

/// Where a hunk was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HunkPlace {
    /// The first line of the original that it is about, counted from 1.
    pub line: usize,
    /// The rule by which its lines were found.
    pub rule: Rule,
}

/// Applies all hunks, or none.
pub fn apply_update(original: &[u8], hunks: &[Hunk]) -> Result<Updated, HunkError> {
    let index = index::Index::new(original, hunks).map_err(|TooManyLines| HunkError::too_many_lines())?;
    let located = locate::locate(&index, hunks, search::Budget::new())?;
    let places = located.iter().map(|located| HunkPlace { line: located.at + 1, rule: located.rule }).collect();
    let changes = write::changes(&index, &located);
    fault::refuse_overlaps(&changes, hunks)?;
    Ok(Updated { bytes: write::write(&index, &changes), places })
}
