//! A terminal of one's own: a session, and the terminal on the standard input as the one that controls it.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;

use rustix::process::{self, Pid};

use super::stage::{self, Failure, drop_descriptors, not_run};
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

fn lead_session() -> rustix::io::Result<()> {
    let this = process::getpid();
    if process::getsid(None)? == this {
        return Ok(());
    }
    // The leader of a group may not begin a session, so it joins its parent's group for a moment.
    if process::getpgrp() == this {
        let parent = process::getppid().and_then(|parent| process::getpgid(Some(parent)).ok());
        process::setpgid(None::<Pid>, parent)?;
    }
    process::setsid().map(drop)
}
