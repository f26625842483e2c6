//! `haft mcp list`: the configured servers.

use haft_mcp::client::{ServerTransport, SignInState};
use haft_text::{display, numbers};
use serde_json::{Value, json};

use crate::failure::{Exit, Failure};
use crate::output::{CAUTION, DIM, Output, note};
use crate::table::{ColumnFit, Table, TableCell};
use crate::wire::Wire;

pub(super) fn run(wire: &Wire, output: &Output) -> Result<Exit, Failure> {
    let all = wire.settings.provenance.names_beneath(&["mcp", "servers"]);
    if all.is_empty() {
        note("there are no MCP servers: `haft mcp add NAME -- COMMAND` adds one");
    }
    let rows: Vec<Value> = all.iter().map(|name| row(wire, name)).collect();
    let mut table =
        Table::new(&[("NAME", ColumnFit::Keep), ("STATE", ColumnFit::Keep), ("TOOLS", ColumnFit::Keep), ("WHAT", ColumnFit::Cut)]);
    for row in &rows {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let waiting = row["waiting"].as_u64().unwrap_or_default();
        let tools = match row["tools"].as_array() {
            None => "not known".to_owned(),
            Some(tools) if waiting > 0 => format!("{}, {waiting} waiting", tools.len()),
            Some(tools) => numbers::count(tools.len(), "tool"),
        };
        let style = if waiting > 0 { CAUTION } else { DIM };
        let what = display::escape_line(&text("what")).into_owned();
        table.row(vec![
            TableCell::new(&text("server")),
            TableCell::new(&[row["state"].as_str(), row["sign_in"].as_str()].into_iter().flatten().collect::<Vec<_>>().join(", ")),
            TableCell::styled(&tools, style),
            TableCell::new(&what),
        ]);
    }
    output.show(|| rows.clone(), || table.render(output.width))
}

pub(crate) fn row(wire: &Wire, written: &str) -> Value {
    let name = haft_mcp::client::server_name(written).unwrap_or_else(|_| written.to_owned());
    let Some(server) = wire.mcp.find(&name) else {
        let has_command = wire
            .settings
            .provenance
            .settings()
            .iter()
            .any(|setting| setting.path.starts_with(&["mcp".into(), "servers".into(), written.into()]));
        let state = if has_command { "off" } else { "not trusted" };
        return json!({ "server": name, "state": state, "tools": null, "waiting": 0, "what": "" });
    };
    let settings = server.settings();
    let transport = if matches!(settings.transport, ServerTransport::Http(_)) { "http" } else { "stdio" };
    let tools = server.is_known().then(|| server.tool_names());
    json!({
        "server": name, "state": if settings.is_sandboxed() { "sandbox" } else { "on" }, "transport": transport, "tools": tools,
        "sign_in": server.sign_in_state().map(SignInState::as_str), "waiting": server.quarantined().len(), "what": settings.describe(),
    })
}
