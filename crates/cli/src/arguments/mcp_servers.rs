//! The command line of `haft mcp`, as far as it is about servers that Haft uses.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use crate::help;

#[derive(Debug, Subcommand)]
pub(crate) enum ServersCommand {
    /// Add a server: start it once, list its tools, and write it to your configuration
    #[command(after_long_help = help::MCP_SERVERS_EXAMPLES)]
    Add(Box<AddServerArgs>),
    /// List the configured servers, their tools, and what waits for you
    #[command(after_long_help = help::MCP_SERVERS_EXAMPLES)]
    List,
    /// Start a server, and show what it offers; exit code 1 if it cannot be used
    #[command(after_long_help = help::MCP_SERVERS_EXAMPLES)]
    Test {
        /// The server's name
        name: String,
    },
    /// Show which tools of a server have changed since you approved it, and approve them
    #[command(after_long_help = help::MCP_SERVERS_EXAMPLES)]
    Trust {
        /// The server's name
        name: String,
        /// Approve without a question
        #[arg(long, conflicts_with = "show")]
        yes: bool,
        /// Show the changes, and approve nothing
        #[arg(long)]
        show: bool,
    },
    /// Sign in to a server at an address, in a browser (OAuth)
    #[command(after_long_help = help::MCP_SERVERS_EXAMPLES)]
    Login(LoginArgs),
    /// Forget the sign-in to a server
    #[command(after_long_help = help::MCP_SERVERS_EXAMPLES)]
    Logout {
        /// The server's name
        name: String,
    },
    /// Remove a server from your configuration
    #[command(after_long_help = help::MCP_SERVERS_EXAMPLES)]
    Remove {
        /// The server's name
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// The server's name
    pub(crate) name: String,
    /// Print the link, and open no browser
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// The port of this machine that the browser comes back to; any, if absent
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// How long to wait for you
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) seconds: u64,
}

#[derive(Debug, Args)]
pub(crate) struct AddServerArgs {
    /// Its name, which its tools begin with: mcp__NAME__TOOL
    pub(crate) name: String,
    /// The program and its arguments, after --
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "url", conflicts_with = "url")]
    pub(crate) command: Vec<String>,
    /// The address, instead of a program
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The variable that holds the bearer token for the address
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    pub(crate) token_env: Option<String>,
    /// A header of every request to the address
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = assignment, requires = "url")]
    pub(crate) headers: Vec<(String, String)>,
    /// A variable of the program
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = assignment, conflicts_with = "url")]
    pub(crate) environment: Vec<(String, String)>,
    /// A variable of your environment that the program gets
    #[arg(long = "pass-env", value_name = "VARIABLE", conflicts_with = "url")]
    pub(crate) pass_env: Vec<String>,
    /// The folder that the program runs in; the workspace, if absent
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "url")]
    pub(crate) cwd: Option<PathBuf>,
    /// Run the program in the sandbox of commands
    #[arg(long, conflicts_with = "url")]
    pub(crate) sandbox: bool,
    /// A host that it may reach from the sandbox
    #[arg(long = "host", value_name = "HOST", requires = "sandbox")]
    pub(crate) hosts: Vec<String>,
    /// A folder that it may change from the sandbox
    #[arg(long = "folder", value_name = "DIR", requires = "sandbox")]
    pub(crate) folders: Vec<String>,
    /// Write it without starting it
    #[arg(long)]
    pub(crate) no_test: bool,
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    if name.trim().is_empty() { Err("the name is empty".into()) } else { Ok((name.trim().to_owned(), value.to_owned())) }
}
