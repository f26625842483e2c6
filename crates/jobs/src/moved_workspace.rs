//! Folders of the workspace that another command moves while a command is set up: then it is set up anew, and if that does not end, it
//! does not run.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use haft_contract::{ErrorKind, FileIdentity, ToolError};
use haft_host::SandboxPaths;
use haft_text::display;

/// How often and how long a command is set up.
const MOST_ATTEMPTS: u32 = 10;
const MOST_TIME: Duration = Duration::from_secs(4);

/// Something else, or nothing, is where something was found.
#[derive(Debug)]
pub(crate) struct MovedPath(pub(crate) PathBuf);

impl Error for MovedPath {}

impl fmt::Display for MovedPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "'{}' was moved", display::escape_line(&self.0.to_string_lossy()))
    }
}

impl From<MovedPath> for ToolError {
    fn from(moved: MovedPath) -> Self {
        keeps_moving(&moved.0).with_source(moved)
    }
}

/// Whether another attempt could succeed.
pub(crate) fn was_moved(error: &ToolError) -> bool {
    error.source().is_some_and(<dyn std::error::Error>::is::<MovedPath>)
}

/// What is said of a command that is not run.
pub(crate) fn keeps_moving(folder: &Path) -> ToolError {
    let folder = display::escape_line(&folder.to_string_lossy()).into_owned();
    let what = format!(
        "The command was not run: something moves folders of the workspace all the time, such as '{folder}', so what must be hidden \
         there cannot be hidden. List the running commands with the process tool (action \"list\"), end the one that does it (action \
         \"kill\"), and try again"
    );
    ToolError::new(ErrorKind::SandboxUnavailable, format!("{what}."))
}

/// Notes what is at paths that were just found.
pub(crate) fn note_identities<'a>(paths: &mut SandboxPaths, found: impl Iterator<Item = &'a PathBuf>) -> Result<(), MovedPath> {
    for path in found {
        if paths.identities.contains_key(path) {
            continue;
        }
        let metadata = path.symlink_metadata().map_err(|_| MovedPath(path.clone()))?;
        if !metadata.is_symlink() {
            paths.identities.insert(path.clone(), FileIdentity::from_metadata(&metadata));
        }
    }
    Ok(())
}

/// Counts the attempts to set a command up.
#[derive(Debug)]
pub(crate) struct Attempts {
    started: Instant,
    made: u32,
}

impl Attempts {
    pub(crate) fn begin() -> Self {
        Self { started: Instant::now(), made: 0 }
    }

    /// Counts one that failed. Whether there may be another one.
    pub(crate) fn may_try_again(&mut self) -> bool {
        self.made += 1;
        self.made < MOST_ATTEMPTS && self.started.elapsed() < MOST_TIME
    }
}
