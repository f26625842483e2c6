//! A program and all it starts, as one group that can be ended together.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;

/// How long a group may take to end by itself after it was asked to.
const GRACE: Duration = Duration::from_millis(500);

/// The process group of a child. Dropping it while the child was not reaped kills everything in it.
#[derive(Debug)]
pub(super) struct Group {
    leader: Option<Pid>,
}

impl Group {
    /// The group of a child that was spawned as its own group leader.
    pub(super) fn of(child: &Child) -> Self {
        Self { leader: child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)) }
    }

    /// Asks everything in the group to end, and after a grace makes it.
    pub(super) async fn end(&mut self, child: &mut Child) -> std::io::Result<std::process::ExitStatus> {
        self.signal(Signal::TERM);
        // Whether it obeyed does not matter: the rest of the group is killed either way.
        drop(tokio::time::timeout(GRACE, self.exited(child)).await);
        self.finish(child).await
    }

    /// Kills what is left of the group and reaps the child. While the child is not reaped its number cannot be given to
    /// another process, so the signal reaches nobody else.
    pub(super) async fn finish(&mut self, child: &mut Child) -> std::io::Result<std::process::ExitStatus> {
        self.signal(Signal::KILL);
        let status = child.wait().await;
        self.leader = None;
        status
    }

    /// Resolves when the child has ended. It is not reaped where the system can tell without.
    pub(super) async fn exited(&self, child: &mut Child) -> std::io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Some(handle) = self.leader.and_then(process_handle) {
            return handle.readable().await.map(drop);
        }
        child.wait().await.map(drop)
    }

    fn signal(&self, signal: Signal) {
        let Some(leader) = self.leader else { return };
        // It fails only when nobody is left, which is what is wanted, or when the last member changed its user and is beyond reach.
        let _ = kill_process_group(leader, signal);
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[expect(deprecated, reason = "the replacement is unsafe; an owned descriptor keeps the promise that it asks for")]
fn process_handle(pid: Pid) -> Option<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>> {
    use rustix::process::{PidfdFlags, pidfd_open};
    use tokio::io::{Interest, unix::AsyncFd};
    AsyncFd::with_interest(pidfd_open(pid, PidfdFlags::empty()).ok()?, Interest::READABLE).ok()
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
