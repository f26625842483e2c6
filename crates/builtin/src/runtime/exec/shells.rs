//! Named shells: the directory in which the last command of each ended, and the next one starts.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::{CommandRequest, PlanContext, ShellCommand, ToolError};

/// How many are remembered; the least recently used is forgotten.
const MOST: usize = 64;

/// A session does not see the shells of another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ShellKey {
    session: String,
    name: String,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct NamedShells(Arc<Mutex<Vec<(ShellKey, PathBuf)>>>);

impl NamedShells {
    fn all(&self) -> MutexGuard<'_, Vec<(ShellKey, PathBuf)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn shell(&self, session: &str, name: &str) -> NamedShell {
        NamedShell { shells: self.clone(), key: ShellKey { session: session.to_owned(), name: name.to_owned() } }
    }
}

/// A named shell.
#[derive(Debug)]
pub(crate) struct NamedShell {
    shells: NamedShells,
    key: ShellKey,
}

impl NamedShell {
    pub(crate) fn name(&self) -> &str {
        &self.key.name
    }
    fn directory(&self) -> Option<PathBuf> {
        self.shells.all().iter().find(|(key, _)| *key == self.key).map(|(_, directory)| directory.clone())
    }
    fn forget(&self) {
        self.shells.all().retain(|(key, _)| *key != self.key);
    }

    /// Remembers the directory in which a command ended.
    pub(crate) fn set_directory(&self, directory: &Path) {
        self.forget();
        let mut all = self.shells.all();
        if all.len() >= MOST {
            all.remove(0);
        }
        all.push((self.key.clone(), directory.to_owned()));
    }

    /// Plans a command in the directory where the last one ended, unless it names one. A command reports that directory itself,
    /// so it is checked like any other; if no command can start there, the shell returns to the workspace.
    pub(super) fn command(&self, request: CommandRequest, cx: &PlanContext<'_>) -> Result<ShellCommand, ToolError> {
        let request = CommandRequest { track_cwd: true, ..request };
        let Some(remembered) = self.directory().filter(|_| request.directory.is_none()) else { return cx.command(&request) };
        cx.command(&CommandRequest { directory: Some(remembered), ..request.clone() }).map_err(|error| {
            if cx.command(&request).is_err() {
                return error;
            }
            self.forget();
            let name = self.name();
            let more = format!("Shell '{name}' was there; it is back in the workspace now: run the command again.");
            ToolError::new(error.kind(), format!("{} {more}", error.message()))
        })
    }
}
