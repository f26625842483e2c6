//! Edits and patches of files, pure: no I/O, no runtime.
//!
//! [`edit()`] replaces texts in a file. [`parse`] reads a patch, [`plan()`] works it out for all of its files at once, and
//! [`apply_update`] does so for one. [`diff`] says what changed. All of them work on bytes: what they do not change stays as it
//! is, whatever it is. Every error is a message for the author of the edit or patch: what was wrong, where, and what to do.
//!
//! ```
//! use haft_patch::{Edit, FuzzyLevel, edit};
//!
//! let file = b"fn main() {\r\n\tprintln!(\"hello\");\r\n}\r\n";
//! let old = "fn main() {\n    println!(\"hello\");";
//! let new = "fn main() {\n    println!(\"hello\");\n    done();";
//! let edited = edit(file, &[Edit { old: old.into(), new: new.into(), replace_all: false }]).unwrap();
//! assert_eq!(edited.bytes, b"fn main() {\r\n\tprintln!(\"hello\");\r\n\tdone();\r\n}\r\n");
//! assert_eq!(edited.levels, [FuzzyLevel::Indentation]);
//! ```
#![warn(missing_docs)]

pub mod apply;
pub mod diff;
pub mod edit;
pub mod envelope;
mod fold;
mod indent;
mod level;
mod nearest;
pub mod plan;
pub mod text;
mod view;

pub use apply::{HunkError, HunkFault, HunkPlace, PatchedFile, apply_update};
pub use edit::{Edit, EditError, EditFault, EditedFile, Span, edit};
pub use envelope::{FilePatch, Hunk, HunkLine, LineKind, ParseError, Patch, PatchAction, parse};
pub use level::FuzzyLevel;
pub use nearest::{FirstDifference, Nearest};
pub use plan::{PatchError, PatchFault, PlannedChange, plan, reverse};

/// Longer lines are truncated in messages.
const QUOTED_CHARS: usize = 160;

/// A line for a message, escaped and truncated.
fn quoted(line: &[u8]) -> String {
    haft_text::display::escape_bytes(line, QUOTED_CHARS)
}
