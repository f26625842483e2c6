use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::WaitOptions;
use rustix::thread::{CapabilitySet, CapabilitySets};
use serde::{Deserialize, Serialize};

use super::relay::{self, Relay};
use super::stage::{self, Failure, drop_descriptors, join, not_run, settings};
use super::terminal;
use crate::environment;
use crate::landlock::{self, Rules};
use crate::limits::{self, Held};
use crate::policy::Limits;
use crate::seccomp::{self, Sockets};

/// What the stage inside has to take away before it becomes the command.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Inner {
    pub(crate) limits: Limits,
    /// What a control group limits already.
    pub(crate) held: Held,
    pub(crate) sockets: Sockets,
    pub(crate) relay: Option<Relay>,
    pub(crate) landlock: Option<Rules>,
    /// The control groups to join, where there is no outer stage to do it.
    pub(crate) doors: Vec<PathBuf>,
    /// It is the first process of its namespace and stays; elsewhere it becomes the command.
    pub(crate) first: bool,
    /// The command is given the terminal that the standard input is.
    pub(crate) terminal: bool,
}

/// The filter comes last: the steps before it need calls that it refuses.
pub(super) fn run(arguments: &[OsString]) -> Result<i32, Failure> {
    let (inner, rest): (Inner, _) = settings(arguments)?;
    let (name, arguments) = rest.split_first().ok_or_else(|| "the inner stage was given nothing to run".to_owned())?;
    if nobody_listens() {
        return Err("whoever started it is gone".to_owned().into());
    }
    join(&inner.doors)?;
    if inner.terminal {
        terminal::take()?;
    }
    drop_descriptors();
    if let Some(relay) = &inner.relay {
        relay::start(relay)?;
    }
    limits::apply(&inner.limits, inner.held)?;
    if !inner.first {
        drop_capabilities().map_err(|error| format!("cannot give up capabilities: {error}"))?;
    }
    rustix::thread::set_no_new_privs(true).map_err(|error| format!("cannot give up new privileges: {error}"))?;
    if let Some(rules) = &inner.landlock {
        landlock::restrict(rules)?;
    }
    seccomp::install(inner.sockets)?;
    let mut program = stage::program(name, arguments, environment::carried(env::vars_os()));
    if !inner.first {
        return Err(not_run(name, &program.exec()));
    }
    let started = program.spawn().map_err(|error| not_run(name, &error))?;
    reap(started.id())
}

/// Whether the other end of the output is closed already. Bubblewrap ends with its parent from before this stage on, but does not
/// notice a parent that was gone by then.
fn nobody_listens() -> bool {
    let output = rustix::stdio::stdout();
    let mut watched = [PollFd::new(&output, PollFlags::empty())];
    let seen = rustix::event::poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    seen.is_ok() && watched[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// What bubblewrap does elsewhere. Without new privileges, root does not get them back by starting a program.
fn drop_capabilities() -> rustix::io::Result<()> {
    let all = (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit));
    for capability in all.take_while(|capability| rustix::thread::capability_is_in_bounding_set(*capability).is_ok()) {
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // An ordinary person may not, and has none that could be left.
            Err(Errno::PERM) => break,
            other => other?,
        }
    }
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}

/// Waits for the command, and for every process that has lost its parent meanwhile.
fn reap(command: u32) -> Result<i32, Failure> {
    loop {
        let ended = rustix::process::wait(WaitOptions::empty()).map_err(|error| format!("cannot wait for the command: {error}"))?;
        if let Some((pid, status)) = ended
            && pid.as_raw_nonzero().get().unsigned_abs() == command
        {
            return Ok(status.exit_status().unwrap_or_else(|| 128 + status.terminating_signal().unwrap_or_default()));
        }
    }
}
