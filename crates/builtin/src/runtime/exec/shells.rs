//! Shells that have a name: where the last line of each ended, and so where the next one starts.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::{Line, LineRequest, PlanContext, ToolError};

/// How many are remembered; the one that moved longest ago is forgotten.
const MOST: usize = 64;

/// Whose shell: no session sees that of another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    session: String,
    name: String,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Shells(Arc<Mutex<Vec<(Key, PathBuf)>>>);

impl Shells {
    fn all(&self) -> MutexGuard<'_, Vec<(Key, PathBuf)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn named(&self, session: &str, name: &str) -> Named {
        Named { shells: self.clone(), key: Key { session: session.to_owned(), name: name.to_owned() } }
    }
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Named {
    shells: Shells,
    key: Key,
}

impl Named {
    pub(crate) fn name(&self) -> &str {
        &self.key.name
    }
    fn directory(&self) -> Option<PathBuf> {
        self.shells.all().iter().find(|(key, _)| *key == self.key).map(|(_, directory)| directory.clone())
    }
    fn forget(&self) {
        self.shells.all().retain(|(key, _)| *key != self.key);
    }

    /// Remembers where a line of it ended.
    pub(crate) fn moved(&self, directory: &Path) {
        self.forget();
        let mut all = self.shells.all();
        if all.len() >= MOST {
            all.remove(0);
        }
        all.push((self.key.clone(), directory.to_owned()));
    }

    /// Plans a line where the last one ended, unless it says where. What a line said of its end is only its word, so it is judged
    /// like any directory; where none can start, the shell is back in the workspace.
    pub(super) fn line(&self, request: LineRequest, cx: &PlanContext<'_>) -> Result<Line, ToolError> {
        let request = LineRequest { tells_directory: true, ..request };
        let Some(remembered) = self.directory().filter(|_| request.directory.is_none()) else { return cx.line(&request) };
        cx.line(&LineRequest { directory: Some(remembered), ..request.clone() }).map_err(|error| {
            if cx.line(&request).is_err() {
                return error;
            }
            self.forget();
            let name = self.name();
            let more = format!("That is where shell '{name}' was left. It is back in the workspace now: run the line again.");
            ToolError::new(error.kind(), format!("{} {more}", error.message()))
        })
    }
}
