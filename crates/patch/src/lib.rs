//! Edits and patches of files, pure: no I/O, no runtime.
//!
//! [`edit()`] replaces texts in a file. [`parse`] reads a patch, [`plan()`] works it out for all of its files at once, and
//! [`apply_update`] does so for one. [`diff`] says what changed. All of them work on bytes: what they do not change stays as it
//! is, whatever it is. All errors are messages for whoever wrote the edit or the patch: what was wrong, where, and what to do.
//!
//! ```
//! use haft_patch::{Edit, Rule, edit};
//!
//! let file = b"fn main() {\r\n\tprintln!(\"hello\");\r\n}\r\n";
//! let old = "fn main() {\n    println!(\"hello\");";
//! let new = "fn main() {\n    println!(\"hello\");\n    done();";
//! let edited = edit(file, &[Edit { old: old.into(), new: new.into(), replace_all: false }]).unwrap();
//! assert_eq!(edited.bytes, b"fn main() {\r\n\tprintln!(\"hello\");\r\n\tdone();\r\n}\r\n");
//! assert_eq!(edited.rules, [Rule::Indentation]);
//! ```
#![warn(missing_docs)]

pub mod apply;
pub mod diff;
pub mod edit;
pub mod envelope;
mod fold;
mod indent;
mod nearest;
pub mod plan;
mod rule;
pub mod text;
mod view;
mod visible;

pub use apply::{HunkError, HunkFault, HunkPlace, Updated, apply_update};
pub use edit::{Edit, EditError, EditFault, Edited, Span, edit};
pub use envelope::{Action, FilePatch, Hunk, HunkLine, LineKind, ParseError, Patch, parse};
pub use nearest::{Difference, Nearest};
pub use plan::{Change, PatchError, PatchFault, plan, reverse};
pub use rule::Rule;
