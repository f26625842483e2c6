//! `haft call` with a command that goes on in the background. A command ends with the process that started it, so that
//! process stays behind: the one that the person started waits only until the call is answered.

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

/// Tells the process that stays where the other one waits for its answer. Not a setting, so not called like one.
const ASKED_AT: &str = "__HAFT_ANSWER_AT";
/// What a call says if its command is to go on.
const WISHES: &[&str] = &["background", "run_in_background", "runInBackground", "yield_ms", "yieldMs"];

/// Whether a command may go on after this call.
pub(crate) fn is_wanted(arguments: &Arguments) -> bool {
    let wishes = |object: &serde_json::Map<String, Value>| {
        WISHES
            .iter()
            .filter_map(|wish| object.get(*wish))
            .any(|value| !matches!(value, Value::Null | Value::Bool(false)) && value != "false")
    };
    match arguments {
        Arguments::Json(Value::Object(object)) => wishes(object),
        Arguments::Json(_) => false,
        Arguments::Text(text) => serde_json::from_str(text).is_ok_and(|value: Value| value.as_object().is_some_and(wishes)),
    }
}

/// Where the process that the person started waits, if this is the one that stays.
pub(crate) fn asked_at() -> Option<PathBuf> {
    std::env::var_os(ASKED_AT).map(PathBuf::from)
}

/// Starts this program again with the same words, and waits until the call is answered.
pub(crate) fn hand_over(folder: &Path, input: Option<&str>) -> Result<Exit, Failure> {
    let failed = |error: io::Error| Failure::failed("execution_error", format!("the command cannot be put into the background: {error}"));
    block_on(async {
        let waiting = Waiting::at(folder).map_err(failed)?;
        let mut signals = listen()?;
        let child = started(&waiting.socket, input).await.map_err(failed)?;
        waiting.answer(child, &mut signals).await.map_err(failed)
    })
}

/// A socket that is gone with this.
struct Waiting {
    socket: PathBuf,
    listener: UnixListener,
}

impl Waiting {
    fn at(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let socket = folder.join(format!("{}-call.sock", std::process::id()));
        let listener = UnixListener::bind(&socket)?;
        Ok(Self { socket, listener })
    }

    /// How the call ended: as the other one says before it stays, or as it ends if nothing goes on.
    async fn answer(&self, mut child: Child, signals: &mut Signals) -> io::Result<Exit> {
        loop {
            tokio::select! {
                accepted = self.listener.accept() => return Ok(exit(i32::from(accepted?.0.read_u8().await?))),
                ended = child.wait() => return Ok(exit(ended?.code().unwrap_or(1))),
                // Ctrl-C reaches both by itself.
                stopped = signals.next() => if stopped != Exit::Interrupted {
                    pass_on(&child, stopped);
                }
            }
        }
    }
}

fn pass_on(child: &Child, stopped: Exit) {
    let signal = if stopped == Exit::HungUp { Signal::HUP } else { Signal::TERM };
    if let Some(pid) = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)) {
        // It fails only if it has ended, which is waited for.
        rustix::process::kill_process(pid, signal).ok();
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // A name at which nobody listens does no harm.
        std::fs::remove_file(&self.socket).ok();
    }
}

async fn started(socket: &Path, input: Option<&str>) -> io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1)).env(ASKED_AT, socket);
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

/// Says how the call ended, and stays until every command of the session has ended, or someone ends this process.
pub(crate) async fn stay(socket: &Path, exit: Exit, session: &Session) -> Result<(), Failure> {
    let jobs = session.host().processes().jobs(session.id());
    let ended = async {
        for job in &jobs {
            job.ended().await;
        }
    };
    if jobs.iter().all(|job| job.status().end.is_some()) {
        ended.await;
        return Ok(());
    }
    let left = |error: io::Error| Failure::failed("execution_error", format!("the terminal cannot be left: {error}"));
    leave_terminal().map_err(left)?;
    // Nobody waits for it any more if the other one was killed: all the same it stays.
    if let Ok(mut stream) = UnixStream::connect(socket).await {
        stream.write_u8(exit.code()).await.map_err(left)?;
    }
    let mut signals = listen()?;
    tokio::select! {
        () = ended => {}
        _ = signals.next() => {}
    }
    Ok(())
}

/// The terminal goes its own way: nothing is written there, and its end does not end this.
fn leave_terminal() -> io::Result<()> {
    let nothing = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)?;
    // It fails only for the leader of a group, which the person's shell made this one; then it stays in that session.
    rustix::process::setsid().ok();
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_says_whether_its_command_may_go_on() {
        for (arguments, wanted) in [
            (json!({"background": true}), true),
            (json!({"background": "true"}), true),
            (json!({"run_in_background": true}), true),
            (json!({"yield_ms": 100}), true),
            (json!({"background": false, "yield_ms": null}), false),
            (json!({"background": "false"}), false),
            (json!({"command": "background"}), false),
            (json!(["background"]), false),
        ] {
            assert_eq!(is_wanted(&Arguments::Text(arguments.to_string())), wanted, "{arguments}");
            assert_eq!(is_wanted(&Arguments::Json(arguments.clone())), wanted, "{arguments}");
        }
        assert!(!is_wanted(&Arguments::Text("{\"background\": true".into())));
    }

    #[test]
    fn every_way_to_end_comes_back() {
        for end in [Exit::Success, Exit::Failed, Exit::Usage, Exit::HungUp, Exit::Interrupted, Exit::Terminated] {
            assert_eq!(exit(i32::from(end.code())), end);
        }
        assert_eq!(exit(77), Exit::Failed);
    }
}
