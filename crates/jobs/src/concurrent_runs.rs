//! Commands that can move folders with secrets, and commands to which such a move would show them. They do not run at the same time, in
//! whatever process: each is listed with its roots, by a file that it locks.

use std::error::Error;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind as IoErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_contract::{ErrorKind, ToolError};

/// How long a command waits for those that move folders.
pub(crate) const MOST_WAIT: Duration = Duration::from_secs(15);
pub(crate) const PAUSE: Duration = Duration::from_millis(250);

/// Held while the list is read and extended.
const GATE: &str = "gate";

/// How a command relates to moves of folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunRole {
    /// It can move folders with secrets.
    Mover,
    /// What hides a secret from it does not follow the folder: an overlay finds folders by their names, and backends that compare
    /// nothing mount on what is there in that moment.
    Exposed,
}

impl RunRole {
    const fn name(self) -> &'static str {
        match self {
            Self::Mover => "mover",
            Self::Exposed => "exposed",
        }
    }

    const fn opposite(self) -> Self {
        match self {
            Self::Mover => Self::Exposed,
            Self::Exposed => Self::Mover,
        }
    }
}

/// The list of running commands, of all processes that share a data folder.
#[derive(Debug)]
pub(crate) struct ConcurrentRuns {
    folder: PathBuf,
}

/// A command on the list, until it is dropped.
#[derive(Debug)]
pub(crate) struct RunEntry {
    path: PathBuf,
    _lock: File,
}

impl Drop for RunEntry {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

impl ConcurrentRuns {
    /// The list in a private folder.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Lists a command that sees these roots; `None` while one of the other role runs in them. Blocks.
    pub(crate) fn enter(&self, role: RunRole, roots: &[PathBuf]) -> io::Result<Option<RunEntry>> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let gate = File::options().create(true).truncate(false).write(true).mode(0o600).open(self.folder.join(GATE))?;
        gate.lock()?;
        if self.has_other(role.opposite(), roots)? { Ok(None) } else { self.add(role, roots).map(Some) }
    }

    fn add(&self, role: RunRole, roots: &[PathBuf]) -> io::Result<RunEntry> {
        // One that was killed may have left its file.
        let mut paths = (0..u32::MAX).map(|count| self.folder.join(format!("{}-{}-{count}", role.name(), std::process::id())));
        let (path, mut file) = paths
            .find_map(|path| match File::options().write(true).create_new(true).mode(0o600).open(&path) {
                Err(error) if error.kind() == IoErrorKind::AlreadyExists => None,
                opened => Some(opened.map(|file| (path, file))),
            })
            .ok_or(IoErrorKind::AlreadyExists)??;
        file.lock()?;
        let text: Vec<&[u8]> = roots.iter().map(|root| root.as_os_str().as_bytes()).collect();
        file.write_all(&text.join(&0))?;
        Ok(RunEntry { path, _lock: file })
    }

    /// Whether a command of this role runs in one of the roots, above it or below. Files of those that were killed are removed.
    fn has_other(&self, role: RunRole, roots: &[PathBuf]) -> io::Result<bool> {
        for entry in fs::read_dir(&self.folder)? {
            let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
            if !name.as_bytes().strip_prefix(role.name().as_bytes()).is_some_and(|rest| rest.starts_with(b"-")) {
                continue;
            }
            // It may have ended since.
            let Ok(file) = File::open(&path) else { continue };
            if file.try_lock().is_ok() {
                fs::remove_file(&path).ok();
            } else if fs::read(&path).is_ok_and(|text| overlap(&text, roots)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn overlap(text: &[u8], roots: &[PathBuf]) -> bool {
    let mut listed = text.split(|byte| *byte == 0).filter(|root| !root.is_empty()).map(|root| Path::new(OsStr::from_bytes(root)));
    listed.any(|listed| roots.iter().any(|root| root.starts_with(listed) || listed.starts_with(root)))
}

/// A command that moves folders runs.
#[derive(Debug)]
struct BesideMover;

impl Error for BesideMover {}

impl fmt::Display for BesideMover {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a command that can move folders runs")
    }
}

/// What is said of a command that is not run beside one that can move folders.
pub(crate) fn beside_mover() -> ToolError {
    let what = "The command was not run: another command runs in this workspace that can move folders with secrets, and then they could \
                not be hidden from this one. Wait until that command has ended, or ask the user to end it";
    ToolError::new(ErrorKind::SandboxUnavailable, format!("{what}.")).with_source(BesideMover)
}

/// Whether waiting may help.
pub(crate) fn is_beside_mover(error: &ToolError) -> bool {
    error.source().is_some_and(<dyn Error>::is::<BesideMover>)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_move_folders_and_those_that_must_not_see_it_exclude_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (ConcurrentRuns::new(folder.path().join("moves")), ConcurrentRuns::new(folder.path().join("moves")));
        let at = |path: &str| vec![PathBuf::from(path)];
        let mover = one.enter(RunRole::Mover, &at("/w")).unwrap().unwrap();
        let second = other.enter(RunRole::Mover, &at("/w")).unwrap().expect("two that move are no harm to each other");
        for (root, is_free) in [("/w", false), ("/w/deep", false), ("/", false), ("/v", true), ("/w2", true)] {
            assert_eq!(other.enter(RunRole::Exposed, &at(root)).unwrap().is_some(), is_free, "{root}");
        }
        drop(mover);
        assert!(other.enter(RunRole::Exposed, &at("/w")).unwrap().is_none(), "the second one runs");
        drop(second);
        let exposed = other.enter(RunRole::Exposed, &at("/w")).unwrap().unwrap();
        assert!(one.enter(RunRole::Exposed, &at("/w")).unwrap().is_some());
        assert!(one.enter(RunRole::Mover, &at("/w/deep")).unwrap().is_none());
        drop(exposed);
        assert!(one.enter(RunRole::Mover, &at("/w/deep")).unwrap().is_some());
    }

    #[test]
    fn entries_of_killed_processes_do_not_count_and_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let stale = [format!("mover-{}-0", std::process::id()), "mover-1-7".to_owned()].map(|name| folder.path().join(name));
        for path in &stale {
            fs::write(path, "/w").unwrap();
        }
        let runs = ConcurrentRuns::new(folder.path().to_owned());
        let mover = runs.enter(RunRole::Mover, &["/w".into()]).unwrap().expect("a name that is taken is passed over");
        assert!(runs.enter(RunRole::Exposed, &["/w".into()]).unwrap().is_none());
        drop(mover);
        assert!(runs.enter(RunRole::Exposed, &["/w".into()]).unwrap().is_some());
        assert!(stale.iter().all(|path| !path.exists()));
    }
}
