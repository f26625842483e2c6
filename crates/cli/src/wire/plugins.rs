//! Plugins: those that the user added, and those of a trusted project, among the tools.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::ToolSource;
use haft_engine::Registry;
use haft_plugins::{InstalledPlugin, PROJECT_FOLDER, PluginFault, PluginFiles, PluginManifest, PluginStore};
use haft_policy::catalog::group_names;

use super::{data_folder, registry};
use crate::failure::Failure;
use crate::output::warn;

/// The plugins of the user.
pub(crate) fn plugin_store() -> Result<PluginStore, Failure> {
    Ok(PluginStore::new(&data_folder()?))
}

/// Every tool: those of Haft, and those of the plugins that count in this workspace.
pub(crate) fn registry_in(workspace: Option<&Path>) -> Result<Arc<Registry>, Failure> {
    let registry = registry()?;
    let workspace = workspace.unwrap_or(Path::new(".")).canonicalize().ok();
    let installed = plugin_store()?.installed(workspace.as_deref());
    // Without its plugins Haft still works; who calls one learns that it is not there.
    let installed = installed.unwrap_or_else(|fault| {
        warn(&format!("{fault}. Move it away, and add the plugins again with `haft plugins add`"));
        Vec::new()
    });
    for plugin in &installed {
        if let Err(why) = register_plugin(&registry, plugin) {
            warn(&format!("the plugin '{}' is left out: {why} (`haft plugins list` lists all)", plugin.record.name));
        }
    }
    Ok(registry)
}

/// Registers the tools of a plugin, all or none.
pub(crate) fn register_plugin(registry: &Registry, plugin: &InstalledPlugin) -> Result<(), String> {
    let source = ToolSource::Plugin(plugin.record.name.clone());
    if group_names().any(|group| group == plugin.record.name) {
        return Err(format!("'{}' is the name of a group of tools: choose another", plugin.record.name));
    }
    if registry.entries().iter().any(|entry| *entry.source() == source) {
        return Err("another plugin has its name".to_owned());
    }
    for tool in plugin.tools() {
        if let Err(error) = registry.register(tool, source.clone()) {
            registry.unregister_source(&source);
            return Err(error.to_string());
        }
    }
    Ok(())
}

/// A plugin in the folder of a project.
pub(crate) struct ProjectPlugin {
    pub(crate) folder: PathBuf,
    pub(crate) content: Result<(PluginFiles, PluginManifest), PluginFault>,
}

/// The most plugins of a project.
const MOST: usize = 64;

/// The plugins in the folder of a project, trusted or not. A folder that a link leads out of the workspace has none.
pub(crate) fn project_plugins(workspace: &Path) -> Vec<ProjectPlugin> {
    let folder = workspace.join(PROJECT_FOLDER);
    if folder.canonicalize().ok().as_ref() != Some(&folder) {
        return Vec::new();
    }
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).take(MOST).collect();
    folders.sort_unstable();
    let read = |folder: PathBuf| {
        let content = PluginFiles::read(&folder).and_then(|files| files.manifest().map(|manifest| (files, manifest)));
        ProjectPlugin { folder, content }
    };
    folders.into_iter().map(read).collect()
}
