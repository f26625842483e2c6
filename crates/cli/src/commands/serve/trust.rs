//! What the user trusts: folders of projects, plugins, MCP servers; listed and revoked.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use haft_gateway::{TrustKind, TrustRequest};
use haft_mcp::client::McpServer;
use haft_plugins::{PluginOrigin, PluginRecord};
use haft_text::display;
use serde_json::{Value, json};

use super::backend::ServeBackend;
use crate::failure::Failure;
use crate::wire::{self, TrustedFolder, TrustedFolders, Wire};

pub(super) async fn answer(backend: &ServeBackend, request: TrustRequest<'_>) -> Result<Value, Failure> {
    let wire = backend.wire_of(None)?;
    let TrustRequest::Revoke(kind, name) = request else { return list(&wire) };
    let is_revoked = match kind {
        TrustKind::Folder => {
            TrustedFolders::read(&wire.settings.data_folder)?.remove_known(name)? | revoke_plugins(|record| is_of(record, name))?
        }
        TrustKind::Plugin => revoke_plugins(|record| record.name == name)?,
        TrustKind::McpServer => revoke_server(&wire, name).await?,
    };
    if !is_revoked {
        let message = format!("nothing of this name is trusted: '{}'", display::escape_line(name));
        return Err(Failure::failed("not_found", message).help("GET /api/trust lists what is trusted"));
    }
    backend.reload();
    Ok(json!({}))
}

fn list(wire: &Wire) -> Result<Value, Failure> {
    let trusted = TrustedFolders::read(&wire.settings.data_folder)?;
    let records = wire::plugin_store()?.records().map_err(|fault| Failure::config(fault.to_string()))?;
    let folders = trusted.entries().map(|(folder, trust)| folder_json(folder, trust));
    let plugins = records.iter().map(plugin_json);
    let servers = wire.settings.provenance.names_beneath(&["mcp", "servers"]);
    let servers = servers.iter().filter_map(|name| server(wire, name)).filter_map(|server| server_json(server));
    Ok(folders.chain(plugins.collect::<Result<Vec<_>, _>>()?).chain(servers).collect())
}

fn folder_json(folder: &str, trust: &TrustedFolder) -> Value {
    let what = if trust.fingerprint.is_empty() { "skills and commands of this folder" } else { "the project's .haft/config.toml" };
    json!({
        "kind": TrustKind::Folder, "name": folder, "what": what, "fingerprint": trust.fingerprint, "since": trust.since.and_then(date),
    })
}

fn plugin_json(record: &PluginRecord) -> Result<Value, Failure> {
    let since = wire::plugin_store()?.approved_at(record).and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let origin = match &record.origin {
        PluginOrigin::Project(folder) => format!("of {}", folder.display()),
        other => format!("{}: {}", other.as_str(), record.source.display()),
    };
    Ok(json!({
        "kind": TrustKind::Plugin, "name": record.name, "what": format!("{} {origin}", record.version),
        "fingerprint": record.fingerprint, "since": since.and_then(|since| date(since.as_secs())),
    }))
}

fn server_json(server: &McpServer) -> Option<Value> {
    let approval = server.approval()?;
    let tools = haft_text::numbers::count(approval.tools, "tool");
    Some(json!({
        "kind": TrustKind::McpServer, "name": server.settings().name, "what": format!("{tools}: {}", server.settings().describe()),
        "fingerprint": approval.fingerprint, "since": approval.since.and_then(date),
    }))
}

fn server<'w>(wire: &'w Wire, written: &str) -> Option<&'w Arc<McpServer>> {
    wire.mcp.find(&haft_mcp::client::server_name(written).unwrap_or_else(|_| written.to_owned()))
}

fn date(seconds: u64) -> Option<String> {
    let time: SystemTime = UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?;
    Some(haft_tui::time::local_time(time, "%Y-%m-%dT%H:%M:%S%:z"))
}

fn is_of(record: &PluginRecord, folder: &str) -> bool {
    matches!(&record.origin, PluginOrigin::Project(own) if TrustedFolders::name_of(own) == folder)
}

fn revoke_plugins(select: impl Fn(&PluginRecord) -> bool) -> Result<bool, Failure> {
    let removed = wire::plugin_store()?.remove(select);
    Ok(!removed.map_err(|fault| Failure::failed("execution_error", fault.to_string()))?.is_empty())
}

async fn revoke_server(wire: &Wire, name: &str) -> Result<bool, Failure> {
    let Some(server) = server(wire, name) else { return Ok(false) };
    let is_revoked = server.revoke().map_err(|error| Failure::failed("execution_error", format!("it cannot be stored: {error}")))?;
    server.close().await;
    Ok(is_revoked)
}
