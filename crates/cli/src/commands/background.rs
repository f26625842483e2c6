//! `haft call --background`: a command ends with the process that started it, so a second process, the background runner, makes
//! the call and stays. The process that the user started waits only for the result of the call.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use haft_contract::Arguments;
use haft_engine::Session;
use rustix::process::{Pid, Signal};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::process::{Child, Command};

use crate::commands::block_on;
use crate::commands::interrupt::listen;
use crate::failure::{Exit, Failure};
use crate::signals::Signals;

/// Tells the background runner the socket for the exit code. Not a setting, so not named like one.
const RUNNER_SOCKET: &str = "__HAFT_ANSWER_AT";
/// Parameters that let a command continue after its call.
const BACKGROUND_PARAMETERS: &[&str] = &["background", "run_in_background", "runInBackground", "yield_ms", "yieldMs"];

/// Whether a command may continue after this call.
pub(crate) fn is_requested(arguments: &Arguments) -> bool {
    let is_set = |value: &Value| !matches!(value, Value::Null | Value::Bool(false)) && value != "false";
    let requests =
        |object: &serde_json::Map<String, Value>| BACKGROUND_PARAMETERS.iter().filter_map(|parameter| object.get(*parameter)).any(is_set);
    match arguments {
        Arguments::Json(Value::Object(object)) => requests(object),
        Arguments::Json(_) => false,
        Arguments::Text(text) => serde_json::from_str(text).is_ok_and(|value: Value| value.as_object().is_some_and(requests)),
    }
}

/// The socket of the waiting process, if this process is the background runner.
pub(crate) fn runner_socket() -> Option<PathBuf> {
    std::env::var_os(RUNNER_SOCKET).map(PathBuf::from)
}

/// Starts the background runner with the same arguments, and waits for the result of its call.
pub(crate) fn spawn_runner(folder: &Path, input: Option<&str>) -> Result<Exit, Failure> {
    let failed = |error: io::Error| Failure::failed("execution_error", format!("the command cannot run in the background: {error}"));
    block_on(async {
        let socket = ExitSocket::bind(folder).map_err(failed)?;
        let mut signals = listen()?;
        let child = spawn(&socket.path, input).await.map_err(failed)?;
        socket.wait(child, &mut signals).await.map_err(failed)
    })
}

/// The socket at which the background runner reports the exit code of its call. Removed when dropped.
struct ExitSocket {
    path: PathBuf,
    listener: UnixListener,
}

impl ExitSocket {
    fn bind(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(format!("{}-call.sock", std::process::id()));
        let listener = UnixListener::bind(&path)?;
        Ok(Self { path, listener })
    }

    /// The exit code that the runner reports, or with which it ends if no command continues.
    async fn wait(&self, mut child: Child, signals: &mut Signals) -> io::Result<Exit> {
        loop {
            tokio::select! {
                accepted = self.listener.accept() => return Ok(exit(i32::from(accepted?.0.read_u8().await?))),
                ended = child.wait() => return Ok(exit(ended?.code().unwrap_or(1))),
                // Ctrl-C reaches both processes.
                stopped = signals.next() => if stopped != Exit::Interrupted {
                    forward_signal(&child, stopped);
                }
            }
        }
    }
}

fn forward_signal(child: &Child, stopped: Exit) {
    let signal = if stopped == Exit::HungUp { Signal::HUP } else { Signal::TERM };
    if let Some(pid) = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)) {
        // It fails only if the runner has ended.
        rustix::process::kill_process(pid, signal).ok();
    }
}

impl Drop for ExitSocket {
    fn drop(&mut self) {
        // A socket that stays behind refuses connections.
        std::fs::remove_file(&self.path).ok();
    }
}

async fn spawn(socket: &Path, input: Option<&str>) -> io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1)).env(RUNNER_SOCKET, socket);
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::inherit() });
    let mut child = command.spawn()?;
    if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
        stdin.write_all(input.as_bytes()).await?;
    }
    Ok(child)
}

fn exit(code: i32) -> Exit {
    let known = [Exit::Success, Exit::Usage, Exit::HungUp, Exit::Interrupted, Exit::Terminated];
    known.into_iter().find(|exit| i32::from(exit.code()) == code).unwrap_or(Exit::Failed)
}

/// Reports the exit code of the call, and waits until every command of the session has ended, or a signal arrives.
pub(crate) async fn wait(socket: &Path, exit: Exit, session: &Session) -> Result<(), Failure> {
    let jobs = session.host().processes().jobs(session.id());
    let ended = async {
        for job in &jobs {
            job.wait().await;
        }
    };
    if jobs.iter().all(|job| job.status().end.is_some()) {
        ended.await;
        return Ok(());
    }
    let failed = |error: io::Error| Failure::failed("execution_error", format!("the terminal cannot be left: {error}"));
    detach_from_terminal().map_err(failed)?;
    // The waiting process may have been killed.
    if let Ok(mut stream) = UnixStream::connect(socket).await {
        stream.write_u8(exit.code()).await.map_err(failed)?;
    }
    let mut signals = listen()?;
    tokio::select! {
        () = ended => {}
        _ = signals.next() => {}
    }
    Ok(())
}

/// Detaches from the terminal: nothing is written there any more, and closing it does not end this process.
fn detach_from_terminal() -> io::Result<()> {
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    // It fails only for the leader of a group; then it stays in that session.
    rustix::process::setsid().ok();
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn background_is_requested_by_the_arguments() {
        for (arguments, expected) in [
            (json!({"background": true}), true),
            (json!({"background": "true"}), true),
            (json!({"run_in_background": true}), true),
            (json!({"yield_ms": 100}), true),
            (json!({"background": false, "yield_ms": null}), false),
            (json!({"background": "false"}), false),
            (json!({"command": "background"}), false),
            (json!(["background"]), false),
        ] {
            assert_eq!(is_requested(&Arguments::Text(arguments.to_string())), expected, "{arguments}");
            assert_eq!(is_requested(&Arguments::Json(arguments.clone())), expected, "{arguments}");
        }
        assert!(!is_requested(&Arguments::Text("{\"background\": true".into())));
    }

    #[test]
    fn exit_codes_of_the_runner_map_to_exits() {
        for end in [Exit::Success, Exit::Failed, Exit::Usage, Exit::HungUp, Exit::Interrupted, Exit::Terminated] {
            assert_eq!(exit(i32::from(end.code())), end);
        }
        assert_eq!(exit(77), Exit::Failed);
    }
}
