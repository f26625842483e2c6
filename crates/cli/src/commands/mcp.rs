//! `haft mcp`: offers the tools to MCP clients.

mod client_files;
mod install;
mod json_edit;
mod serve;

use crate::arguments::{Common, McpArgs, McpCommand};
use crate::failure::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(common: &Common, request: &McpArgs, output: &Output) -> Result<Exit, Failure> {
    match &request.command {
        None => serve::run(common, request, output),
        Some(McpCommand::Install(request)) => install::run(common, request, output),
    }
}
