//! Why a call was not taken back.

use std::fmt;
use std::path::PathBuf;

use haft_contract::ToolError;
use haft_store::{CallRecord, StoreError};

/// Why a call was not taken back.
#[derive(Debug)]
#[non_exhaustive]
pub enum UndoError {
    /// There is no call left to take back.
    Nothing,
    /// It was taken back before.
    Already(Box<CallRecord>),
    /// It changed no files.
    NoFiles(Box<CallRecord>),
    /// A file was changed since; taking the call back would lose that.
    Changed(PathBuf),
    /// The path leads somewhere else now.
    Moved(PathBuf),
    /// A file could not be put back, so those before it were returned to what they were.
    Stopped {
        /// The file.
        path: PathBuf,
        /// Why it could not be put back.
        why: Box<UndoError>,
        /// The files that could not be returned: these were put back.
        left: Vec<PathBuf>,
    },
    /// History, or what was kept, could not be read or written.
    Store(StoreError),
    /// A file could not be looked at or put back.
    File(ToolError),
}

impl fmt::Display for UndoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("there is no call left to undo"),
            Self::Already(call) => write!(f, "call {} was undone before", call.id),
            Self::NoFiles(call) => write!(f, "call {} ({}) changed no files, so there is nothing to put back", call.id, call.tool),
            Self::Changed(path) => write!(
                f,
                "{} was changed after the call; undoing would overwrite that change (--force undoes it anyway and keeps a copy)",
                path.display()
            ),
            Self::Moved(path) => write!(f, "{} leads somewhere else now, through a symbolic link; nothing was touched", path.display()),
            Self::Stopped { path, why, left } if left.is_empty() => {
                write!(f, "{} could not be put back, so nothing was undone: {why}", path.display())
            }
            Self::Stopped { path, why, left } => {
                let left: Vec<_> = left.iter().map(|path| path.display().to_string()).collect();
                write!(
                    f,
                    "{} could not be put back: {why}; put back already, and not to be returned to what they were: {}",
                    path.display(),
                    left.join(", ")
                )
            }
            Self::Store(error) => write!(f, "{error}"),
            Self::File(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for UndoError {}

impl From<StoreError> for UndoError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undo_that_is_stuck_says_what_it_left() {
        let stopped = |left: &[&str]| {
            let why = Box::new(UndoError::File(ToolError::execution("locked")));
            UndoError::Stopped { path: "/w/b".into(), why, left: left.iter().map(Into::into).collect() }.to_string()
        };
        assert_eq!(stopped(&[]), "/w/b could not be put back, so nothing was undone: locked");
        let expected = "/w/b could not be put back: locked; put back already, and not to be returned to what they were: /w/c, /w/d";
        assert_eq!(stopped(&["/w/c", "/w/d"]), expected);
    }
}
