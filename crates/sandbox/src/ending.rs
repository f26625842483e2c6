//! Ending a run whole. The kernel takes all processes of a namespace with the first one, but tells nobody outside when it is
//! done, except those who watch that first one.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

/// A process stops within microseconds; this bounds the wait for one that the kernel holds.
const LOOKS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(1);
const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// Kills a process and its children, and waits until the children are gone.
pub(crate) fn kill(process: u32) -> io::Result<()> {
    let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{process} is no number of a process")));
    };
    // Stopped first, so that it makes no child between the look at them and its end.
    ignore_gone(rustix::process::kill_process(pid, Signal::STOP))?;
    wait_until_stopped(process);
    let children = children(process);
    for child in &children {
        ignore_gone(rustix::process::pidfd_send_signal(child, Signal::KILL))?;
    }
    ignore_gone(rustix::process::kill_process(pid, Signal::KILL))?;
    children.iter().try_for_each(wait)
}

fn ignore_gone(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn wait_until_stopped(process: u32) {
    for _ in 0..LOOKS {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        if matches!(state, None | Some('T' | 'Z' | 'X')) {
            return;
        }
        thread::sleep(PAUSE);
    }
}

fn children(process: u32) -> Vec<OwnedFd> {
    let list = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    let pids = list.split_whitespace().filter_map(|word| Pid::from_raw(word.parse().ok()?));
    pids.filter_map(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()).collect()
}

fn wait(child: &OwnedFd) -> io::Result<()> {
    let mut watched = [PollFd::new(child, PollFlags::IN)];
    match rustix::event::poll(&mut watched, Some(&PATIENCE))? {
        0 => Err(io::Error::new(io::ErrorKind::TimedOut, "a process was killed and is still there after 5 seconds")),
        _ => Ok(()),
    }
}
