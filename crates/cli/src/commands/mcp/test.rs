//! `haft mcp test`: starts a server, and shows what it offers.

use haft_mcp::client::log_path;
use haft_text::{display, numbers};
use serde_json::{Value, json};

use crate::commands::block_on;
use crate::failure::{Exit, Failure};
use crate::output::{GOOD, Output};
use crate::text_builder::TextBuilder;
use crate::wire::Wire;

pub(super) fn run(wire: &Wire, name: &str, output: &Output) -> Result<Exit, Failure> {
    let server = super::find(wire, name)?;
    let name = server.settings().name.clone();
    let log = log_path(&wire.settings.data_folder, &name);
    let about = block_on(async {
        let about = server.about().await;
        server.close().await;
        about.map_err(|failure| {
            let help = format!("its output is in {}", display::escape_line(&log.to_string_lossy()));
            Failure::failed("execution_error", failure.to_string()).help(help)
        })
    })?;
    let (tools, waiting) = (server.tool_names(), server.quarantined());
    let data = || {
        let waiting: Vec<Value> = waiting.iter().map(|tool| json!({ "tool": tool.name, "why": tool.why.as_str() })).collect();
        json!({ "server": name, "about": about, "tools": tools, "waiting": waiting, "log": log })
    };
    let page = || {
        let text = |pointer: &str| display::shorten(about.pointer(pointer).and_then(Value::as_str).unwrap_or("?"), 80).into_owned();
        let mut page = TextBuilder::default();
        let version = format!("{} {}", text("/serverInfo/name"), text("/serverInfo/version"));
        page.line(format_args!("{GOOD}works{GOOD:#}: '{name}' is {version}, protocol {}", text("/protocolVersion")));
        page.line(format_args!("it has {}:", numbers::count(tools.len(), "tool")));
        for tool in &tools {
            page.line(format_args!("  {tool}"));
        }
        for tool in &waiting {
            page.line(format_args!(
                "  {} cannot be used: {}; see `haft mcp trust {name}`",
                display::shorten(&tool.name, 80),
                tool.why.as_str()
            ));
        }
        page.finish()
    };
    output.show(data, page)
}
