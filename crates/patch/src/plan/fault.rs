//! Errors of patches that cannot be applied.

use std::fmt;

use crate::apply::HunkError;

/// How many faults a message lists.
const LISTED_FAULTS: usize = 50;

/// Every fault of every file; nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchError<E> {
    /// The faults, each with its file.
    pub faults: Vec<(String, PatchFault<E>)>,
}

/// An error of a file of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatchFault<E> {
    /// The patch names the file more than once, in these lines.
    NamedTwice(Vec<usize>),
    /// A file to be changed or deleted does not exist.
    Missing,
    /// The target of a move exists.
    Taken,
    /// The file could not be read.
    Unreadable(E),
    /// The hunks do not fit.
    Hunks(HunkError),
    /// The hunks change nothing.
    Unchanged,
}

impl<E: fmt::Display> fmt::Display for PatchError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (path, fault) in self.faults.iter().take(LISTED_FAULTS) {
            writeln!(f, "{path}: {fault}")?;
        }
        let rest = self.faults.len().saturating_sub(LISTED_FAULTS);
        if rest > 0 {
            writeln!(f, "And {rest} more.")?;
        }
        f.write_str("Nothing was changed.")
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for PatchError<E> {}

impl<E: fmt::Display> fmt::Display for PatchFault<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NamedTwice(lines) => {
                let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
                write!(f, "the patch names it more than once, in lines {}. Put all of its hunks beneath one name.", lines.join(", "))
            }
            Self::Missing => f.write_str("there is no such file. Make it with `*** Add File:`, or correct the path."),
            Self::Taken => f.write_str("a file cannot be moved here, because one is here already. Choose another name."),
            Self::Unreadable(error) => write!(f, "{error}"),
            Self::Hunks(error) => write!(f, "{error}"),
            Self::Unchanged => f.write_str("the hunks change nothing. Prefix removed lines with '-' and added lines with '+'."),
        }
    }
}
