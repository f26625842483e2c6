//! MCP servers for the page: looked at and approved, as with `haft mcp trust`.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use haft_gateway::ServerRequest;
use haft_mcp::client::{QuarantinedTool, log_path};
use haft_text::display;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use super::backend::ServeBackend;
use crate::commands::mcp;
use crate::failure::Failure;

/// Lines of context in a difference.
const CONTEXT: usize = 2;
/// The last bytes of a server's log that are shown.
const MOST_LOG_BYTES: u64 = 8 << 10;

pub(super) async fn answer(backend: &ServeBackend, name: &str, request: ServerRequest<'_>) -> Result<Value, Failure> {
    let wire = backend.wire_of(None)?;
    let server = mcp::find(&wire, name)?;
    match request {
        ServerRequest::Review => {
            // As it is now, not as it was when it was last started.
            let fault = server.start().await.err().map(|failure| failure.to_string());
            let waiting = server.quarantined();
            let log = log_tail(&log_path(&wire.settings.data_folder, &server.settings().name));
            let changes: Vec<Value> = waiting.iter().map(change_json).collect();
            Ok(json!({
                "server": mcp::list::row(&wire, name), "fault": fault, "changes": changes, "fingerprint": fingerprint(&waiting), "log": log,
            }))
        }
        ServerRequest::Approve(seen) => {
            let waiting = server.quarantined();
            if fingerprint(&waiting) != seen {
                let message = format!("the tools of '{name}' have changed since they were looked at");
                return Err(Failure::failed("conflict", message).help("look at them again"));
            }
            server.approve(&waiting).map_err(|failure| Failure::failed("execution_error", failure.to_string()))?;
            // Every session has a server of its own, which reads what is approved when it is made.
            backend.reload();
            let wire = backend.wire_of(None)?;
            Ok(json!({ "server": mcp::list::row(&wire, name), "approved": waiting.len() }))
        }
    }
}

fn change_json(tool: &QuarantinedTool) -> Value {
    let diff = haft_patch::diff::unified(tool.before.as_bytes(), tool.now.as_bytes(), "tool", CONTEXT);
    let lines: Vec<&str> = diff.lines().skip(2).collect();
    json!({ "tool": display::shorten(&tool.name, 100), "why": tool.why.as_str(), "diff": display::escape_lines(&lines.join("\n")) })
}

/// What an approval is about.
fn fingerprint(waiting: &[QuarantinedTool]) -> String {
    let seen: Vec<(&str, &str)> = waiting.iter().map(|tool| (tool.name.as_str(), tool.now.as_str())).collect();
    haft_text::hex::encode(digest(&SHA256, json!(seen).to_string().as_bytes()).as_ref())
}

/// The end of a log; `None` if there is none.
fn log_tail(path: &Path) -> Option<String> {
    let mut file = std::fs::File::open(path).ok()?;
    let start = file.metadata().ok()?.len().saturating_sub(MOST_LOG_BYTES);
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = Vec::new();
    file.take(MOST_LOG_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned()).filter(|text| !text.trim().is_empty())
}
