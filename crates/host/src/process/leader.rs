//! The process that a job is: it leads its group, and is waited for together with what it used.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use haft_contract::JobUsage;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use wait4::{ResUse, ResourceUsage, try_wait4_pid};

use super::group::Group;

/// How long one that was killed may be watched for before it is looked at again.
const PAUSE: Duration = Duration::from_millis(5);

/// Dropping it kills its group.
#[derive(Debug)]
pub(super) struct Leader {
    group: Group,
    child: Child,
}

impl Leader {
    pub(super) fn spawn(command: &mut Command) -> io::Result<Self> {
        let (group, child) = Group::spawn_alone(command)?;
        Ok(Self { group, child })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Resolves when it has ended. It is not waited for, so its number stays its own.
    pub(super) async fn exited(&self) {
        if self.group.ended().await.is_some() {
            return;
        }
        let id = self.id();
        let ended = tokio::task::spawn_blocking(move || {
            let pid = id.try_into().ok().and_then(Pid::from_raw)?;
            rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).ok()
        });
        // One that cannot be waited for shows so when it is reaped.
        drop(ended.await);
    }

    /// Asks everything in its group to end, and waits for that.
    pub(super) async fn ask(&self, grace: Duration) {
        self.group.signal(Signal::TERM);
        // One that is stopped hears nothing until it goes on.
        self.group.signal(Signal::CONT);
        // Whether it obeyed does not matter: what is left is killed either way.
        drop(tokio::time::timeout(grace, self.exited()).await);
    }

    /// Kills what is left of the group, and says how the leader ended and what it used, given what it had of memory at most if
    /// that is known. Not to be asked twice.
    pub(super) async fn finish(&mut self, most: Option<u64>) -> (ExitStatus, Option<JobUsage>) {
        self.group.signal(Signal::KILL);
        self.exited().await;
        self.group.kill();
        loop {
            match try_wait4_pid(self.id()) {
                Ok(Some(ResUse { status, rusage })) => return (status, Some(usage(rusage, most))),
                Ok(None) => tokio::time::sleep(PAUSE).await,
                Err(_) => return (ExitStatus::from_raw(0xff00), None),
            }
        }
    }
}

/// What it had of memory may be less than is counted: until a child becomes another program it is we, with all that we have.
fn usage(counted: ResourceUsage, most: Option<u64>) -> JobUsage {
    let credible = (counted.maxrss > own_peak()).then_some(counted.maxrss);
    let max_memory = most.map(|most| most.min(counted.maxrss)).or(credible);
    JobUsage { max_memory, user: counted.utime, system: counted.stime }
}

/// The most memory that this process had at a time, in bytes.
fn own_peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).map_or(0, |kilobytes| kilobytes * 1024)
}
