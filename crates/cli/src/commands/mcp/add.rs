//! `haft mcp add`: tries a server, and writes it to the user's file.

use std::sync::Arc;

use haft_config::{OwnFile, ServerEdit};
use haft_engine::Registry;
use haft_mcp::client::{McpServer, server_name};
use haft_text::{display, numbers};
use serde_json::json;

use crate::arguments::{AddServerArgs, Common};
use crate::commands::block_on;
use crate::failure::{Exit, Failure};
use crate::output::{GOOD, Output};
use crate::text_builder::TextBuilder;
use crate::wire::{self, Wire};

pub(super) fn run(common: &Common, request: &AddServerArgs, output: &Output) -> Result<Exit, Failure> {
    let name = server_name(&request.name).map_err(Failure::usage)?;
    let wire = Wire::new(common, output)?;
    let known = wire.settings.provenance.names_beneath(&["mcp", "servers"]);
    if known.iter().any(|known| server_name(known).as_ref() == Ok(&name)) {
        let message = format!("there is an MCP server '{name}' already");
        return Err(Failure::usage(message).help(format!("choose another name, or remove it first: haft mcp remove {name}")));
    }
    let file = OwnFile::read(&wire.own_file()?).map_err(|error| Failure::config(error.to_string()))?;
    let text = file.with_server(&name, &edits(request)).map_err(|error| Failure::config(error.to_string()))?;
    // The configuration with the server is loaded as it will be, so that nothing is written that does not load.
    let workspace = wire::workspace(common)?;
    let registry = wire::registry()?;
    let loaded = wire::check_text(common, &workspace, &registry, &text);
    if loaded.errors().next().is_some() {
        return Err(wire::refused(&loaded, output));
    }
    let wire = Wire::with_config(Arc::new(Registry::new()), common, &workspace, &loaded)?;
    let server = super::find(&wire, &name)?;
    if !request.no_test {
        block_on(try_server(&server))?;
    }
    let needs_sign_in = !request.no_test && !server.is_known();
    let path = file.path().display().to_string();
    drop(file.replace(text).map_err(|error| Failure::config(error.to_string()))?);
    let (tools, waiting) = (server.tool_names(), server.quarantined().len());
    let data = json!({
        "server": name, "file": path, "tools": tools, "waiting": waiting, "tested": !request.no_test, "needs_sign_in": needs_sign_in,
    });
    output.show(
        || data,
        || {
            let state = match (request.no_test, needs_sign_in) {
                (true, _) => AddedState::Untested,
                (_, true) => AddedState::NeedsSignIn,
                _ => AddedState::Works,
            };
            page(&name, &path, &tools, waiting, state)
        },
    )
}

async fn try_server(server: &Arc<McpServer>) -> Result<(), Failure> {
    let started = server.start().await;
    server.close().await;
    // One that wants the user to sign in is the right one; its tools are learned after that.
    if started.as_ref().is_err_and(|failure| failure.needs_sign_in) {
        return Ok(());
    }
    started.map_err(|failure| {
        let help = "nothing was written; correct it, or add it all the same with --no-test";
        Failure::failed("execution_error", failure.to_string()).help(help)
    })
}

/// What is known of a server that was added.
#[derive(Clone, Copy)]
enum AddedState {
    Works,
    Untested,
    NeedsSignIn,
}

fn page(name: &str, path: &str, tools: &[String], waiting: usize, state: AddedState) -> String {
    let mut page = TextBuilder::default();
    page.line(format_args!("{GOOD}added{GOOD:#} '{name}' to {}", display::escape_line(path)));
    match state {
        AddedState::Untested => page.line(format_args!("its tools are learned when it is first started: haft mcp test {name}")),
        AddedState::NeedsSignIn => page.line(format_args!("it wants you to sign in: haft mcp login {name}")),
        AddedState::Works => {
            page.line(format_args!("it has {}:", numbers::count(tools.len(), "tool")));
            for tool in tools {
                page.line(format_args!("  {tool}"));
            }
        }
    }
    if waiting > 0 {
        page.line(format_args!("{} cannot be used before you have looked: haft mcp trust {name}", numbers::count(waiting, "tool")));
    }
    page.finish()
}

fn edits(request: &AddServerArgs) -> Vec<ServerEdit> {
    let mut edits = Vec::new();
    let text = |edits: &mut Vec<ServerEdit>, key: &'static str, value: Option<String>| {
        edits.extend(value.map(|value| ServerEdit::Text(key, value)));
    };
    text(&mut edits, "command", request.command.first().cloned());
    let list = |edits: &mut Vec<ServerEdit>, key: &'static str, entries: &[String]| {
        edits.extend((!entries.is_empty()).then(|| ServerEdit::List(key, entries.to_vec())));
    };
    list(&mut edits, "args", request.command.get(1..).unwrap_or_default());
    text(&mut edits, "url", request.url.clone());
    text(&mut edits, "token_env", request.token_env.clone());
    text(&mut edits, "cwd", request.cwd.as_ref().map(|folder| folder.display().to_string()));
    list(&mut edits, "pass_env", &request.pass_env);
    for (key, entries) in [("env", &request.environment), ("headers", &request.headers)] {
        edits.extend((!entries.is_empty()).then(|| ServerEdit::Table(key, entries.clone())));
    }
    edits.extend(request.sandbox.then_some(ServerEdit::On("sandbox")));
    list(&mut edits, "hosts", &request.hosts);
    list(&mut edits, "folders", &request.folders);
    edits
}
