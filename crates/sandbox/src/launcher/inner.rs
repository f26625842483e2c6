use std::env;
use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use haft_contract::CommandLimits;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, WaitOptions};
use rustix::thread::{CapabilitySet, CapabilitySets};
use serde::{Deserialize, Serialize};

use super::mover::{self, FolderCalls};
use super::relay::{self, Relay, StartedRelay};
use super::step::{self, StepFailure, drop_descriptors, exec_failure, join_cgroups, settings};
use super::terminal;
use crate::environment;
use crate::landlock::{self, LandlockRules};
use crate::limits::{self, CgroupLimits};
use crate::seccomp::{self, Sockets, Tracing};

/// Settings of the step that runs inside: the restrictions to apply before the command runs.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InnerStep {
    pub(crate) limits: CommandLimits,
    /// Limits that a control group enforces already.
    pub(crate) cgroup_limits: CgroupLimits,
    pub(crate) sockets: Sockets,
    pub(crate) tracing: Tracing,
    pub(crate) relay: Option<Relay>,
    pub(crate) landlock: Option<LandlockRules>,
    /// Files of the control groups to join, where no outer step does it.
    pub(crate) cgroup_files: Vec<PathBuf>,
    /// The command sees an overlay, on which the kernel renames no folders.
    pub(crate) moves_folders: bool,
    /// The socket at which the host is asked to remove repositories.
    pub(crate) removals: Option<PathBuf>,
    /// This process is the init of its PID namespace and stays; elsewhere it executes the command itself.
    pub(crate) is_init: bool,
    /// Standard input is a terminal, which becomes the controlling terminal of the command.
    pub(crate) terminal: bool,
}

/// Applies the restrictions and runs the command. The system call filter comes last: the rest needs calls that it refuses.
pub(super) fn run(arguments: &[OsString]) -> Result<i32, StepFailure> {
    let (inner, rest): (InnerStep, _) = settings(arguments)?;
    let (name, arguments) = step::command("inner", rest)?;
    if parent_is_gone() {
        return Err("the parent process has ended".to_owned().into());
    }
    join_cgroups(&inner.cgroup_files)?;
    if inner.terminal {
        terminal::take()?;
    }
    drop_descriptors();
    let relay = inner.relay.as_ref().map(relay::start).transpose()?;
    let removals = inner.removals.as_ref().map(UnixStream::connect).transpose();
    let removals = removals.map_err(|error| format!("cannot reach the host for removals: {error}"))?;
    limits::apply(&inner.limits, inner.cgroup_limits)?;
    if !inner.is_init {
        drop_capabilities().map_err(|error| format!("cannot drop capabilities: {error}"))?;
    }
    rustix::thread::set_no_new_privs(true).map_err(|error| format!("cannot set no_new_privs: {error}"))?;
    if let Some(rules) = &inner.landlock {
        landlock::restrict(rules)?;
    }
    seccomp::install(inner.sockets, inner.tracing)?;
    mover::start(FolderCalls { renames: inner.moves_folders, removals })?;
    // It starts while the rest is set up.
    relay.map_or(Ok(()), StartedRelay::wait)?;
    let mut program = step::program(name, arguments, environment::carried(env::vars_os()));
    if !inner.is_init {
        return Err(exec_failure(name, &program.exec()));
    }
    // A command may trace its own processes. It does not count as one of them.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| format!("the launcher cannot shield itself: {error}"))?;
    let started = program.spawn().map_err(|error| exec_failure(name, &error))?;
    reap(started.id())
}

/// Whether the reader of standard output is gone. Bubblewrap ends with its parent, but does not notice a parent that ended
/// before it asked the kernel for that.
fn parent_is_gone() -> bool {
    let output = rustix::stdio::stdout();
    let mut watched = [PollFd::new(&output, PollFlags::empty())];
    let seen = rustix::event::poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    seen.is_ok() && watched[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// What bubblewrap does where it is used. With no_new_privs set, root does not regain them by executing a program.
pub(super) fn drop_capabilities() -> rustix::io::Result<()> {
    let all = (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit));
    for capability in all.take_while(|capability| rustix::thread::capability_is_in_bounding_set(*capability).is_ok()) {
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // An unprivileged user may not, and has none to drop.
            Err(Errno::PERM) => break,
            other => other?,
        }
    }
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}

/// Waits for the command, and reaps orphaned processes meanwhile.
fn reap(command: u32) -> Result<i32, StepFailure> {
    loop {
        let ended = rustix::process::wait(WaitOptions::empty()).map_err(|error| format!("cannot wait for the command: {error}"))?;
        if let Some((pid, status)) = ended
            && pid.as_raw_nonzero().get().unsigned_abs() == command
        {
            return Ok(status.exit_status().unwrap_or_else(|| 128 + status.terminating_signal().unwrap_or_default()));
        }
    }
}
