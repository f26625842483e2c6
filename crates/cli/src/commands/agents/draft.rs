//! The user's configuration file with unwritten changes, loaded after each change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_config::{AgentEdit, Loaded, OwnFile, Replaced, SaveError};
use haft_engine::Registry;

use super::AgentView;
use crate::arguments::Common;
use crate::failure::Failure;
use crate::output::Output;
use crate::wire::{self, Wire};

/// Changes of one agent's table.
pub(crate) struct AgentDraft<'a> {
    common: &'a Common,
    output: &'a Output,
    agent: &'a str,
    workspace: PathBuf,
    registry: Arc<Registry>,
    file: PathBuf,
    own: OwnFile,
    edits: Vec<AgentEdit>,
    now: DraftState,
}

/// A text of the file, and what it loads to.
struct DraftState {
    text: String,
    loaded: Loaded,
    wire: Wire,
}

impl<'a> AgentDraft<'a> {
    /// The file as it is.
    pub(crate) fn begin(common: &'a Common, output: &'a Output, agent: &'a str) -> Result<Self, Failure> {
        let (workspace, registry) = (wire::workspace(common)?, wire::registry_in(common.workspace.as_deref())?);
        let wire = Wire::with_registry(Arc::clone(&registry), common, output)?;
        let loaded = wire::check(common, &workspace, &registry);
        let file = wire.own_file()?;
        let own = OwnFile::read(&file).map_err(unsaved)?;
        let now = DraftState { text: own.text().to_owned(), loaded, wire };
        Ok(Self { common, output, agent, workspace, registry, file, own, edits: Vec::new(), now })
    }

    pub(crate) fn agent(&self) -> &str {
        self.agent
    }
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }
    pub(crate) fn wire(&self) -> &Wire {
        &self.now.wire
    }
    pub(crate) fn loaded(&self) -> &Loaded {
        &self.now.loaded
    }
    pub(crate) fn view(&self) -> Result<AgentView<'_>, Failure> {
        AgentView::new(&self.now.wire, self.agent)
    }
    pub(crate) fn before(&self) -> &str {
        self.own.text()
    }
    pub(crate) fn after(&self) -> &str {
        &self.now.text
    }

    /// Adds changes. A text that does not load is refused, as in `haft config check`.
    pub(crate) fn change(&mut self, edits: impl IntoIterator<Item = AgentEdit>) -> Result<(), Failure> {
        self.edits.extend(edits);
        let text = self.own.with_agent(self.agent, &self.edits).map_err(unsaved)?;
        if text != self.now.text {
            let loaded = wire::check_text(self.common, &self.workspace, &self.registry, &text);
            self.now = DraftState { wire: self.usable(&loaded)?, loaded, text };
        }
        Ok(())
    }

    fn usable(&self, loaded: &Loaded) -> Result<Wire, Failure> {
        if loaded.errors().next().is_some() {
            return Err(wire::refused(loaded, self.output));
        }
        Wire::with_config(Arc::clone(&self.registry), self.common, &self.workspace, loaded)
    }

    /// A copy to try changes on.
    pub(crate) fn trial(&self) -> Result<Self, Failure> {
        let wire = Wire::with_config(Arc::clone(&self.registry), self.common, &self.workspace, &self.now.loaded)?;
        let now = DraftState { text: self.now.text.clone(), loaded: self.now.loaded.clone(), wire };
        let (common, output, agent) = (self.common, self.output, self.agent);
        let (workspace, registry, file) = (self.workspace.clone(), Arc::clone(&self.registry), self.file.clone());
        Ok(Self { common, output, agent, workspace, registry, file, own: self.own.clone(), edits: self.edits.clone(), now })
    }

    /// Writes the file and loads it; a file that does not load is restored.
    pub(crate) fn write(self) -> Result<Replaced, Failure> {
        let Self { common, output, workspace, registry, own, now, .. } = self;
        write_checked(own, now.text, || {
            let loaded = wire::check(common, &workspace, &registry);
            if loaded.errors().next().is_some() { Err(wire::refused(&loaded, output)) } else { Ok(()) }
        })
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it is passed to map_err")]
fn unsaved(error: SaveError) -> Failure {
    Failure::config(error.to_string())
}

fn write_checked(own: OwnFile, text: String, loads: impl FnOnce() -> Result<(), Failure>) -> Result<Replaced, Failure> {
    let replaced = own.replace(text).map_err(unsaved)?;
    let Err(failure) = loads() else { return Ok(replaced) };
    replaced.restore().map_err(unsaved)?;
    Err(failure.help("the file does not load with the change, so it was restored"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_that_does_not_load_is_restored() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, "# mine\n").unwrap();
        let now = || std::fs::read_to_string(&file).unwrap();
        let write = |outcome: Result<(), Failure>| {
            write_checked(OwnFile::read(&file).unwrap(), "# new\n".into(), || {
                assert_eq!(now(), "# new\n");
                outcome
            })
        };
        let failure = write(Err(Failure::config("no"))).unwrap_err();
        assert_eq!((failure.message.as_str(), now().as_str()), ("no", "# mine\n"));
        drop(write(Ok(())).unwrap());
        assert_eq!(now(), "# new\n");
    }
}
