//! What can be typed behind `haft agents`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use haft_contract::Access;

use crate::help;

#[derive(Debug, Subcommand)]
pub(crate) enum Agents {
    /// List the agents: their models, what they may do, how many tools they have
    #[command(after_long_help = help::AGENTS_LIST_EXAMPLES)]
    List,
    /// Show an agent: its model, its prompt, its policy, and every tool with the reason if it has not got it
    #[command(after_long_help = help::AGENTS_SHOW_EXAMPLES)]
    Show {
        /// The agent's name
        #[arg(value_parser = haft_config::agent_name)]
        name: String,
    },
    /// Change an agent in your own file: tick its tools in a list, or say it with flags
    #[command(long_about = help::AGENTS_EDIT, after_long_help = help::AGENTS_EDIT_EXAMPLES)]
    Edit(EditAgent),
}

/// The keys that `--unset` takes: as the file has them, and by their last word.
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
pub(crate) struct EditAgent {
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
    // The next two are flags of every command; here they say what is written.
    /// How much it may do: read-only, workspace-write or full-access
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
    /// These and no others: names, patterns or groups, with commas between
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub(crate) only: Option<Vec<String>>,
    /// Take a key out of its table; may be given several times
    #[arg(long, value_name = "KEY", value_parser = KEYS)]
    pub(crate) unset: Vec<String>,
    /// Make the agent if there is none of this name
    #[arg(long)]
    pub(crate) create: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Ask nothing: do what the flags say, and make the agent if there is none
    #[arg(long)]
    pub(crate) yes: bool,
}

impl EditAgent {
    /// Whether any flag says what to change.
    pub(crate) fn says_something(&self) -> bool {
        let values = [&self.model, &self.prompt, &self.profile].iter().any(|value| value.is_some());
        let lists = [&self.tool, &self.no_tool, &self.unset].iter().any(|list| !list.is_empty());
        values || lists || self.prompt_file.is_some() || self.access.is_some() || self.only.is_some()
    }
}
