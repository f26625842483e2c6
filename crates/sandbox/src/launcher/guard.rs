//! The guard of a server that runs outside a sandbox: ends it, with everything that it started, when the host closes its input.
//!
//! The host may be killed at any moment, and the kernel closes its end of the pipe then as well. A server should end by itself at the
//! end of its input; one that does not is ended here. Processes that left their group or session are found too: they become children
//! of the guard when their parents end.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

use super::step::{self, StepFailure, drop_descriptors, exec_failure};
use crate::environment;

/// How long a server may take to end by itself at the end of its input, and then after SIGTERM.
const OWN_TIME: Duration = Duration::from_millis(500);
const TERM_TIME: Duration = Duration::from_millis(500);
/// Killed processes may take 2 seconds in all to end.
const MAX_SCANS: u32 = 400;
const SCAN_INTERVAL: Duration = Duration::from_millis(5);

/// Runs a program until it ends or its input is closed.
pub(super) fn run(arguments: &[OsString]) -> Result<i32, StepFailure> {
    let (program, arguments) = step::command("guard", arguments)?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(|error| format!("cannot adopt processes: {error}"))?;
    drop_descriptors();
    let spawned = step::program(program, arguments, environment::carried(env::vars_os())).spawn();
    let mut child = spawned.map_err(|error| exec_failure(program, &error))?;
    let ended = watch(&mut child);
    kill_children(&mut child);
    ended.map(exit_code).map_err(|error| format!("cannot watch the server: {error}").into())
}

fn exit_code(status: Option<ExitStatus>) -> i32 {
    status.map_or(0, |status| status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()))
}

/// Waits for the end of the child, which is asked to end when the host has closed its input. `None` if it did not.
fn watch(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let own = rustix::process::pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let input = io::stdin();
    loop {
        // A closed end is reported without being asked for.
        let mut watched = [PollFd::new(&own, PollFlags::IN), PollFd::new(&input, PollFlags::empty())];
        match rustix::event::poll(&mut watched, None) {
            Err(Errno::INTR) => continue,
            other => other?,
        };
        if !watched[0].revents().is_empty() {
            return child.wait().map(Some);
        }
        if !watched[1].revents().is_empty() {
            break;
        }
    }
    for (signal, time) in [(None, OWN_TIME), (Some(Signal::TERM), TERM_TIME)] {
        if let Some(signal) = signal {
            rustix::process::pidfd_send_signal(&own, signal).ok();
        }
        let end = Instant::now() + time;
        while let Some(rest) = end.checked_duration_since(Instant::now()) {
            let rest = Timespec::try_from(rest).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
            let mut watched = [PollFd::new(&own, PollFlags::IN)];
            if rustix::event::poll(&mut watched, Some(&rest)).is_ok_and(|ready| ready > 0) {
                return child.wait().map(Some);
            }
        }
    }
    Ok(None)
}

/// Kills and reaps every child, the adopted ones too, until there is none.
fn kill_children(child: &mut Child) {
    child.kill().ok();
    for _ in 0..MAX_SCANS {
        for pid in children() {
            rustix::process::kill_process(pid, Signal::KILL).ok();
        }
        match rustix::process::wait(WaitOptions::NOHANG) {
            Err(Errno::CHILD) => return,
            Ok(Some(_)) => {}
            _ => thread::sleep(SCAN_INTERVAL),
        }
    }
}

/// The direct children of this process, which has one thread.
fn children() -> Vec<Pid> {
    let own = std::process::id();
    let text = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}
