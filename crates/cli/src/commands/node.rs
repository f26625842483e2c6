//! `haft node`: pairs machines with this one, lists and removes them; `haft node run` makes this machine a node.

mod serve;

use std::io::IsTerminal;
use std::time::Duration;

use haft_contract::ToolError;
use haft_contract::ports::{NodeDirectory, NodeSummary, PendingNode};
use haft_nodes::{ControlClient, ControlRequest, PairingBook};
use haft_text::display;
use serde_json::{Value, json};

use crate::arguments::{Common, NodeCommand};
use crate::commands::block_on;
use crate::commands::serve::SERVER_FILE;
use crate::failure::{Exit, Failure};
use crate::output::{DIM, Output, STRONG, note};
use crate::text_builder::TextBuilder;
use crate::wire::Wire;

pub(crate) fn run(common: &Common, command: &NodeCommand, output: &Output) -> Result<Exit, Failure> {
    if let NodeCommand::Run(request) = command {
        return serve::run(common, request, output);
    }
    let wire = Wire::new(common, output)?;
    block_on(async {
        let control = wire.node_control();
        match command {
            NodeCommand::List => list(&control, output).await,
            NodeCommand::Pair { minutes } => pair(&wire, &control, Duration::from_mins(*minutes), output).await,
            NodeCommand::Approve { code } => approve(&control, code, output).await,
            NodeCommand::Reject { id } => {
                needed(&control, &ControlRequest::Reject { id: id.clone() }).await?;
                show_done(&format!("rejected {}", display::escape_line(id)), output)
            }
            NodeCommand::Revoke { node } => revoke(&wire, &control, node, output).await,
            NodeCommand::Rename { node, name } => rename(&wire, &control, node, name, output).await,
            NodeCommand::Run(_) => Ok(Exit::Success),
        }
    })
}

#[expect(clippy::needless_pass_by_value, reason = "it is for map_err")]
fn failed(error: ToolError) -> Failure {
    Failure::failed(error.kind().as_str(), error.message().trim_end_matches('.').to_owned())
}

async fn needed(control: &ControlClient, request: &ControlRequest) -> Result<Value, Failure> {
    control.ask(request).await.map_err(failed)?.ok_or_else(|| {
        Failure::failed("execution_error", "no server runs that machines could connect to")
            .help("start one with `haft serve`, and try again")
    })
}

fn show_done(text: &str, output: &Output) -> Result<Exit, Failure> {
    output.show(|| json!({ "done": text }), || format!("{text}\n"))
}

async fn list(control: &ControlClient, output: &Output) -> Result<Exit, Failure> {
    let (nodes, pending) = (control.list().await.map_err(failed)?, control.pending().await.map_err(failed)?);
    if nodes.is_empty() && pending.is_empty() {
        note("no machine is paired: `haft node pair` begins");
    }
    output.show(|| json!({ "nodes": nodes, "pending": pending }), || page(&nodes, &pending))
}

fn page(nodes: &[NodeSummary], pending: &[PendingNode]) -> String {
    let mut page = TextBuilder::default();
    for node in nodes {
        let state = if node.connected == Some(true) { "connected" } else { "not connected" };
        let platform = node.platform.as_deref().map(|platform| format!(", {}", display::escape_line(platform))).unwrap_or_default();
        page.line(format_args!("{STRONG}{}{STRONG:#}  {}  {DIM}{state}{platform}{DIM:#}", node.name, node.id));
    }
    for node in pending {
        page.line(format_args!("{STRONG}{}{STRONG:#}  {}  {DIM}asks to be paired{DIM:#}", node.name, node.id));
    }
    page.finish()
}

/// Lets machines ask, and at a terminal asks for the code on the other screen.
async fn pair(wire: &Wire, control: &ControlClient, length: Duration, output: &Output) -> Result<Exit, Failure> {
    let fingerprint = needed(control, &ControlRequest::Open { seconds: length.as_secs() }).await?;
    let address = format!("{}#{}", socket_address(wire), fingerprint.as_str().unwrap_or_default());
    let command = format!("haft node run {address}");
    output.show(|| json!({ "address": address, "seconds": length.as_secs() }), || format!("{command}\n"))?;
    note(&format!("Run this on the other machine within {} minutes. It shows a code.", length.as_secs() / 60));
    if output.json || !std::io::stdin().is_terminal() {
        note("Then complete it here: haft node approve CODE");
        return Ok(Exit::Success);
    }
    note("Code on the other screen:");
    let mut code = String::new();
    std::io::stdin().read_line(&mut code).map_err(|error| Failure::failed("execution_error", format!("no code can be read: {error}")))?;
    approve(control, code.trim(), output).await
}

/// The address of the running server, as nodes use it.
fn socket_address(wire: &Wire) -> String {
    let known = std::fs::read(wire.run_folder().join(SERVER_FILE)).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let url = known.as_ref().and_then(|known| known["url"].as_str()).unwrap_or("http://127.0.0.1:7318");
    url.replacen("http", "ws", 1)
}

async fn approve(control: &ControlClient, code: &str, output: &Output) -> Result<Exit, Failure> {
    let node = needed(control, &ControlRequest::Approve { code: code.to_owned() }).await?;
    let name = node["name"].as_str().unwrap_or_default().to_owned();
    let text = format!("{name} is paired. Models may use it as your rules say, such as rules.allow = [\"node({name}:*)\"].\n");
    output.show(|| node, || text)
}

/// By the server, which ends the connection; without one there is none.
async fn revoke(wire: &Wire, control: &ControlClient, node: &str, output: &Output) -> Result<Exit, Failure> {
    let answer = control.ask(&ControlRequest::Revoke { node: node.to_owned() }).await.map_err(failed)?;
    let revoked = if let Some(revoked) = answer {
        revoked["name"].as_str().unwrap_or_default().to_owned()
    } else {
        let (book, found) = book_entry(wire, node)?;
        book.remove(&found.id).map_err(broken)?;
        found.name
    };
    show_done(&format!("{revoked} is revoked, and cannot connect any more"), output)
}

async fn rename(wire: &Wire, control: &ControlClient, node: &str, name: &str, output: &Output) -> Result<Exit, Failure> {
    let request = ControlRequest::Rename { node: node.to_owned(), name: name.to_owned() };
    let renamed = if let Some(renamed) = control.ask(&request).await.map_err(failed)? {
        renamed["name"].as_str().unwrap_or_default().to_owned()
    } else {
        let (book, found) = book_entry(wire, node)?;
        book.rename(&found.id, name).map_err(broken)?
    };
    show_done(&format!("it is called {renamed} now; rules that name it by its former name do not hold for it any more"), output)
}

fn book_entry(wire: &Wire, node: &str) -> Result<(PairingBook, haft_nodes::PairedNode), Failure> {
    let book = PairingBook::new(&wire.nodes_folder());
    let found = book.resolve(node).map_err(failed)?;
    Ok((book, found))
}

#[expect(clippy::needless_pass_by_value, reason = "it is for map_err")]
fn broken(error: std::io::Error) -> Failure {
    Failure::failed("execution_error", error.to_string().trim_end_matches('.').to_owned())
}
