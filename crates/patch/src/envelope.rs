//! Parsing patches as models write them.
//!
//! ```text
//! *** Begin Patch
//! *** Add File: docs/new.txt
//! +its only line
//! *** Delete File: docs/old.txt
//! *** Update File: src/main.rs
//! *** Move to: src/start.rs
//! @@ fn main() {
//!  a line of context
//! -a removed line
//! +an added line
//! *** End of File
//! *** End Patch
//! ```
//!
//! The text after `@@` is a line above the change; several such lines narrow it further. Unified diffs are read as well, on
//! their own or within the envelope. Their line numbers are hints and their counts are ignored: models get both wrong.

mod fault;
mod hunks;
mod marker;
mod section;
mod unified;
mod wrapping;

pub use fault::ParseError;

/// The largest patch that is read.
pub const MAX_PATCH: usize = 16 << 20;

/// The largest number of files in a patch.
pub const MAX_FILES: usize = 10_000;

/// The largest number of hunks in a patch.
pub const MAX_HUNKS: usize = 100_000;

/// Actions on files, in the order of the patch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patch {
    /// The files.
    pub files: Vec<FilePatch>,
    /// What the parser skipped.
    pub notes: Vec<String>,
}

/// The action on one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// The file, as it is named in the patch.
    pub path: String,
    /// The action.
    pub action: PatchAction,
    /// The line of the patch that names it, counted from 1.
    pub line: usize,
}

impl FilePatch {
    /// Whether nothing is left at its path.
    pub fn is_removed(&self) -> bool {
        matches!(self.action, PatchAction::Delete | PatchAction::Update { move_to: Some(_), .. })
    }

    /// Whether the change depends on its content.
    pub fn is_read(&self) -> bool {
        matches!(&self.action, PatchAction::Update { hunks, .. } if !hunks.is_empty())
    }
}

/// An action on a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchAction {
    /// Create it.
    Add {
        /// Its content.
        text: String,
    },
    /// Delete it.
    Delete,
    /// Change it, move it, or both.
    Update {
        /// Its new path.
        move_to: Option<String>,
        /// The changes.
        hunks: Vec<Hunk>,
    },
}

/// A change to consecutive lines of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hunk {
    /// Lines above the change, the outermost first.
    pub headers: Vec<String>,
    /// Context, removed and added lines.
    pub lines: Vec<HunkLine>,
    /// The line of the original where it should be, counted from 1. For a hunk without old lines: the line above it.
    pub near: Option<usize>,
    /// Whether it is at the end of the file.
    pub end_of_file: bool,
    /// The line of the patch where it begins, counted from 1.
    pub line: usize,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkLine {
    /// Its kind.
    pub kind: LineKind,
    /// The line without its ending.
    pub text: String,
    /// Whether it is marked as having no ending, as the last line of a file.
    pub unended: bool,
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineKind {
    /// Context.
    Context,
    /// Removed.
    Remove,
    /// Added.
    Add,
}

impl HunkLine {
    /// A line with an ending.
    pub fn new(kind: LineKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), unended: false }
    }
}

impl Hunk {
    /// The lines that are in the original, in order.
    pub fn old_lines(&self) -> impl Iterator<Item = &HunkLine> {
        self.lines.iter().filter(|line| line.kind != LineKind::Add)
    }

    /// The same change the other way round.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let turn = |line: &HunkLine| {
            let kind = match line.kind {
                LineKind::Context => LineKind::Context,
                LineKind::Remove => LineKind::Add,
                LineKind::Add => LineKind::Remove,
            };
            HunkLine { kind, ..line.clone() }
        };
        Self { lines: self.lines.iter().map(turn).collect(), ..self.clone() }
    }
}

/// Parses a patch.
pub fn parse(text: &str) -> Result<Patch, ParseError> {
    if text.len() > MAX_PATCH {
        return Err(ParseError::too_large(text.len()));
    }
    section::PatchReader::new(&wrapping::unwrap(text)).read()
}
