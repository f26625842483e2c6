//! Applying hunks to a file.
//!
//! The lines of a hunk are searched in the original, first after the hunk before it: exactly, then without blanks at their
//! ends, then without any blanks around them, then with ASCII quotes and dashes. Lines that are not changed keep their bytes;
//! added lines take the ending of the lines around them, and their indentation, if that was ignored.

mod fault;
mod index;
mod locate;
mod search;
mod write;

pub use fault::{HunkError, HunkFault};

use crate::text::TooManyLines;
use crate::{FuzzyLevel, Hunk};

/// A file with hunks applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchedFile {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// Where each hunk was applied, in the order of the hunks.
    pub places: Vec<HunkPlace>,
}

/// Where a hunk was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HunkPlace {
    /// The first line of the original that it covers, counted from 1.
    pub line: usize,
    /// The level at which its lines were found.
    pub level: FuzzyLevel,
}

/// Applies all hunks, or none.
pub fn apply_update(original: &[u8], hunks: &[Hunk]) -> Result<PatchedFile, HunkError> {
    let index =
        index::LineIndex::new(original, hunks).map_err(|TooManyLines| HunkError::new(vec![(None, HunkFault::TooManyLines)], &[]))?;
    let located = locate::locate(&index, hunks, search::SearchBudget::new())?;
    let places = located.iter().map(|located| HunkPlace { line: located.at + 1, level: located.level }).collect();
    let changes = write::changes(&index, &located);
    fault::refuse_overlaps(&changes, hunks)?;
    Ok(PatchedFile { bytes: write::write(&index, &changes), places })
}
