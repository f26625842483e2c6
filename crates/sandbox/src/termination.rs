//! Termination of a whole run: first by request, then by force. The kernel ends all processes of a PID namespace with its init
//! process; when that is done can be seen only by watching the init process.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

/// Bounds the wait for a process to stop; it takes microseconds unless the kernel blocks it.
const CHECKS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(1);
const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };
/// Pause between two checks for living processes.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Asks every process of a PID namespace to end, given the parent of its init process, and kills those left after the grace
/// period. The init process then reports how the command ended; when this returns, all are gone.
pub(crate) fn end(process: u32, grace: Duration) -> io::Result<()> {
    let Some(init) = children(process).first().copied() else { return kill(process) };
    // Stopped until the end, so that it does not exit, and end all others with it, as soon as the command obeys.
    let Some(handle) = child_of(process, init) else { return kill(process) };
    ignore_gone(rustix::process::pidfd_send_signal(&handle, Signal::STOP))?;
    // A shell at a terminal ignores SIGTERM, but ends on SIGHUP.
    request_exit(init, Signal::TERM, grace / 2)?;
    request_exit(init, Signal::HUP, grace / 2)?;
    for child in living(init) {
        send(init, child, &[Signal::KILL])?;
    }
    ignore_gone(rustix::process::pidfd_send_signal(&handle, Signal::CONT))?;
    wait(&handle).or_else(|_| kill(process))
}

/// Returns when all have ended, or after the timeout. Processes started later do the cleanup, and get no signal.
fn request_exit(init: u32, signal: Signal, timeout: Duration) -> io::Result<()> {
    // Parents before children: a parent whose child ends first would take that for the end of its work.
    for child in living(init) {
        // A stopped process handles no signal until it continues.
        send(init, child, &[signal, Signal::CONT])?;
    }
    let deadline = Instant::now() + timeout;
    while !living(init).is_empty() && Instant::now() < deadline {
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Sends signals to a process if it is still a child of this parent, or of the init process because the parent has ended: its
/// PID may have been reused.
fn send(init: u32, (parent, process): (u32, u32), signals: &[Signal]) -> io::Result<()> {
    let Some(handle) = child_of(parent, process).or_else(|| child_of(init, process)) else { return Ok(()) };
    signals.iter().try_for_each(|signal| ignore_gone(rustix::process::pidfd_send_signal(&handle, *signal)))
}

/// Kills a process and its children, and waits until the children are gone.
pub(crate) fn kill(process: u32) -> io::Result<()> {
    let Some(pid) = pid(process) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{process} is no valid PID")));
    };
    // Stopped first, so that it starts no child after they are listed.
    ignore_gone(rustix::process::kill_process(pid, Signal::STOP))?;
    wait_until_stopped(process);
    let children: Vec<OwnedFd> = children(process).into_iter().filter_map(|child| child_of(process, child)).collect();
    for child in &children {
        ignore_gone(rustix::process::pidfd_send_signal(child, Signal::KILL))?;
    }
    ignore_gone(rustix::process::kill_process(pid, Signal::KILL))?;
    children.iter().try_for_each(wait)
}

fn pid(process: u32) -> Option<Pid> {
    i32::try_from(process).ok().and_then(Pid::from_raw)
}

fn ignore_gone(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn wait_until_stopped(process: u32) {
    for _ in 0..CHECKS {
        if matches!(state(process), None | Some(('T' | 'Z' | 'X', _))) {
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// State character and parent of a process; `None` if there is no such process.
fn state(process: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut words = stat.rsplit_once(") ")?.1.split_whitespace();
    Some((words.next()?.chars().next()?, words.next()?.parse().ok()?))
}

/// Whether a process has not ended. Zombies have, and stay for good where the init process of a container does not reap orphans.
pub(crate) fn is_alive(process: u32) -> bool {
    matches!(state(process), Some((ch, _)) if !matches!(ch, 'Z' | 'X'))
}

/// Living descendants of a process, each after its parent's PID.
fn living(init: u32) -> Vec<(u32, u32)> {
    let (mut descendants, mut parents) = (Vec::new(), vec![init]);
    while let Some(parent) = parents.pop() {
        for child in children(parent) {
            if is_alive(child) {
                descendants.push((parent, child));
                parents.push(child);
            }
        }
    }
    descendants
}

/// Children of a process: those of each of its threads.
fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u32>>()).collect()
}

/// Handle of a process, if it is a child of this parent.
fn child_of(parent: u32, process: u32) -> Option<OwnedFd> {
    let handle = rustix::process::pidfd_open(pid(process)?, PidfdFlags::empty()).ok()?;
    matches!(state(process), Some((_, actual)) if actual == parent).then_some(handle)
}

fn wait(child: &OwnedFd) -> io::Result<()> {
    let mut watched = [PollFd::new(child, PollFlags::IN)];
    match rustix::event::poll(&mut watched, Some(&PATIENCE))? {
        0 => Err(io::Error::new(io::ErrorKind::TimedOut, "a process was killed and is still there after 5 seconds")),
        _ => Ok(()),
    }
}
