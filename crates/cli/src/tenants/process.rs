//! A process of a tenant: this program, with the state, the home and the workspace of the tenant in place of the operator's.

use std::process::Stdio;

use tokio::process::Command;

use super::{TenantFolder, TenantRecord, VARIABLE, blob_address};
use crate::arguments::Common;
use crate::failure::Failure;
use crate::wire;

/// Variables that lead to what is the operator's own.
const OPERATORS: [&str; 10] = [
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "GIT_CONFIG_GLOBAL",
    "SSH_AUTH_SOCK",
    "DISPLAY",
    // A program with the queue sees the work of all: a process of a tenant reaches it through the operator's process that started it.
    "HAFT_QUEUE",
];

/// What runs a command of this program for a tenant, whose state is at this address or else in its folder. It ends when its standard input
/// does.
pub(crate) fn command(
    common: &Common,
    (tenant, record): (&TenantFolder, &TenantRecord),
    store: Option<String>,
    word: &str,
) -> Result<Command, Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::failed("execution_error", error.to_string()))?;
    let mut command = Command::new(program);
    command.arg(word).arg("--workspace").arg(&record.workspace).current_dir(&record.workspace);
    command.args(common.passed_on());
    for name in OPERATORS {
        command.env_remove(name);
    }
    command.env(VARIABLE, tenant.path()).env("HAFT_HOME", tenant.state()).env("HOME", tenant.home());
    // The operator's file holds for tenants, where there is one; they have none of their own.
    let file = wire::config_file(common).or_else(|| wire::user_file().ok()).filter(|file| file.exists());
    match file {
        Some(file) => command.env("HAFT_CONFIG", file),
        None => command.env_remove("HAFT_CONFIG"),
    };
    if let Some(address) = store {
        command.env("HAFT_STORE", address);
    }
    if let Some(address) = std::env::var("HAFT_BLOBS").ok().filter(|address| !address.is_empty()) {
        command.env("HAFT_BLOBS", blob_address(&address, &record.route));
    }
    // A group of its own: Ctrl-C at the terminal is for this process, which then ends the others in order.
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).kill_on_drop(true);
    Ok(command)
}
