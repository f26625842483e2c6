//! The command lines about what was done: `haft history`, `undo`, `prune` and `quarantine`.

use clap::{Args, Subcommand};

use crate::help;

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Show this call in full: its id, or 4 or more characters of the beginning or end of it
    pub(crate) id: Option<String>,
    /// List at most this many calls
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000), conflicts_with = "id")]
    pub(crate) limit: u32,
    /// Only calls of this tool
    #[arg(long, value_name = "TOOL", conflicts_with = "id")]
    pub(crate) tool: Option<String>,
    /// Only calls that failed
    #[arg(long, conflicts_with = "id")]
    pub(crate) failed: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// The call's id as `haft history` lists it, or `last`: the newest call in this workspace that is not undone yet [default: last]
    pub(crate) id: Option<String>,
    /// Undo every call of a session: its id, 4 or more characters of it, or no value for the newest in this workspace
    #[arg(long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "last", conflicts_with = "id")]
    pub(crate) session: Option<String>,
    /// Also restore files that something else changed; their content is saved as a copy
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Remove it; without this nothing is removed
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Copy the history, sessions and old file contents of a folder to a server; continues a copy that was cut off
    #[command(after_long_help = help::STORE_EXAMPLES)]
    Copy {
        /// The folder of the data, as `sqlite:FOLDER`; without it the one that is used here
        #[arg(long, value_name = "sqlite:FOLDER")]
        from: Option<String>,
        /// The server, as `postgres://user@host/database`; without it the one of HAFT_STORE
        #[arg(long, value_name = "ADDRESS")]
        to: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum QuarantineCommand {
    /// List the entries, as without a subcommand
    #[command(after_long_help = help::QUARANTINE_EXAMPLES)]
    List,
    /// Show an entry: where it was, why it was moved, which command wrote it, and its content
    #[command(after_long_help = help::QUARANTINE_EXAMPLES)]
    Show {
        /// Its id, or the beginning of it
        id: String,
    },
    /// Move an entry back to where it was
    #[command(after_long_help = help::QUARANTINE_EXAMPLES)]
    Restore {
        /// Its id, or the beginning of it
        id: String,
        /// Replace what is there now; that goes to quarantine
        #[arg(long)]
        force: bool,
    },
    /// Remove an entry for good
    #[command(after_long_help = help::QUARANTINE_EXAMPLES)]
    Remove {
        /// Its id, or the beginning of it
        #[arg(required_unless_present = "all")]
        id: Option<String>,
        /// Every entry
        #[arg(long, conflicts_with = "id")]
        all: bool,
    },
}
