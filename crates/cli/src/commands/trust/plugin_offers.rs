//! The plugins of a project, shown and trusted with it.

use std::path::{Path, PathBuf};

use haft_plugins::{PluginOrigin, PluginRecord, PluginStore};
use haft_text::display;
use serde_json::{Value, json};

use crate::commands::plugins::trust_lines;
use crate::failure::Failure;
use crate::text_builder::TextBuilder;
use crate::wire::{self, ProjectPlugin};

/// The plugins in the project's folder, and the records of those that were trusted.
pub(super) struct PluginOffers {
    store: PluginStore,
    workspace: PathBuf,
    found: Vec<ProjectPlugin>,
    records: Vec<PluginRecord>,
}

impl PluginOffers {
    pub(super) fn read(workspace: &Path) -> Result<Self, Failure> {
        let store = wire::plugin_store()?;
        let records =
            store.records().map_err(|fault| Failure::config(fault.to_string()).help("move it away, and trust the folder again"))?;
        let records = records.into_iter().filter(|record| record.origin == PluginOrigin::Project(workspace.to_owned())).collect();
        Ok(Self { store, workspace: workspace.to_owned(), found: wire::project_plugins(workspace), records })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty() && self.records.is_empty()
    }

    /// The records that trust would make, of the plugins that hold together.
    fn offered(&self) -> Vec<PluginRecord> {
        let origin = || PluginOrigin::Project(self.workspace.clone());
        let record = |plugin: &ProjectPlugin| {
            let (files, manifest) = plugin.content.as_ref().ok()?;
            Some(PluginRecord::new(files, manifest, &plugin.folder, origin()))
        };
        self.found.iter().filter_map(record).collect()
    }

    /// Whether the records are exactly what is there.
    pub(super) fn are_approved(&self) -> bool {
        let offered = self.offered();
        offered.len() == self.records.len() && offered.iter().all(|record| self.records.contains(record))
    }

    /// Trusts what is there now, and nothing that is gone.
    pub(super) fn approve(&self) -> Result<(), Failure> {
        self.revoke()?;
        for plugin in &self.found {
            let Ok((files, manifest)) = &plugin.content else { continue };
            let record = PluginRecord::new(files, manifest, &plugin.folder, PluginOrigin::Project(self.workspace.clone()));
            self.store.approve(files, record).map_err(|fault| Failure::failed("execution_error", fault.to_string()))?;
        }
        Ok(())
    }

    /// Revokes the trust; false if there was none.
    pub(super) fn revoke(&self) -> Result<bool, Failure> {
        let is_own = |record: &PluginRecord| record.origin == PluginOrigin::Project(self.workspace.clone());
        let removed = self.store.remove(is_own).map_err(|fault| Failure::failed("execution_error", fault.to_string()))?;
        Ok(!removed.is_empty())
    }

    pub(super) fn show(&self, page: &mut TextBuilder, is_trusted: bool) {
        let lines = self.found.iter().flat_map(|plugin| match &plugin.content {
            Ok((files, manifest)) => trust_lines(manifest, &files.fingerprint()),
            Err(fault) => vec![format!("{}: left out: {fault}", display::escape_line(&plugin.folder.to_string_lossy()))],
        });
        let lines: Vec<String> = lines.collect();
        let title = if is_trusted { "Its plugins, in the sandbox" } else { "Its plugins would run, in the sandbox" };
        page.section(title, &lines.join("\n"));
    }

    /// Adds them to the JSON, if there are any.
    pub(super) fn add_to(&self, mut data: Value) -> Value {
        if !self.found.is_empty() {
            let row = |plugin: &ProjectPlugin| match &plugin.content {
                Ok((files, manifest)) => json!({
                    "name": manifest.name, "version": manifest.version, "fingerprint": files.fingerprint(), "command": manifest.command,
                    "tools": manifest.tools.iter().map(|tool| json!({ "name": tool.name, "effects": tool.effects.as_str(), "hosts": tool.hosts })).collect::<Vec<_>>(),
                }),
                Err(fault) => json!({ "folder": plugin.folder.to_string_lossy(), "problem": fault.to_string() }),
            };
            data["plugins"] = self.found.iter().map(row).collect();
        }
        data
    }
}
