//! A program and all it starts, as one group that can be ended together.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::process::{Child, Command};

/// How long a group may take to end by itself after it was asked to.
const GRACE: Duration = Duration::from_millis(500);

/// The groups of this process, for the one who must leave without waiting for them.
static LIVE: Mutex<Live> = Mutex::new(Live { leaders: Vec::new(), over: false });

#[derive(Debug)]
struct Live {
    leaders: Vec<Pid>,
    over: bool,
}

fn live() -> MutexGuard<'static, Live> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills every program that this process started through [`LocalProcesses`](crate::LocalProcesses), with all they started,
/// and lets no other start: for a process that is about to exit and waits for nothing.
pub fn end_all_processes() {
    let mut live = live();
    live.over = true;
    for leader in live.leaders.drain(..) {
        kill(leader, Signal::KILL);
    }
}

/// The process group of a child. Dropping it while the child was not reaped kills everything in it.
#[derive(Debug)]
pub(super) struct Group {
    leader: Option<Pid>,
}

impl Group {
    /// Starts a program as the leader of its own group.
    pub(super) fn spawn(command: &mut Command) -> io::Result<(Self, Child)> {
        Self::of(|| command.process_group(0).kill_on_drop(true).spawn(), Child::id)
    }

    /// The same for one that no runtime waits for.
    pub(super) fn spawn_alone(command: &mut std::process::Command) -> io::Result<(Self, std::process::Child)> {
        Self::of(|| command.process_group(0).spawn(), |child| Some(child.id()))
    }

    fn of<T>(spawn: impl FnOnce() -> io::Result<T>, id: impl FnOnce(&T) -> Option<u32>) -> io::Result<(Self, T)> {
        // Held until the group is on the list: between the two, nobody may believe that all were ended.
        let mut live = live();
        if live.over {
            return Err(io::Error::other("this process is about to exit"));
        }
        let child = spawn()?;
        let leader = id(&child).and_then(|id| Pid::from_raw(id.try_into().ok()?));
        live.leaders.extend(leader);
        Ok((Self { leader }, child))
    }

    /// Asks everything in the group to end, and after a grace makes it.
    pub(super) async fn end(&mut self, child: &mut Child) -> io::Result<std::process::ExitStatus> {
        self.signal(Signal::TERM);
        // Whether it obeyed does not matter: the rest of the group is killed either way.
        drop(tokio::time::timeout(GRACE, self.exited(child)).await);
        self.finish(child).await
    }

    /// Kills what is left of the group and reaps the child. While the child is not reaped its number cannot be given to
    /// another process, so the signal reaches nobody else.
    pub(super) async fn finish(&mut self, child: &mut Child) -> io::Result<std::process::ExitStatus> {
        self.kill();
        child.wait().await
    }

    /// Kills the group and forgets it, while its number is certainly its own.
    pub(super) fn kill(&mut self) {
        self.signal(Signal::KILL);
        if let Some(leader) = self.leader.take() {
            live().leaders.retain(|live| *live != leader);
        }
    }

    /// Resolves when the child has ended. It is not reaped where the system can tell without.
    pub(super) async fn exited(&self, child: &mut Child) -> io::Result<()> {
        match self.ended().await {
            Some(ended) => ended,
            None => child.wait().await.map(drop),
        }
    }

    /// Resolves when the leader has ended and was not waited for, where the system can tell: `None` elsewhere.
    pub(super) async fn ended(&self) -> Option<io::Result<()>> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Some(handle) = self.leader.and_then(process_handle) {
            return Some(handle.readable().await.map(drop));
        }
        None
    }

    pub(super) fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            kill(leader, signal);
        }
    }
}

/// Signals every member of a group.
pub(super) fn kill(leader: Pid, signal: Signal) {
    // It fails only when nobody is left, which is what is wanted, or when the last member changed its user and is beyond reach.
    // One that takes a terminal is between two groups for a moment, and not waited for yet, so its number is its own.
    if kill_process_group(leader, signal).is_err() {
        let _ = kill_process(leader, signal);
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn process_handle(pid: Pid) -> Option<AsyncFd<OwnedFd>> {
    watched(opened(pid)?).ok()
}

/// A process, held so that no later one of its number is meant.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn opened(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn opened(_: Pid) -> Option<OwnedFd> {
    None
}

/// Signals the very process that is held.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn tell(process: &OwnedFd, signal: Signal) {
    // It fails only where that one has ended meanwhile.
    rustix::process::pidfd_send_signal(process, signal).ok();
}
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn tell(_: &OwnedFd, _: Signal) {}

/// A process that becomes readable when it ends.
#[expect(deprecated, reason = "the replacement is unsafe; an owned descriptor keeps the promise that it asks for")]
pub(super) fn watched(process: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(process, Interest::READABLE)
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
