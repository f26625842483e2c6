//! The command line of `haft browser`.

use clap::Subcommand;

use crate::help;

#[derive(Debug, Subcommand)]
pub(crate) enum BrowserCommand {
    /// Print the link of the live view of a session's browser, and open it
    #[command(after_long_help = help::BROWSER_EXAMPLES)]
    Show {
        /// The session: its id, or 4 or more characters of it [default: the one whose browser runs]
        session: Option<String>,
        /// Only print the link
        #[arg(long)]
        no_open: bool,
    },
    /// List recordings, or the steps of one with their pictures
    #[command(after_long_help = help::BROWSER_EXAMPLES)]
    Recordings {
        /// The session: its id, 4 or more characters of it, or `last`
        session: Option<String>,
    },
}
