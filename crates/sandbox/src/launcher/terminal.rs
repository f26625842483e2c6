//! A session of its own for a command, with the terminal on standard input as its controlling terminal.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::process::{self, Pid};

use super::step::{self, StepFailure, WAITER, drop_descriptors, exec_failure};
use crate::environment;

/// Takes the terminal and executes the command.
pub(super) fn run(arguments: &[OsString]) -> Result<i32, StepFailure> {
    let (name, arguments) = step::command("terminal", arguments)?;
    take()?;
    drop_descriptors();
    Err(exec_failure(name, &step::program(name, arguments, environment::carried(env::vars_os())).exec()))
}

/// Makes the terminal on standard input the controlling terminal of this process, in a new session.
pub(super) fn take() -> Result<(), StepFailure> {
    lead_session().map_err(|error| format!("cannot start a session: {error}"))?;
    process::ioctl_tiocsctty(io::stdin()).map_err(|error| format!("cannot take the terminal: {error}").into())
}

fn lead_session() -> io::Result<()> {
    if process::setsid().is_ok() {
        return Ok(());
    }
    // A process group leader may not start a session. It cannot join the group of its parent, which may have no number in this
    // PID namespace. So it joins the group of a waiting process, which ends at once.
    let mut other = Command::new(env::current_exe()?).arg(WAITER).stdin(Stdio::piped()).process_group(0).spawn()?;
    let joined = process::setpgid(None::<Pid>, Some(Pid::from_child(&other))).and_then(|()| process::setsid());
    drop(other.stdin.take());
    other.wait()?;
    // Also refused to a session leader, which is fine; a process that leads no session gets no terminal.
    joined.map(drop).or_else(|error| if error == Errno::PERM { Ok(()) } else { Err(error.into()) })
}

/// Waits until its standard input is closed.
pub(super) fn wait() -> Result<i32, StepFailure> {
    io::copy(&mut io::stdin(), &mut io::sink()).map_err(|error| format!("cannot wait: {error}"))?;
    Ok(0)
}
