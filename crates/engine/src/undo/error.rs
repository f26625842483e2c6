//! Why a call was not taken back.

use std::fmt;
use std::path::PathBuf;

use haft_contract::ToolError;
use haft_store::{CallRecord, StoreError};

/// How many files a message names.
const MOST_LISTED: usize = 20;

/// Why a call, or a session, was not taken back.
#[derive(Debug)]
#[non_exhaustive]
pub enum UndoError {
    /// There is no call left to take back.
    Nothing,
    /// It was taken back before.
    Already(Box<CallRecord>),
    /// It changed no files.
    NoFiles(Box<CallRecord>),
    /// What it changed, or may have changed, was not kept.
    NotKept {
        /// The call or the session.
        name: String,
        /// The changed paths, or the folder whose changes are not known.
        paths: Vec<PathBuf>,
    },
    /// Whether it changed anything is not known: it still runs, or its process ended before that was recorded.
    Unfinished(Box<CallRecord>),
    /// No call of this session is left to take back.
    NothingIn(String),
    /// These files were changed since; taking the call back would lose that.
    Changed(Vec<PathBuf>),
    /// Something else than the session changed these files; taking the session back would lose that.
    ChangedElsewhere(Vec<PathBuf>),
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
            Self::NotKept { name, paths } => write!(
                f,
                "{name} cannot be undone: the former state of {} was not kept. A command outside the sandbox is not covered, nor are \
                 files beyond the limits of a checkpoint; nothing was touched",
                listed(paths)
            ),
            Self::Unfinished(call) => write!(
                f,
                "the newest call, {} ({}), still runs, or its process ended before its changes were recorded; nothing was touched",
                call.id, call.tool
            ),
            Self::NothingIn(session) => write!(f, "session {session} has no call left to undo"),
            Self::Changed(paths) => write_changed(f, paths, "after the call"),
            Self::ChangedElsewhere(paths) => write_changed(f, paths, "by something else than the session"),
            Self::Moved(path) => write!(f, "{} leads somewhere else now, through a symbolic link; nothing was touched", path.display()),
            Self::Stopped { path, why, left } if left.is_empty() => {
                write!(f, "{} could not be put back, so nothing was undone: {why}", path.display())
            }
            Self::Stopped { path, why, left } => {
                let (path, left) = (path.display(), listed(left));
                write!(f, "{path} could not be put back: {why}; put back already, and not to be returned to what they were: {left}")
            }
            Self::Store(error) => write!(f, "{error}"),
            Self::File(error) => write!(f, "{error}"),
        }
    }
}

fn write_changed(f: &mut fmt::Formatter<'_>, paths: &[PathBuf], how: &str) -> fmt::Result {
    let was = if paths.len() == 1 { "was" } else { "were" };
    let listed = listed(paths);
    write!(f, "{listed} {was} changed {how}; undoing would overwrite that change (--force undoes it anyway and keeps a copy)")
}

fn listed(paths: &[PathBuf]) -> String {
    let shown: Vec<_> = paths.iter().take(MOST_LISTED).map(|path| path.display().to_string()).collect();
    match paths.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
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

    #[test]
    fn changed_files_are_named_up_to_a_limit() {
        let paths = |count: usize| (1..=count).map(|number| PathBuf::from(format!("/w/{number}"))).collect::<Vec<_>>();
        let rest = "undoing would overwrite that change (--force undoes it anyway and keeps a copy)";
        assert_eq!(UndoError::Changed(paths(1)).to_string(), format!("/w/1 was changed after the call; {rest}"));
        let two = format!("/w/1, /w/2 were changed by something else than the session; {rest}");
        assert_eq!(UndoError::ChangedElsewhere(paths(2)).to_string(), two);
        let many = UndoError::Changed(paths(23)).to_string();
        assert!(many.contains("/w/20 and 3 more were changed") && !many.contains("/w/21"), "{many}");
    }
}
