//! Replacing texts in a file.
//!
//! All old texts are looked for in the original, and all edits are made or none. An old text is looked for exactly first, then
//! by one [`Rule`] after the other, each forgiving a little more; the first rule that finds something decides, and it must find
//! one place alone, unless all are to be replaced. Where the old and the new text are the same, the file keeps its own bytes,
//! and what is new takes the line endings and the indentation of the place.

mod align;
mod cause;
mod fault;
mod ladder;
mod place;
mod splice;

use std::ops::Range;

pub use fault::{EditError, EditFault, Missing};

use crate::Rule;

/// Only the exact text is looked for in larger files: the other rules need a copy of the file each.
pub const FORGIVING_LIMIT: usize = 64 << 20;

/// How many edits may be made at once.
pub const MAX_EDITS: usize = 1_000;

/// How many places one edit may replace.
pub const MAX_MATCHES: usize = 1_000_000;

/// How large a file may become.
pub const MAX_RESULT: usize = 1 << 30;

/// One text to be replaced by another.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Edit {
    /// The text as it is in the file.
    pub old: String,
    /// What is to be there instead.
    pub new: String,
    /// Whether every place is meant, and not one alone.
    pub replace_all: bool,
}

/// The file as it is with all edits made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// The places that were replaced, in the order of the file.
    pub spans: Vec<Span>,
    /// For each edit, the rule by which its text was found.
    pub rules: Vec<Rule>,
}

/// A place that an edit replaced. Outside of these, the file is as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Which edit, counted from 0.
    pub edit: usize,
    /// Where it was in the original, in bytes.
    pub old_range: Range<usize>,
    /// Where it is in the new file, in bytes.
    pub new_range: Range<usize>,
    /// Its first and last line in the original, counted from 1.
    pub lines: (usize, usize),
}

/// Makes all edits, or none.
pub fn edit(original: &[u8], edits: &[Edit]) -> Result<Edited, EditError> {
    fault::refuse_senseless(edits)?;
    let located = ladder::locate(original, edits);
    let matches = fault::refuse_unfound(original, edits, located)?;
    fault::refuse_overlaps(original, &matches)?;
    let size = splice::size(original, &matches);
    if size > MAX_RESULT {
        return Err(EditError::new(vec![EditFault::TooLarge { size }], edits.len()));
    }
    fault::refuse_unchanged(original, edits, &matches)?;
    Ok(splice::splice(original, &matches))
}
