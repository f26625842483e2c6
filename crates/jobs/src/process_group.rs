//! Process groups: a program and its children, signalled and ended together.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_contract::JobUsage;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::process::{Child, Command};
use wait4::{ResUse, ResourceUsage, try_wait4_pid};

/// Time between SIGTERM and SIGKILL.
pub(crate) const GRACE: Duration = Duration::from_millis(500);
/// Time between two attempts to reap a killed leader.
const REAP_INTERVAL: Duration = Duration::from_millis(5);

/// The groups of this process, so that all can be killed before it exits.
static LIVE: Mutex<LiveGroups> = Mutex::new(LiveGroups { leaders: Vec::new(), closed: false });

#[derive(Debug)]
struct LiveGroups {
    leaders: Vec<Pid>,
    /// Whether no further group may start.
    closed: bool,
}

fn live_groups() -> MutexGuard<'static, LiveGroups> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills every program that this process started through [`LocalProcesses`](crate::LocalProcesses), with its group, and lets no
/// other start. For a process that exits without waiting.
pub fn end_all_processes() {
    let mut live = live_groups();
    live.closed = true;
    for leader in live.leaders.drain(..) {
        signal_group(leader, Signal::KILL);
    }
}

/// The process group of a child. Dropping it before the child is reaped kills the group.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    leader: Option<Pid>,
}

impl ProcessGroup {
    /// Starts a program as the leader of its own group.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<(Self, Child)> {
        Self::register(|| command.process_group(0).kill_on_drop(true).spawn(), Child::id)
    }

    fn register<T>(spawn: impl FnOnce() -> io::Result<T>, id: impl FnOnce(&T) -> Option<u32>) -> io::Result<(Self, T)> {
        // Locked until the group is listed, so that `end_all_processes` misses none.
        let mut live = live_groups();
        if live.closed {
            return Err(io::Error::other("this process is about to exit"));
        }
        let child = spawn()?;
        let leader = id(&child).and_then(to_pid);
        live.leaders.extend(leader);
        Ok((Self { leader }, child))
    }

    /// Sends SIGTERM to the group, and SIGKILL after a grace period.
    pub(crate) async fn terminate(&mut self, child: &mut Child) -> io::Result<ExitStatus> {
        self.signal(Signal::TERM);
        // The rest of the group is killed whether or not the leader exits in time.
        drop(tokio::time::timeout(GRACE, self.wait_for_exit(child)).await);
        self.kill_and_reap(child).await
    }

    /// Kills the rest of the group and reaps the child. An unreaped pid is not reused, so the signal reaches no other process.
    pub(crate) async fn kill_and_reap(&mut self, child: &mut Child) -> io::Result<ExitStatus> {
        self.kill();
        child.wait().await
    }

    /// Kills the group and unlists it, while its leader is not reaped.
    fn kill(&mut self) {
        self.signal(Signal::KILL);
        if let Some(leader) = self.leader.take() {
            live_groups().leaders.retain(|live| *live != leader);
        }
    }

    /// Resolves when the child has ended. It is not reaped where pidfds exist.
    pub(crate) async fn wait_for_exit(&self, child: &mut Child) -> io::Result<()> {
        match self.poll_pidfd().await {
            Some(ended) => ended,
            None => child.wait().await.map(drop),
        }
    }

    /// Resolves when the leader has ended, without reaping it; `None` where there are no pidfds.
    async fn poll_pidfd(&self) -> Option<io::Result<()>> {
        let pidfd = poll_exit(open_pidfd(self.leader?)?).ok()?;
        Some(pidfd.readable().await.map(drop))
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            signal_group(leader, signal);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The process of a job: leads its group, and is reaped together with its resource usage. Dropping it kills its group.
#[derive(Debug)]
pub(crate) struct GroupLeader {
    group: ProcessGroup,
    child: std::process::Child,
}

impl GroupLeader {
    pub(crate) fn spawn(command: &mut std::process::Command) -> io::Result<Self> {
        let (group, child) = ProcessGroup::register(|| command.process_group(0).spawn(), |child| Some(child.id()))?;
        Ok(Self { group, child })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Resolves when it has ended. It is not reaped, so its pid is not reused.
    pub(crate) async fn wait_for_exit(&self) {
        if self.group.poll_pidfd().await.is_some() {
            return;
        }
        let id = self.id();
        let ended = tokio::task::spawn_blocking(move || {
            rustix::process::waitid(WaitId::Pid(to_pid(id)?), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).ok()
        });
        // A failing wait shows when the leader is reaped.
        drop(ended.await);
    }

    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        to_pid(self.id()).is_some_and(|pid| matches!(rustix::process::waitid(WaitId::Pid(pid), options), Ok(Some(_))))
    }

    /// Its exit code, if it has ended by itself. It is not reaped.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        rustix::process::waitid(WaitId::Pid(to_pid(self.id())?), options).ok().flatten()?.exit_status()
    }

    /// Sends SIGTERM to the group, and waits at most this long.
    pub(crate) async fn terminate(&self, grace: Duration) {
        self.group.signal(Signal::TERM);
        // A stopped process receives it only when it continues.
        self.group.signal(Signal::CONT);
        // The group is killed afterwards in any case.
        drop(tokio::time::timeout(grace, self.wait_for_exit()).await);
    }

    /// Kills the rest of the group, reaps the leader, and returns its status and usage. `peak_memory` is that of the whole run,
    /// where it is counted. To be called once.
    pub(crate) async fn kill_and_reap(&mut self, peak_memory: Option<u64>) -> (ExitStatus, Option<JobUsage>) {
        self.group.signal(Signal::KILL);
        if !self.has_ended() {
            self.wait_for_exit().await;
        }
        self.group.kill();
        loop {
            match try_wait4_pid(self.id()) {
                Ok(Some(ResUse { status, rusage })) => return (status, Some(usage(rusage, peak_memory))),
                Ok(None) => tokio::time::sleep(REAP_INTERVAL).await,
                Err(_) => return (ExitStatus::from_raw(0xff00), None),
            }
        }
    }
}

/// Until a child calls exec it is a copy of this process, whose memory is counted as its own: a smaller count says nothing.
fn usage(counted: ResourceUsage, peak_memory: Option<u64>) -> JobUsage {
    let credible = || (counted.maxrss > own_peak_memory()).then_some(counted.maxrss);
    let max_memory = peak_memory.map(|peak| peak.min(counted.maxrss)).or_else(credible);
    JobUsage { max_memory, user: counted.utime, system: counted.stime }
}

fn own_peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).map_or(0, |kilobytes| kilobytes * 1024)
}

pub(crate) fn to_pid(id: u32) -> Option<Pid> {
    Pid::from_raw(id.try_into().ok()?)
}

/// Signals every member of a group.
pub(crate) fn signal_group(leader: Pid, signal: Signal) {
    // It fails when no member is left, or when the last one changed its user and cannot be signalled. A leader that is about to
    // take a terminal has no group for a moment; it is not reaped yet, so its pid is its own.
    if kill_process_group(leader, signal).is_err() {
        let _ = kill_process(leader, signal);
    }
}

/// A handle that always means this process, not a later one with the same pid.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn open_pidfd(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn open_pidfd(_: Pid) -> Option<OwnedFd> {
    None
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn signal_pidfd(pidfd: &OwnedFd, signal: Signal) {
    // It fails only when the process has ended.
    rustix::process::pidfd_send_signal(pidfd, signal).ok();
}
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn signal_pidfd(_: &OwnedFd, _: Signal) {}

/// A pidfd that becomes readable when its process ends.
#[expect(deprecated, reason = "the replacement is unsafe; an owned descriptor keeps the promise that it asks for")]
pub(crate) fn poll_exit(pidfd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(pidfd, Interest::READABLE)
}
