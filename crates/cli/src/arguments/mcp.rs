//! The command line of `haft mcp`.

use clap::Subcommand;

use super::ServersCommand;

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    #[command(flatten)]
    Servers(ServersCommand),
}
