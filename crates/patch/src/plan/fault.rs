//! Why a patch cannot be made.

use std::fmt;

use crate::apply::HunkError;

/// How many faults are told.
const TOLD: usize = 50;

/// Why nothing was done: every fault of every file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchError<E> {
    /// The faults.
    pub faults: Vec<PatchFault<E>>,
}

/// What is wrong with a file of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatchFault<E> {
    /// The patch names the file more than once.
    NamedTwice {
        /// The file.
        path: String,
        /// The lines of the patch.
        lines: Vec<usize>,
    },
    /// A file that is to be made is there.
    Exists {
        /// The file.
        path: String,
    },
    /// A file that is to be changed or removed is not there.
    Missing {
        /// The file.
        path: String,
    },
    /// A file is where another is to be moved to.
    Taken {
        /// The file.
        path: String,
    },
    /// The file could not be read.
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        error: E,
    },
    /// The hunks do not fit.
    Hunks {
        /// The file.
        path: String,
        /// Why.
        error: HunkError,
    },
    /// The hunks change nothing.
    Unchanged {
        /// The file.
        path: String,
    },
}

impl<E> PatchFault<E> {
    /// The file that this is about.
    pub fn path(&self) -> &str {
        match self {
            Self::NamedTwice { path, .. }
            | Self::Exists { path }
            | Self::Missing { path }
            | Self::Taken { path }
            | Self::Unreadable { path, .. }
            | Self::Hunks { path, .. }
            | Self::Unchanged { path } => path,
        }
    }
}

impl<E: fmt::Display> fmt::Display for PatchError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for fault in self.faults.iter().take(TOLD) {
            writeln!(f, "{fault}")?;
        }
        let untold = self.faults.len().saturating_sub(TOLD);
        if untold > 0 {
            writeln!(f, "And {untold} more.")?;
        }
        f.write_str("Nothing was changed.")
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for PatchError<E> {}

impl<E: fmt::Display> fmt::Display for PatchFault<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path())?;
        match self {
            Self::NamedTwice { lines, .. } => {
                let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
                write!(f, "the patch names it more than once, in lines {}. Put all of its hunks beneath one name.", lines.join(", "))
            }
            Self::Exists { .. } => f.write_str("it exists already. Change it with `*** Update File:`, or choose another name."),
            Self::Missing { .. } => f.write_str("there is no such file. Make it with `*** Add File:`, or correct the path."),
            Self::Taken { .. } => f.write_str("a file cannot be moved here, because one is here already. Choose another name."),
            Self::Unreadable { error, .. } => write!(f, "{error}"),
            Self::Hunks { error, .. } => write!(f, "{error}"),
            Self::Unchanged { .. } => {
                f.write_str("the hunks change nothing. Mark the lines that go with '-' and those that come with '+'.")
            }
        }
    }
}
