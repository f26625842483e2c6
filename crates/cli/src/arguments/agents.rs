//! The command line of `haft agents`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use haft_contract::Access;

use crate::help;

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the agents: model, access level, number of tools
    #[command(after_long_help = help::AGENTS_LIST_EXAMPLES)]
    List,
    /// Show an agent: its model, prompt and policy, and each tool with the reason if it is not offered
    #[command(after_long_help = help::AGENTS_SHOW_EXAMPLES)]
    Show {
        /// The agent's name
        #[arg(value_parser = haft_config::agent_name)]
        name: String,
        /// Show the system prompt as the model gets it here, with the tokens of each part
        #[arg(long)]
        prompt: bool,
    },
    /// Change an agent in your configuration file, with flags or a list of its tools
    #[command(long_about = help::AGENTS_EDIT, after_long_help = help::AGENTS_EDIT_EXAMPLES)]
    Edit(EditAgentArgs),
}

/// Keys for `--unset`: as in the file, or the last word.
pub(crate) const KEYS: [&str; 11] = [
    "model",
    "prompt",
    "access",
    "tools.profile",
    "tools.allow",
    "tools.also_allow",
    "tools.deny",
    "profile",
    "allow",
    "also_allow",
    "deny",
];

#[derive(Debug, Default, Args)]
pub(crate) struct EditAgentArgs {
    /// The agent's name
    #[arg(value_parser = haft_config::agent_name)]
    pub(crate) name: String,
    /// Its model
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub(crate) model: Option<String>,
    /// Its instructions
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// A file with its instructions
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "prompt")]
    pub(crate) prompt_file: Option<PathBuf>,
    // These two are flags of every command; here they are written to the file.
    /// Its access level: read-only, workspace-write or full-access
    #[arg(long, value_name = "LEVEL")]
    pub(crate) access: Option<Access>,
    /// The tools it starts from: minimal, messaging, coding or full
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Switch a tool on; may be given several times
    #[arg(long, value_name = "TOOL", conflicts_with = "only")]
    pub(crate) tool: Vec<String>,
    /// Switch a tool off; may be given several times
    #[arg(long, value_name = "TOOL", conflicts_with = "only")]
    pub(crate) no_tool: Vec<String>,
    /// Only these: names, patterns or groups, separated by commas
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub(crate) only: Option<Vec<String>>,
    /// Remove a key; may be given several times
    #[arg(long, value_name = "KEY", value_parser = KEYS)]
    pub(crate) unset: Vec<String>,
    /// Create the agent if it does not exist
    #[arg(long)]
    pub(crate) create: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask; create the agent if it does not exist
    #[arg(long)]
    pub(crate) yes: bool,
}

impl EditAgentArgs {
    /// Whether any flag changes something.
    pub(crate) fn has_changes(&self) -> bool {
        let values = [&self.model, &self.prompt, &self.profile].iter().any(|value| value.is_some());
        let lists = [&self.tool, &self.no_tool, &self.unset].iter().any(|list| !list.is_empty());
        values || lists || self.prompt_file.is_some() || self.access.is_some() || self.only.is_some()
    }
}
