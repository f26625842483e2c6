//! The person's file with changes that are not written yet, and what they would mean.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_config::{AgentEdit, Loaded, OwnFile};
use haft_engine::Registry;

use super::View;
use crate::arguments::Common;
use crate::failure::Failure;
use crate::output::Output;
use crate::wire::{self, Wire};

/// Changes of one agent's table, tried after each step.
pub(super) struct Draft<'a> {
    common: &'a Common,
    output: &'a Output,
    agent: &'a str,
    workspace: PathBuf,
    registry: Arc<Registry>,
    file: PathBuf,
    own: OwnFile,
    edits: Vec<AgentEdit>,
    now: Tried,
}

/// What a text of the file means.
struct Tried {
    text: String,
    loaded: Loaded,
    wire: Wire,
}

impl<'a> Draft<'a> {
    /// The file as it is.
    pub(super) fn begin(common: &'a Common, output: &'a Output, agent: &'a str) -> Result<Self, Failure> {
        let (workspace, registry) = (wire::workspace(common)?, wire::registry()?);
        let wire = Wire::with(Arc::clone(&registry), common, output)?;
        let loaded = wire::check(common, &workspace, &registry);
        let file = wire.own_file()?;
        let own = OwnFile::read(&file)?;
        let now = Tried { text: own.text().to_owned(), loaded, wire };
        Ok(Self { common, output, agent, workspace, registry, file, own, edits: Vec::new(), now })
    }

    pub(super) fn agent(&self) -> &str {
        self.agent
    }
    pub(super) fn file(&self) -> &Path {
        &self.file
    }
    /// What holds after the changes so far.
    pub(super) fn wire(&self) -> &Wire {
        &self.now.wire
    }
    pub(super) fn loaded(&self) -> &Loaded {
        &self.now.loaded
    }
    /// The agent after the changes so far.
    pub(super) fn view(&self) -> Result<View<'_>, Failure> {
        View::of(&self.now.wire, self.agent)
    }
    pub(super) fn before(&self) -> &str {
        self.own.text()
    }
    pub(super) fn after(&self) -> &str {
        &self.now.text
    }

    /// Adds changes. What would not load is refused as `haft config check` does it.
    pub(super) fn change(&mut self, edits: impl IntoIterator<Item = AgentEdit>) -> Result<(), Failure> {
        self.edits.extend(edits);
        let text = self.own.with_agent(self.agent, &self.edits)?;
        if text != self.now.text {
            let loaded = wire::tried(self.common, &self.workspace, &self.registry, &text);
            self.now = Tried { wire: self.usable(&loaded)?, loaded, text };
        }
        Ok(())
    }

    fn usable(&self, loaded: &Loaded) -> Result<Wire, Failure> {
        if loaded.errors().next().is_some() {
            return Err(wire::refused(loaded, self.output));
        }
        Wire::loaded(Arc::clone(&self.registry), self.common, &self.workspace, loaded)
    }

    /// Tries changes that are not added.
    pub(super) fn trial(&self) -> Result<Self, Failure> {
        let wire = Wire::loaded(Arc::clone(&self.registry), self.common, &self.workspace, &self.now.loaded)?;
        let now = Tried { text: self.now.text.clone(), loaded: self.now.loaded.clone(), wire };
        let (common, output, agent) = (self.common, self.output, self.agent);
        let (workspace, registry, file) = (self.workspace.clone(), Arc::clone(&self.registry), self.file.clone());
        Ok(Self { common, output, agent, workspace, registry, file, own: self.own.clone(), edits: self.edits.clone(), now })
    }

    /// Writes the file, and reads it again: one that does not load is put back as it was.
    pub(super) fn write(self) -> Result<(), Failure> {
        let Self { common, output, workspace, registry, own, now, .. } = self;
        written(own, now.text, || {
            let loaded = wire::check(common, &workspace, &registry);
            if loaded.errors().next().is_some() { Err(wire::refused(&loaded, output)) } else { Ok(()) }
        })
    }
}

fn written(own: OwnFile, text: String, loads: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    let replaced = own.replace(text)?;
    let Err(failure) = loads() else { return Ok(()) };
    replaced.put_back()?;
    Err(failure.help("the file does not load with the change, so it was put back as it was"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_does_not_load_is_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, "# mine\n").unwrap();
        let now = || std::fs::read_to_string(&file).unwrap();
        let write = |outcome: Result<(), Failure>| {
            written(OwnFile::read(&file).unwrap(), "# new\n".into(), || {
                assert_eq!(now(), "# new\n");
                outcome
            })
        };
        let failure = write(Err(Failure::config("no"))).unwrap_err();
        assert_eq!((failure.message.as_str(), now().as_str()), ("no", "# mine\n"));
        write(Ok(())).unwrap();
        assert_eq!(now(), "# new\n");
    }
}
