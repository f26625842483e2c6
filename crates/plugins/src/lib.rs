//! Plugins without a protocol server: a folder with a manifest (`plugin.toml`) and a command that reads a call as JSON and writes
//! its result as JSON.
//!
//! The command runs in the sandbox of commands, from a copy of the folder that the user has looked at: what a manifest declares is
//! checked by the policy like the effects of any other tool, and a folder that changed afterwards does not run. Nothing is loaded
//! into this process, but for WASM components (feature `wasm`), which reach what the plan of their call permits and nothing else.
#![warn(missing_docs)]

mod capture;
mod changes;
#[cfg(feature = "wasm")]
mod component;
mod fault;
mod files;
mod installed;
mod manifest;
mod reply;
mod store;
mod table;
mod tool;
mod withheld;

pub use self::fault::PluginFault;
pub use self::files::{MANIFEST_FILE, PluginFiles};
pub use self::installed::InstalledPlugin;
pub use self::manifest::{DeclaredEffects, PluginManifest, PluginToolSpec};
pub use self::store::{PluginOrigin, PluginRecord, PluginStore};

/// Where the plugins of a project lie, in its workspace.
pub const PROJECT_FOLDER: &str = ".haft/plugins";
