//! The command line of `haft plugins`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use crate::help;

#[derive(Debug, Subcommand)]
pub(crate) enum PluginsCommand {
    /// List the plugins: yours, and those of the project
    #[command(after_long_help = help::PLUGINS_EXAMPLES)]
    List,
    /// Show what a folder declares, ask, and copy it
    #[command(after_long_help = help::PLUGINS_EXAMPLES)]
    Add(AddPluginArgs),
    /// Check every plugin, or a folder; exit code 1 if one cannot run
    #[command(after_long_help = help::PLUGINS_EXAMPLES)]
    Check {
        /// The folder of a plugin
        #[arg(value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
    },
    /// Remove a plugin that you added
    #[command(after_long_help = help::PLUGINS_EXAMPLES)]
    Remove {
        /// The plugin's name
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AddPluginArgs {
    /// The folder of the plugin
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    /// Run it only while the folder is as it is now, for a plugin that you work on
    #[arg(long)]
    pub(crate) link: bool,
    /// Add it without asking
    #[arg(long)]
    pub(crate) yes: bool,
}
