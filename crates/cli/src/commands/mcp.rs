//! `haft mcp`: offers the tools to MCP clients, and uses those of MCP servers.

mod add;
mod client_files;
mod install;
mod json_edit;
pub(crate) mod list;
pub(super) mod login;
mod remove;
mod serve;
mod test;
mod token;
mod trust;

use std::sync::Arc;

use haft_mcp::client::{McpServer, server_name};
use haft_text::display;

use crate::arguments::{Common, McpArgs, McpCommand, ServersCommand};
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::wire::Wire;

pub(crate) fn run(common: &Common, request: &McpArgs, output: &Output) -> Result<Exit, Failure> {
    match &request.command {
        None => serve::run(common, &request.serve, output),
        Some(McpCommand::Install(request)) => install::run(common, request, output),
        Some(McpCommand::Token { command }) => token::run(&Wire::new(common, output)?, command, output),
        Some(McpCommand::Servers(command)) => servers(common, command, output),
    }
}

fn servers(common: &Common, command: &ServersCommand, output: &Output) -> Result<Exit, Failure> {
    match command {
        ServersCommand::Add(request) => add::run(common, request, output),
        ServersCommand::List => list::run(&Wire::new(common, output)?, output),
        ServersCommand::Test { name } => test::run(&Wire::new(common, output)?, name, output),
        ServersCommand::Trust { name, yes, show } => {
            let answer = match (yes, show) {
                (true, _) => trust::TrustAnswer::Yes,
                (_, true) => trust::TrustAnswer::No,
                _ => trust::TrustAnswer::Ask,
            };
            trust::run(&Wire::new(common, output)?, name, answer, output)
        }
        ServersCommand::Login(request) => login::run(&Wire::new(common, output)?, request, output),
        ServersCommand::Logout { name } => login::log_out(&Wire::new(common, output)?, name, output),
        ServersCommand::Remove { name } => remove::run(&Wire::new(common, output)?, name, output),
    }
}

/// The server of this name, in any spelling.
pub(crate) fn find(wire: &Wire, written: &str) -> Result<Arc<McpServer>, Failure> {
    let name = server_name(written).unwrap_or_else(|_| written.to_owned());
    wire.mcp.find(&name).cloned().ok_or_else(|| {
        let known: Vec<&str> = wire.mcp.all().iter().map(|server| server.settings().name.as_str()).collect();
        let near = haft_text::suggest::nearest(&name, known.iter().copied());
        let help = match near.first() {
            Some(near) => format!("did you mean '{near}'?"),
            None => "`haft mcp list` lists them, and `haft mcp add NAME -- COMMAND` adds one".to_owned(),
        };
        Failure::failed("not_found", format!("there is no MCP server '{}' that is switched on", display::shorten(written, 80))).help(help)
    })
}
