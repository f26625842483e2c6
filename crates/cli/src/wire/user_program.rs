//! Programs that the configuration of the user names: they run as the user, outside the sandbox, for one answer.

use std::process::{ExitStatus, Stdio};

use tokio::io::AsyncReadExt;
use tokio::process::Command;

/// What a program wrote, at most as many bytes as were asked for, and how it ended.
pub(super) struct ProgramOutput {
    pub(super) status: ExitStatus,
    pub(super) bytes: Vec<u8>,
}

/// Runs a program in the home folder, so that no program of a workspace is found first. It ends with the future. One that writes more than
/// `most_bytes` is not read further.
pub(super) async fn run_user_program(program: &str, arguments: &[String], most_bytes: u64) -> Result<ProgramOutput, String> {
    let cannot = |error: std::io::Error| format!("'{program}' cannot be run: {error}");
    let home = std::env::home_dir().filter(|home| home.is_dir()).unwrap_or_else(|| "/".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(home).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().map_err(cannot)?;
    let mut bytes = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(most_bytes).read_to_end(&mut bytes).await.map_err(cannot)?;
    }
    let status = child.wait().await.map_err(cannot)?;
    Ok(ProgramOutput { status, bytes })
}
