//! Serves clients: one on standard input and output, or several over HTTP.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::sync::Arc;

use haft_mcp::server::{AccessToken, HttpListener, HttpReach, HttpTokenFile, ListenError, McpHttpOptions, serve_stdio};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::arguments::{Common, McpServeArgs};
use crate::commands::block_on;
use crate::commands::interrupt::interruptible;
use crate::failure::{Exit, Failure};
use crate::output::{Output, note};
use crate::wire::{McpBackend, Wire};

/// The variable with a token that stays the same.
const TOKEN: &str = "HAFT_MCP_TOKEN";

pub(super) fn run(common: &Common, request: &McpServeArgs, output: &Output) -> Result<Exit, Failure> {
    let wire = Arc::new(Wire::new(common, output)?);
    let backend = Arc::new(McpBackend::new(Arc::clone(&wire))?);
    let options = request.http.map(|address| options(address, request, &wire)).transpose()?;
    if options.is_none() && std::io::stdin().is_terminal() {
        note("Waiting for an MCP client on standard input. `haft mcp install CLIENT` adds Haft to one; Ctrl-C ends.");
    }
    block_on(async {
        // In the background: a client is told when their tools are here.
        wire.mcp.start_unknown();
        let stop = CancellationToken::new();
        let serving = async {
            match options {
                Some(options) => serve_http(Arc::clone(&backend), options, &stop, output).await,
                None => serve_stdio(Arc::clone(&backend) as _, &stop).await.map_err(|error| {
                    Failure::failed("execution_error", error.to_string())
                        .help("an MCP client starts `haft mcp`; `haft mcp install` adds it")
                }),
            }
        };
        // To be stopped is how a server ends: no failure.
        let (served, _) = Box::pin(interruptible(serving, &stop)).await?;
        backend.finish().await?;
        served.map(|()| Exit::Success)
    })
}

fn options(address: SocketAddr, request: &McpServeArgs, wire: &Wire) -> Result<McpHttpOptions, Failure> {
    let token = match std::env::var(TOKEN) {
        Ok(text) => Some(AccessToken::parse(&text).map_err(|why| Failure::usage(format!("{TOKEN} cannot be used: {why}")))?),
        Err(_) => AccessToken::random(),
    };
    if token.is_none() {
        return Err(Failure::failed("execution_error", "this machine gives no random numbers for a token").help(format!("set {TOKEN}")));
    }
    let mut options = McpHttpOptions::new(address, token);
    options.token_file = Some(HttpTokenFile::new(&wire.settings.data_folder));
    options.hosts.clone_from(&request.hosts);
    options.reach = if request.allow_remote { HttpReach::Network } else { HttpReach::Loopback };
    Ok(options)
}

async fn serve_http(backend: Arc<McpBackend>, options: McpHttpOptions, stop: &CancellationToken, output: &Output) -> Result<(), Failure> {
    let token = options.token.clone();
    let server = HttpListener::bind(backend, options).await.map_err(|error| failure(&error))?;
    let (url, token) = (server.url(), token.as_ref().map_or("", AccessToken::reveal));
    let id = server.token_id().unwrap_or_default();
    output.show(|| json!({ "url": url, "token": token, "token_id": id }), || format!("Listening on {url}\nToken: {token}\n"))?;
    note("Clients send the token as 'Authorization: Bearer TOKEN'. It is not shown again. Ctrl-C ends the server.");
    note(&format!("`haft mcp token revoke {id}` revokes it, and `haft mcp token new ADDRESS` makes another."));
    server.serve(stop).await.map_err(|error| failure(&error))
}

fn failure(error: &ListenError) -> Failure {
    let failure = Failure::failed("execution_error", error.to_string());
    match error {
        ListenError::NotLoopback(_) => Failure::usage(error.to_string())
            .help("listen on 127.0.0.1, or add --allow-remote if everybody who can reach it may try its token"),
        ListenError::Address(..) => failure.help("choose another port, or 0 for any that is free"),
        _ => failure,
    }
}
