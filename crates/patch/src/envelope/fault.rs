//! Errors of patches that cannot be parsed.

use std::fmt;

use haft_text::numbers::group_digits;

use super::{MAX_FILES, MAX_HUNKS, MAX_PATCH};
use crate::quoted;

/// A line that is not what the parser expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The line, counted from 1; 0 for the patch as such.
    pub line: usize,
    /// The line, escaped.
    pub text: String,
    /// What the parser expects.
    pub expected: String,
}

impl ParseError {
    pub(super) fn new(line: usize, text: &str, expected: impl Into<String>) -> Self {
        Self { line, text: quoted(text.as_bytes()), expected: expected.into() }
    }

    fn whole(expected: String) -> Self {
        Self { line: 0, text: String::new(), expected }
    }

    pub(super) fn too_large(size: usize) -> Self {
        Self::whole(format!("at most {} bytes, and it has {}: send it in parts", group_digits(MAX_PATCH), group_digits(size)))
    }

    pub(super) fn too_many_files() -> Self {
        Self::whole(format!("at most {} files: send it in parts", group_digits(MAX_FILES)))
    }

    pub(super) fn too_many_hunks() -> Self {
        Self::whole(format!("at most {} hunks: send it in parts", group_digits(MAX_HUNKS)))
    }

    pub(super) fn empty() -> Self {
        Self::whole("`*** Begin Patch`, then `*** Add File: PATH`, `*** Update File: PATH` or `*** Delete File: PATH`".to_owned())
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, text, expected } = self;
        match line {
            0 => write!(f, "The patch cannot be read. Expected {expected}."),
            _ => write!(f, "The patch cannot be read: line {line} is `{text}`. Expected {expected}."),
        }
    }
}

impl std::error::Error for ParseError {}
