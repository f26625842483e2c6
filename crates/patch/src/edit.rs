//! Replacing texts in a file.
//!
//! All old texts are searched in the original, and all edits are made or none. An old text is searched exactly first, then at
//! one [`FuzzyLevel`] after the other. The first level with a match decides; it must have one match, unless all are to be
//! replaced. Where the old and the new text are equal, the file keeps its bytes; new text takes the line endings and the
//! indentation of the match.

mod align;
mod cause;
mod fault;
mod matching;
mod site;
mod splice;

use std::ops::Range;

pub use fault::{EditError, EditFault, NotFoundCause};

use crate::FuzzyLevel;

/// Larger files are searched exactly: each other level needs a copy of the file.
pub const FORGIVING_LIMIT: usize = 64 << 20;

/// How many edits may be made at once.
pub const MAX_EDITS: usize = 1_000;

/// How many matches one edit may replace.
pub const MAX_MATCHES: usize = 1_000_000;

/// How large a file may become.
pub const MAX_RESULT: usize = 1 << 30;

/// One text to be replaced by another.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Edit {
    /// The text as it is in the file.
    pub old: String,
    /// The text that replaces it.
    pub new: String,
    /// Whether to replace every match.
    pub replace_all: bool,
}

/// The file as it is with all edits made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedFile {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// The spans that were replaced, in the order of the file.
    pub spans: Vec<Span>,
    /// For each edit, the level at which its text was found.
    pub levels: Vec<FuzzyLevel>,
}

/// Bytes that an edit replaced. Outside of these, the file is as it was.
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
pub fn edit(original: &[u8], edits: &[Edit]) -> Result<EditedFile, EditError> {
    fault::refuse_senseless(edits)?;
    let located = matching::locate(original, edits);
    let matches = fault::refuse_unfound(original, edits, located)?;
    fault::refuse_overlaps(original, &matches)?;
    let size = splice::size(original, &matches);
    if size > MAX_RESULT {
        return Err(EditError::whole(EditFault::TooLarge(size), edits.len()));
    }
    fault::refuse_unchanged(original, edits, &matches)?;
    Ok(splice::splice(original, &matches))
}
