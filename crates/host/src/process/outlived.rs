//! The processes of jobs that go on although their keepers are gone.

use std::os::fd::OwnedFd;
use std::time::Duration;

use haft_contract::JobRecord;
use rustix::process::{Pid, Signal};

use super::group;
use super::kin::Kin;

/// How long one may take to end after it was asked to.
const GRACE: Duration = Duration::from_millis(500);

/// When a process began, as the system counts; nothing of one that has ended, whether or not anyone waited for it.
pub(super) fn born(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold anything, brackets and spaces too.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    if matches!(state, "Z" | "X") { None } else { fields.nth(18)?.parse().ok() }
}

/// The process of a job that goes on although its keeper is gone: the very one, and no later one of its number.
pub(super) fn process(record: &JobRecord) -> Option<OwnedFd> {
    let pid = Pid::from_raw(record.pid?.try_into().ok()?)?;
    let process = group::opened(pid)?;
    (record.born.is_some() && born(record.pid?) == record.born).then_some(process)
}

/// Resolves when it has ended.
pub(super) async fn gone(process: &OwnedFd) {
    let Ok(watched) = process.try_clone().and_then(group::watched) else { return };
    // It resolves in no other way.
    drop(watched.readable().await);
}

/// Asks the whole group to end, and whoever left it, and after a grace makes them.
pub(super) async fn end(pid: Option<u32>, process: &OwnedFd) {
    let Some(leader) = pid.and_then(|pid| Pid::from_raw(pid.try_into().ok()?)) else { return };
    let kin = pid.and_then(Kin::of).inspect(Kin::ask);
    for signal in [Signal::TERM, Signal::KILL] {
        group::kill(leader, signal);
        drop(tokio::time::timeout(GRACE, gone(process)).await);
    }
    if let Some(kin) = kin {
        // The group is killed even where looking for the others failed.
        drop(tokio::task::spawn_blocking(move || kin.kill()).await);
    }
}
