//! The command line of `haft node`.

use clap::{Args, Subcommand};

use crate::help;

#[derive(Debug, Subcommand)]
pub(crate) enum NodeCommand {
    /// List the paired machines, and those that ask to be paired
    #[command(after_long_help = help::NODE_EXAMPLES)]
    List,
    /// Let a machine ask to be paired, and print the command to run there
    #[command(after_long_help = help::NODE_EXAMPLES)]
    Pair {
        /// How long machines may ask
        #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=60))]
        minutes: u64,
    },
    /// Pair the machine whose screen shows this code
    #[command(after_long_help = help::NODE_EXAMPLES)]
    Approve {
        /// The code, such as 4821-7730
        code: String,
    },
    /// Refuse a machine that asks
    #[command(after_long_help = help::NODE_EXAMPLES)]
    Reject {
        /// Its id, as `haft node list` shows it
        id: String,
    },
    /// Remove a machine, and end its connection at once
    #[command(after_long_help = help::NODE_EXAMPLES)]
    Revoke {
        /// Its name or id
        node: String,
    },
    /// Give a machine another name; rules know it by that
    #[command(after_long_help = help::NODE_EXAMPLES)]
    Rename {
        /// Its name or id
        node: String,
        /// The new name
        name: String,
    },
    /// Make this machine a node: it works for the gateway under its own configuration
    #[command(after_long_help = help::NODE_EXAMPLES)]
    Run(NodeRunArgs),
}

#[derive(Debug, Args)]
pub(crate) struct NodeRunArgs {
    /// The gateway, as `haft node pair` prints it [default: the one that this machine is paired with]
    #[arg(value_name = "ADDRESS")]
    pub(crate) gateway: Option<String>,
    /// The name to ask for [default: node.name, or the name of this machine]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Remove the pairing of this machine, and do nothing else
    #[arg(long)]
    pub(crate) forget: bool,
}
