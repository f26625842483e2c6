//! `haft mcp token`: the tokens that open servers over HTTP.

use std::net::SocketAddr;
use std::time::{Duration, UNIX_EPOCH};

use haft_mcp::server::{AccessToken, HttpTokenEntry, HttpTokenFile, TokenLife};
use haft_text::display;
use haft_tui::time::local_time;
use serde_json::{Value, json};

use crate::arguments::McpTokenCommand;
use crate::failure::{Exit, Failure};
use crate::output::{DIM, GOOD, Output, note};
use crate::table::{ColumnFit, Table, TableCell};
use crate::wire::Wire;

const DAY: u64 = 24 * 60 * 60;

pub(super) fn run(wire: &Wire, command: &McpTokenCommand, output: &Output) -> Result<Exit, Failure> {
    let file = HttpTokenFile::new(&wire.settings.data_folder);
    match command {
        McpTokenCommand::List => list(&file, output),
        McpTokenCommand::New { address, days } => new(&file, *address, *days, output),
        McpTokenCommand::Revoke { id } => revoke(&file, id, output),
    }
}

fn list(file: &HttpTokenFile, output: &Output) -> Result<Exit, Failure> {
    let tokens = file.list();
    if tokens.is_empty() {
        note("there are no tokens: `haft mcp --http ADDRESS` prints one when it starts");
    }
    let columns = [("ID", ColumnFit::Keep), ("ADDRESS", ColumnFit::Keep), ("CREATED", ColumnFit::Keep), ("ENDS", ColumnFit::Cut)];
    let mut table = Table::new(&columns);
    for token in &tokens {
        let ends = token.expires.map_or_else(|| "with its server".to_owned(), format_time);
        table.row(vec![
            TableCell::new(&display::escape_line(&token.id)),
            TableCell::new(&token.address.to_string()),
            TableCell::styled(&format_time(token.created), DIM),
            TableCell::new(&ends),
        ]);
    }
    output.show(|| tokens.iter().map(described).collect::<Vec<Value>>(), || table.render(output.width))
}

fn new(file: &HttpTokenFile, address: SocketAddr, days: u32, output: &Output) -> Result<Exit, Failure> {
    let missing = || Failure::failed("execution_error", "this machine gives no random numbers for a token").help("try again later");
    let token = AccessToken::random().ok_or_else(missing)?;
    let life = TokenLife::For(Duration::from_secs(u64::from(days) * DAY));
    let entry = file.add(address, &token, life).map_err(failed)?;
    note(&format!("It opens the server at {address} until {}. It is not shown again.", entry.expires.map(format_time).unwrap_or_default()));
    let mut data = described(&entry);
    data["token"] = token.reveal().into();
    output.show(|| data, || format!("Token: {}\n", token.reveal()))
}

fn revoke(file: &HttpTokenFile, id: &str, output: &Output) -> Result<Exit, Failure> {
    let Some(entry) = file.revoke(id).map_err(failed)? else {
        let message = format!("there is no token '{}'", display::shorten(id, 80));
        return Err(Failure::failed("not_found", message).help("`haft mcp token list` lists them"));
    };
    let text = format!("{GOOD}revoked{GOOD:#}: '{}' opens {} no more\n", display::escape_line(&entry.id), entry.address);
    output.show(|| described(&entry), || text)
}

fn described(token: &HttpTokenEntry) -> Value {
    json!({ "id": token.id, "address": token.address.to_string(), "created": format_time(token.created), "expires": token.expires.map(format_time) })
}

/// A time as the other listings have it.
fn format_time(seconds: u64) -> String {
    local_time(UNIX_EPOCH + Duration::from_secs(seconds), "%Y-%m-%dT%H:%M:%S%:z")
}

fn failed(why: String) -> Failure {
    Failure::failed("execution_error", why).help("correct the permissions of the data folder, or wait for the other process")
}
