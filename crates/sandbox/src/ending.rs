//! Ending a run whole: asked first, then made to. The kernel takes all processes of a namespace with the first one, but tells
//! nobody outside when it is done, except those who watch that first one.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

/// A process stops within microseconds; this bounds the wait for one that the kernel holds.
const LOOKS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(1);
const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };
/// Between two looks at who has not ended yet.
const BETWEEN: Duration = Duration::from_millis(10);

/// Asks every process of a namespace to end, given the process that has the first one as its child, and kills those that are
/// left after the grace. The first one then says how the command ended, and when this returns all are gone.
pub(crate) fn end(process: u32, grace: Duration) -> io::Result<()> {
    let Some(first) = children(process).first().copied() else { return kill(process) };
    // Held until the end, so that it does not leave, and take all others along, as soon as the command obeys.
    let Some(handle) = child_of(process, first) else { return kill(process) };
    ignore_gone(rustix::process::pidfd_send_signal(&handle, Signal::STOP))?;
    // A shell at a terminal does not hear the first, but knows what it means when that hangs up.
    ask(first, Signal::TERM, grace / 2)?;
    ask(first, Signal::HUP, grace / 2)?;
    for family in living(first) {
        send(first, family, &[Signal::KILL])?;
    }
    ignore_gone(rustix::process::pidfd_send_signal(&handle, Signal::CONT))?;
    wait(&handle).or_else(|_| kill(process))
}

/// Returns when all have ended, or after this time. Those that are born later are what someone clears up with, and not asked.
fn ask(first: u32, signal: Signal, patience: Duration) -> io::Result<()> {
    // Parents before their children: one whose child ends first would take that for the end of its work.
    for family in living(first) {
        // One that is stopped hears nothing until it goes on.
        send(first, family, &[signal, Signal::CONT])?;
    }
    let deadline = Instant::now() + patience;
    while !living(first).is_empty() && Instant::now() < deadline {
        thread::sleep(BETWEEN);
    }
    Ok(())
}

/// Sends to a process if it still is a child of this parent, or of the first one because the parent has ended: its number may
/// have gone to another one.
fn send(first: u32, (parent, process): (u32, u32), signals: &[Signal]) -> io::Result<()> {
    let Some(handle) = child_of(parent, process).or_else(|| child_of(first, process)) else { return Ok(()) };
    signals.iter().try_for_each(|signal| ignore_gone(rustix::process::pidfd_send_signal(&handle, *signal)))
}

/// Kills a process and its children, and waits until the children are gone.
pub(crate) fn kill(process: u32) -> io::Result<()> {
    let Some(pid) = pid(process) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{process} is no number of a process")));
    };
    // Stopped first, so that it makes no child between the look at them and its end.
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
    for _ in 0..LOOKS {
        if matches!(state(process), None | Some(('T' | 'Z' | 'X', _))) {
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// What a process does, as the kernel's letter, and who its parent is; `None` if there is none.
fn state(process: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut words = stat.rsplit_once(") ")?.1.split_whitespace();
    Some((words.next()?.chars().next()?, words.next()?.parse().ok()?))
}

/// Whether a process has not ended. One that nobody has waited for has, and may stay so for ever where the first process of a
/// container does not look after orphans.
pub(crate) fn is_living(process: u32) -> bool {
    matches!(state(process), Some((letter, _)) if !matches!(letter, 'Z' | 'X'))
}

/// All beneath a process that have not ended, each with its parent.
fn living(first: u32) -> Vec<(u32, u32)> {
    let (mut found, mut parents) = (Vec::new(), vec![first]);
    while let Some(parent) = parents.pop() {
        for child in children(parent) {
            if is_living(child) {
                found.push((parent, child));
                parents.push(child);
            }
        }
    }
    found
}

/// Each thread has children of its own.
fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u32>>()).collect()
}

/// A handle of a process, if it is a child of this parent.
fn child_of(parent: u32, process: u32) -> Option<OwnedFd> {
    let handle = rustix::process::pidfd_open(pid(process)?, PidfdFlags::empty()).ok()?;
    matches!(state(process), Some((_, found)) if found == parent).then_some(handle)
}

fn wait(child: &OwnedFd) -> io::Result<()> {
    let mut watched = [PollFd::new(child, PollFlags::IN)];
    match rustix::event::poll(&mut watched, Some(&PATIENCE))? {
        0 => Err(io::Error::new(io::ErrorKind::TimedOut, "a process was killed and is still there after 5 seconds")),
        _ => Ok(()),
    }
}
