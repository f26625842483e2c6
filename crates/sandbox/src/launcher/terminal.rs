//! A terminal of one's own: a session, and the terminal on the standard input as the one that controls it.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::process::{self, Pid};

use super::stage::{self, Failure, WAITER, drop_descriptors, not_run};
use crate::environment;

/// Takes the terminal and becomes the command, which is what the arguments name.
pub(super) fn run(arguments: &[OsString]) -> Result<i32, Failure> {
    let (name, arguments) = arguments.split_first().ok_or_else(|| "the stage of the terminal was given nothing to run".to_owned())?;
    take()?;
    drop_descriptors();
    Err(not_run(name, &stage::program(name, arguments, environment::carried(env::vars_os())).exec()))
}

/// Makes the terminal on the standard input the one of this process, in a session of its own.
pub(super) fn take() -> Result<(), Failure> {
    lead_session().map_err(|error| format!("cannot begin a session: {error}"))?;
    process::ioctl_tiocsctty(io::stdin()).map_err(|error| format!("cannot take the terminal: {error}").into())
}

fn lead_session() -> io::Result<()> {
    if process::setsid().is_ok() {
        return Ok(());
    }
    // The leader of a group may not begin a session. Which group its parent is in cannot be asked for: seen from another
    // namespace it has no number. So it joins the group of one that does nothing, which goes at once.
    let mut other = Command::new(env::current_exe()?).arg(WAITER).stdin(Stdio::piped()).process_group(0).spawn()?;
    let joined = process::setpgid(None::<Pid>, Some(Pid::from_child(&other))).and_then(|()| process::setsid());
    drop(other.stdin.take());
    other.wait()?;
    // Refused as well to one that leads its session already, which is well; what leads none is not given the terminal.
    joined.map(drop).or_else(|error| if error == Errno::PERM { Ok(()) } else { Err(error.into()) })
}

/// Waits until nobody needs its group.
pub(super) fn wait() -> Result<i32, Failure> {
    io::copy(&mut io::stdin(), &mut io::sink()).map_err(|error| format!("cannot wait: {error}"))?;
    Ok(0)
}
