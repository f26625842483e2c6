//! `haft mcp login` and `logout`: the user's sign-in to a server at an address.

use std::process::{Command, Stdio};
use std::time::Duration;

use haft_mcp::client::LoginSummary;
use haft_text::{display, numbers};
use serde_json::json;

use crate::arguments::LoginArgs;
use crate::commands::block_on;
use crate::failure::{Exit, Failure};
use crate::output::{GOOD, Output, note, notes_are_visible};
use crate::wire::Wire;

pub(super) fn run(wire: &Wire, request: &LoginArgs, output: &Output) -> Result<Exit, Failure> {
    let server = super::find(wire, &request.name)?;
    let name = server.settings().name.clone();
    let failed = |failure: haft_mcp::client::ServerFailure| Failure::failed("execution_error", failure.to_string());
    let LoginSummary { issuer, scopes } = block_on(async {
        let login = server.begin_login(request.port).await.map_err(failed)?;
        note(&format!("Sign in to '{name}' at {} by this link:", display::escape_line(login.issuer())));
        note(login.link());
        if !request.no_browser && notes_are_visible() {
            open_browser(login.link());
        }
        let summary = server.finish_login(login, Duration::from_secs(request.seconds)).await.map_err(failed)?;
        // What it offers is known only now.
        let started = server.start().await;
        server.close().await;
        started.map_err(|failure| failed(failure).help("you are signed in; the server refuses all the same"))?;
        Ok(summary)
    })?;
    let tools = server.tool_names();
    let data = json!({ "server": name, "issuer": issuer, "scopes": scopes, "tools": tools });
    output.show(
        || data,
        || {
            let granted = if scopes.is_empty() { String::new() } else { format!(", with {}", display::escape_line(&scopes.join(" "))) };
            let count = numbers::count(tools.len(), "tool");
            format!("{GOOD}signed in{GOOD:#} to '{name}' at {}{granted}: it has {count}\n", display::escape_line(&issuer))
        },
    )
}

pub(super) fn log_out(wire: &Wire, name: &str, output: &Output) -> Result<Exit, Failure> {
    let server = super::find(wire, name)?;
    let name = server.settings().name.clone();
    let was_signed_in = server.logout().map_err(|failure| Failure::failed("execution_error", failure.to_string()))?;
    let text = if was_signed_in {
        format!("{GOOD}forgotten{GOOD:#}: the sign-in to '{name}'; its provider may list it until you revoke it there\n")
    } else {
        format!("there is no sign-in to '{name}'\n")
    };
    output.show(|| json!({ "server": name, "was_signed_in": was_signed_in }), || text)
}

/// Opens the link in the user's browser, if there is one. It was checked to be an address of the web, and is one argument.
pub(in crate::commands) fn open_browser(link: &str) {
    let has_screen = cfg!(target_os = "macos") || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    if !has_screen {
        return;
    }
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started = Command::new(program).arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    // Without a browser, the link is there to be copied.
    drop(started);
}
