//! A restart that a tool asked for: what runs may end, and what takes longer is handed over to the next server.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use haft_gateway::ServedSessions;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::output::note;
use crate::wire::{RestartRequest, ServerControl, folder_key};

/// How often it is looked whether a turn still runs.
const LOOK: Duration = Duration::from_millis(100);

fn handover_file(run_folder: &Path, workspace: &Path) -> PathBuf {
    run_folder.join(format!("restart-{}.json", folder_key(workspace)))
}

/// Stops the server when a restart is asked for and nothing runs any more, or its time is up. Sessions that still run are written down.
pub(super) async fn wait(
    control: &Arc<ServerControl>,
    sessions: &ServedSessions,
    run_folder: &Path,
    workspace: &Path,
    stop: &CancellationToken,
) {
    let request = loop {
        control.requested.notified().await;
        if let Some(request) = control.restart_request() {
            break request;
        }
    };
    note(&format!("restarting: {}", request.reason));
    let ended = async {
        while !sessions.running().is_empty() {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(request.wait.max(LOOK), ended).await.ok();
    if let Err(error) = write(&handover_file(run_folder, workspace), &request, &sessions.running()) {
        note(&format!("conversations are not continued after the restart: {error}"));
    }
    stop.cancel();
}

fn write(file: &Path, request: &RestartRequest, running: &[String]) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut opened = std::fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(file)?;
    let content = json!({ "session": request.session, "reason": request.reason, "running": running });
    opened.write_all(content.to_string().as_bytes())
}

/// Continues the turns of the server before, and tells the conversation that asked for the restart.
pub(super) fn take_over(sessions: &ServedSessions, run_folder: &Path, workspace: &Path) {
    let file = handover_file(run_folder, workspace);
    let Ok(content) = std::fs::read(&file) else { return };
    // First: a conversation that makes the server fail must not do so again and again.
    std::fs::remove_file(&file).ok();
    let content: Value = serde_json::from_slice(&content).unwrap_or_default();
    let reason = content["reason"].as_str().unwrap_or_default().to_owned();
    let running: Vec<String> = content["running"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    let asked = content["session"].as_str().map(str::to_owned).filter(|session| !running.contains(session));
    let sessions = sessions.clone();
    tokio::spawn(async move {
        for session in &running {
            let text = format!("[The server was restarted: {reason}] Your turn was cut off. Continue it: do not repeat what is done.");
            let (sessions, session) = (sessions.clone(), session.clone());
            tokio::spawn(async move { sessions.ask(&session, text, None).await });
        }
        if let Some(session) = asked {
            // A conversation that is gone needs no message.
            sessions.announce(&session, format!("[The server was restarted: {reason}]")).await.ok();
        }
    });
}

/// Replaces this process by a new one with the same arguments, on the same address.
pub(super) fn exec(address: Option<SocketAddr>) -> Failure {
    let program = std::env::current_exe().unwrap_or_else(|_| "haft".into());
    let error = Command::new(program).args(arguments(std::env::args_os().skip(1), address)).exec();
    Failure::failed("execution_error", format!("the server ended, and cannot be started again: {error}")).help("start `haft serve` again")
}

/// The arguments with the address that was listened on: a page finds the server where it was.
fn arguments(given: impl Iterator<Item = OsString>, address: Option<SocketAddr>) -> Vec<OsString> {
    let (mut arguments, mut skips) = (Vec::new(), false);
    for argument in given {
        let text = argument.to_string_lossy();
        if std::mem::take(&mut skips) || text.starts_with("--listen=") {
            continue;
        }
        skips = text == "--listen";
        if !skips {
            arguments.push(argument);
        }
    }
    if let Some(address) = address {
        arguments.extend(["--listen".into(), address.to_string().into()]);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarted_server_listens_where_it_was() {
        let address = Some("127.0.0.1:4321".parse().unwrap());
        for given in ["serve", "serve --listen 127.0.0.1:0", "serve --listen=127.0.0.1:0", "serve --listen 127.0.0.1:0 --json"] {
            let arguments = arguments(given.split(' ').map(OsString::from), address);
            let text: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
            let json = if given.ends_with("--json") { " --json" } else { "" };
            assert_eq!(text.join(" "), format!("serve{json} --listen 127.0.0.1:4321"), "{given}");
        }
    }
}
