//! Orphaned processes: finding and killing what a job outside the sandbox started.
//!
//! A process that starts a session of its own leaves the process group of its job, and one whose parent has ended is adopted by
//! init. All of them inherit an env tag, a variable with a value that is unique to their job.

use std::ffi::OsString;
use std::fs;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use haft_contract::ports::JobRecord;
use rustix::process::Signal;

use crate::process_group::{GRACE, open_pidfd, poll_exit, signal_group, signal_pidfd, to_pid};

const ENV_TAG: &str = "_HAFT_JOB";
/// Killed processes may take 2 seconds in all to end.
const MAX_SCANS: u32 = 400;
const SCAN_INTERVAL: Duration = Duration::from_millis(5);
/// Scans in a row that must find nothing: a process has no environment for a moment while it calls exec.
const QUIET_SCANS: u32 = 5;

/// The env tag of a new job, unique on this machine.
pub(crate) fn new_env_tag() -> (OsString, OsString) {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let this = std::process::id();
    let started = start_time(this).unwrap_or_default();
    (ENV_TAG.into(), format!("{this}-{started}-{}", COUNT.fetch_add(1, Ordering::Relaxed)).into())
}

/// The kernel's start time of a process; `None` if it has ended, whether or not it was reaped.
pub(crate) fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The process name before the bracket may contain anything, brackets and spaces too.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    if matches!(state, "Z" | "X") { None } else { fields.nth(18)?.parse().ok() }
}

/// The processes that carry the env tag of one job. A process that cleared its environment is not among them, nor one of another
/// user, whose environment cannot be read.
#[derive(Debug)]
pub(crate) struct Descendants {
    env_tag: Vec<u8>,
}

impl Descendants {
    /// Those of the job with this leader; `None` if it carries no tag, because it is sandboxed or has ended.
    pub(crate) fn of_leader(pid: u32) -> Option<Self> {
        env_tag(pid).map(|env_tag| Self { env_tag })
    }

    /// Sends SIGTERM to all.
    pub(crate) fn terminate(&self) {
        self.signal(&[Signal::TERM, Signal::CONT]);
    }

    /// Kills all, and returns when they have ended. Blocks.
    pub(crate) fn kill(&self) {
        let mut quiet = 0;
        for _ in 0..MAX_SCANS {
            quiet = if self.signal(&[Signal::KILL]) == 0 { quiet + 1 } else { 0 };
            if quiet == QUIET_SCANS {
                return;
            }
            thread::sleep(SCAN_INTERVAL);
        }
    }

    /// Signals all, and returns how many there were. Each is opened before its environment is read, so that no later process
    /// with the same pid is signalled.
    fn signal(&self, signals: &[Signal]) -> usize {
        let pids = fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        let open = pids.filter_map(|pid| Some((pid, open_pidfd(to_pid(pid)?)?)));
        let tagged: Vec<OwnedFd> = open.filter(|(pid, _)| env_tag(*pid).as_ref() == Some(&self.env_tag)).map(|(_, pidfd)| pidfd).collect();
        for (signal, pidfd) in signals.iter().flat_map(|signal| tagged.iter().map(move |pidfd| (signal, pidfd))) {
            signal_pidfd(pidfd, *signal);
        }
        tagged.len()
    }
}

fn env_tag(pid: u32) -> Option<Vec<u8>> {
    let variables = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = variables.split(|byte| *byte == 0);
    variables.find(|variable| variable.strip_prefix(ENV_TAG.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))).map(<[u8]>::to_vec)
}

/// The process of a job whose supervisor has ended: exactly that one, not a later one with the same pid.
pub(crate) fn open_orphan(record: &JobRecord) -> Option<OwnedFd> {
    let pid = record.pid?;
    let pidfd = open_pidfd(to_pid(pid)?)?;
    (record.start_time.is_some() && start_time(pid) == record.start_time).then_some(pidfd)
}

/// Resolves when the process has ended.
pub(crate) async fn wait_for_orphan(pidfd: &OwnedFd) {
    let Ok(pidfd) = pidfd.try_clone().and_then(poll_exit) else { return };
    drop(pidfd.readable().await);
}

/// Ends an orphaned job: its group and its descendants get SIGTERM, and SIGKILL after a grace period.
pub(crate) async fn kill_orphan(pid: Option<u32>, pidfd: &OwnedFd) {
    let Some(leader) = pid.and_then(to_pid) else { return };
    let descendants = pid.and_then(Descendants::of_leader).inspect(Descendants::terminate);
    for signal in [Signal::TERM, Signal::KILL] {
        signal_group(leader, signal);
        drop(tokio::time::timeout(GRACE, wait_for_orphan(pidfd)).await);
    }
    if let Some(descendants) = descendants {
        drop(tokio::task::spawn_blocking(move || descendants.kill()).await);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// Starts a job whose last descendant prints a line when it runs, and holds the output until it ends.
    fn start((name, value): (OsString, OsString)) -> Child {
        let command = "(setsid sh -c 'trap \"\" TERM; echo up; while :; do sleep 60; done' &); exec sleep 60";
        Command::new("sh").args(["-c", command]).env(name, value).stdout(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn orphan_outside_the_process_group_is_found_by_its_env_tag() {
        let (mut ours, mut other) = (start(new_env_tag()), start(new_env_tag()));
        for child in [&mut ours, &mut other] {
            child.stdout.as_mut().unwrap().read_exact(&mut [0; 3]).unwrap();
        }
        let descendants = Descendants::of_leader(ours.id()).unwrap();
        descendants.terminate();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ours.wait().unwrap()), Some(15));
        descendants.kill();
        // The process that held the output is gone.
        assert_eq!(ours.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap(), 0);
        assert_eq!(other.try_wait().unwrap(), None, "the other job is untouched");
        Descendants::of_leader(other.id()).unwrap().kill();
        other.wait().unwrap();
        assert!(Descendants::of_leader(std::process::id()).is_none());
    }
}
