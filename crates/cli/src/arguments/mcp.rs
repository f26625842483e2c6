//! Arguments of `haft mcp`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::ServersCommand;
use crate::help;

/// An address to listen on; `localhost` is the one that IPv4 gives this machine.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let numbers = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    numbers.as_deref().unwrap_or(text).parse().map_err(|_| "write an address and a port, such as 127.0.0.1:7333".to_owned())
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    pub(crate) serve: McpServeArgs,
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
}

/// How clients are served.
#[derive(Debug, Args)]
pub(crate) struct McpServeArgs {
    /// Listen for HTTP at this address, such as 127.0.0.1:7333, and print the token that clients need
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    pub(crate) http: Option<SocketAddr>,
    /// With --http: let other machines reach it, without encryption
    #[arg(long, requires = "http", hide_short_help = true)]
    pub(crate) allow_remote: bool,
    /// With --http: a name that clients reach this machine by; may be given several times
    #[arg(long = "host", value_name = "NAME", requires = "http", hide_short_help = true)]
    pub(crate) hosts: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add Haft to the configuration of an MCP client: shows the change, asks, and keeps a copy of the file
    #[command(after_long_help = help::MCP_INSTALL_EXAMPLES)]
    Install(McpInstallArgs),
    /// List, make and revoke the tokens that open `haft mcp --http`
    #[command(after_long_help = help::MCP_TOKEN_EXAMPLES, disable_help_subcommand = true)]
    Token {
        #[command(subcommand)]
        command: McpTokenCommand,
    },
    #[command(flatten)]
    Servers(ServersCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpTokenCommand {
    /// List the tokens of all servers; the tokens themselves are not stored
    List,
    /// Make a token for the server at this address, and print it once
    New {
        /// The address that the server listens on, such as 127.0.0.1:7333
        #[arg(value_parser = listen_address)]
        address: SocketAddr,
        /// For how many days
        #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: u32,
    },
    /// Revoke a token: what it has opened ends within a second
    Revoke {
        /// Its id in the list
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct McpInstallArgs {
    /// The client
    #[arg(value_enum)]
    pub(crate) client: McpClient,
    /// The name of the server in the client
    #[arg(long, value_name = "NAME", default_value = "haft")]
    pub(crate) name: String,
    /// The client's configuration file, if it is elsewhere
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// Print the change, and write nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) print: bool,
    /// Write without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

/// A client whose configuration file is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpClient {
    ClaudeDesktop,
    Vscode,
    Cursor,
    Zed,
}
