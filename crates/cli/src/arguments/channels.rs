//! The command line of `haft channels`.

use clap::Subcommand;

use crate::help;

#[derive(Debug, Subcommand)]
pub(crate) enum ChannelsCommand {
    /// List the channels: what each can do, and what it lacks
    #[command(after_long_help = help::CHANNELS_EXAMPLES)]
    List,
    /// Ask the service of a channel who Haft is there; sends no message
    #[command(after_long_help = help::CHANNELS_EXAMPLES)]
    Test {
        /// The channel
        name: String,
    },
    /// Make a code that lets one sender in, for ten minutes
    #[command(after_long_help = help::CHANNELS_EXAMPLES)]
    Pair {
        /// The channel
        name: String,
    },
    /// List and remove senders that were let in by a code
    #[command(after_long_help = help::CHANNELS_EXAMPLES)]
    Senders {
        #[command(subcommand)]
        command: SendersCommand,
    },
    /// List messages that were sent, and what became of them
    #[command(after_long_help = help::CHANNELS_EXAMPLES)]
    Sent {
        /// Only those of this channel
        name: Option<String>,
        /// At most this many
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1000))]
        limit: u64,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SendersCommand {
    /// List the senders
    #[command(after_long_help = help::CHANNELS_EXAMPLES)]
    List,
    /// Shut a sender out
    #[command(after_long_help = help::CHANNELS_EXAMPLES)]
    Remove {
        /// The channel
        name: String,
        /// The id of the sender
        sender: String,
    },
}
