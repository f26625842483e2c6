//! Programs that capture: run without a shell, in a clean environment, with a bound on time and output.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use haft_contract::{ErrorKind, ToolError};
use haft_text::display;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// Bytes of a picture or a film.
const MAX_OUTPUT: u64 = 24 << 20;
/// Bytes of the explanation of a program that failed.
const MAX_ERROR: u64 = 64 << 10;
/// Variables that a program needs to reach the screen and its own libraries.
const PASSED: &[&str] =
    &["PATH", "HOME", "LANG", "TZ", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];

/// The first of these programs that is installed.
pub(super) fn installed(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    names.iter().find_map(|name| std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file()))
}

/// Runs a program to its end and returns its output. It ends with the call.
pub(super) async fn run(program: &PathBuf, arguments: &[String], input: &[u8], limit: Duration) -> Result<Vec<u8>, ToolError> {
    let name = program.display().to_string();
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(PASSED.iter().filter_map(|name| std::env::var_os(name).map(|value| (name, value))));
    // Its descendants are of its group, and end with it.
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).process_group(0);
    let mut child = command.spawn().map_err(|error| ToolError::execution(format!("{name} cannot be started: {error}")))?;
    let _group = GroupGuard(child.id());
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let work = async {
        let write = async {
            if let Some(mut stdin) = stdin {
                stdin.write_all(input).await.ok();
            }
        };
        let ((), output, complaint) = tokio::join!(write, read(stdout, MAX_OUTPUT), read(stderr, MAX_ERROR));
        (child.wait().await, output, complaint)
    };
    let late = |_| ToolError::new(ErrorKind::Timeout, format!("{name} took longer than {} s, and was ended.", limit.as_secs()));
    let (status, output, complaint) = tokio::time::timeout(limit, work).await.map_err(late)?;
    if output.len() as u64 >= MAX_OUTPUT {
        return Err(ToolError::new(ErrorKind::FileTooLarge, format!("{name} gave more than {} MB. Ask for less.", MAX_OUTPUT >> 20)));
    }
    match status {
        Ok(status) if status.success() => Ok(output),
        Ok(status) => {
            let why = String::from_utf8_lossy(&complaint);
            let last = display::escape_line(&display::shorten(why.trim().lines().last().unwrap_or_default(), 300)).into_owned();
            Err(ToolError::execution(format!("{name} failed ({status}): {last}")))
        }
        Err(error) => Err(ToolError::execution(format!("{name} cannot be waited for: {error}"))),
    }
}

async fn read(stream: Option<impl AsyncRead + Unpin>, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(most).read_to_end(&mut bytes).await.ok();
    }
    bytes
}

/// Ends a process group.
struct GroupGuard(Option<u32>);

impl Drop for GroupGuard {
    fn drop(&mut self) {
        let group = self.0.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(group) = group {
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
        }
    }
}
