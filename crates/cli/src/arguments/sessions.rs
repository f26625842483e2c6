//! The command line of `haft sessions`.

use clap::Subcommand;

use crate::help;

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions of this workspace, newest first
    List {
        /// Sessions of every workspace
        #[arg(long)]
        all: bool,
        /// Also the sessions of sub-agents
        #[arg(long)]
        sub_agents: bool,
        /// Only sessions with this text, in any case: in titles, messages, calls and results
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
        /// List at most this many
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        limit: u32,
    },
    /// Show the messages of a session
    Show {
        /// Its id, 4 or more characters of it, or `last`
        id: String,
    },
    /// Resume a session: one turn with a prompt, or a chat without one
    #[command(after_long_help = help::SESSIONS_RESUME_EXAMPLES)]
    Resume {
        /// Its id, 4 or more characters of it, or `last`
        #[arg(default_value = "last")]
        id: String,
        /// The message to the model, or - to read it from standard input
        prompt: Option<String>,
    },
    /// Print a session as JSON
    Export {
        /// Its id, 4 or more characters of it, or `last`
        id: String,
    },
    /// Copy a session, to continue it in another way
    Fork {
        /// Its id, 4 or more characters of it, or `last`
        id: String,
        /// Copy the entries before this number only
        #[arg(long, value_name = "N")]
        at: Option<u64>,
    },
    /// Delete a session
    Delete {
        /// Its id, 4 or more characters of it, or `last`
        id: String,
    },
}
