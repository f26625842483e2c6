//! What a job outside the walls has started, wherever it went: one that begins a session of its own leaves the group of the job,
//! and one whose parent has ended is nobody's child. All of them inherit a mark in their environment.

use std::ffi::OsString;
use std::fs;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::{group, outlived};

const MARK: &str = "_HAFT_JOB";
/// How long those that were killed may take to go: 2 seconds in all.
const LOOKS: u32 = 400;
const PAUSE: Duration = Duration::from_millis(5);
/// How often in a row none may be found until there is none: while one becomes another program, it has no environment.
const QUIET: u32 = 5;

/// The variable that marks a new job. No other job on the machine has the same.
pub(super) fn mark() -> (OsString, OsString) {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let this = std::process::id();
    let born = outlived::born(this).unwrap_or_default();
    (MARK.into(), format!("{this}-{born}-{}", COUNT.fetch_add(1, Ordering::Relaxed)).into())
}

/// All that carry the mark of one job. One that throws its environment away is not among them, and neither is one of another
/// person, which this one may not look at.
#[derive(Debug)]
pub(super) struct Kin {
    mark: Vec<u8>,
}

impl Kin {
    /// Those of the job that this process is. Nothing if it carries no mark, because it runs behind walls, or has ended.
    pub(super) fn of(process: u32) -> Option<Self> {
        carried(process).map(|mark| Self { mark })
    }

    /// Asks all of them to end.
    pub(super) fn ask(&self) {
        self.send(&[Signal::TERM, Signal::CONT]);
    }

    /// Makes all of them end, and returns when they have.
    pub(super) fn kill(&self) {
        let mut quiet = 0;
        for _ in 0..LOOKS {
            quiet = if self.send(&[Signal::KILL]) == 0 { quiet + 1 } else { 0 };
            if quiet == QUIET {
                return;
            }
            thread::sleep(PAUSE);
        }
    }

    /// How many there were. They are held while they are looked at, so that no later one of the same number is meant.
    fn send(&self, signals: &[Signal]) -> usize {
        let numbers = fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        let held = numbers.filter_map(|number| group::opened(Pid::from_raw(number.try_into().ok()?)?).map(|handle| (number, handle)));
        let kin: Vec<OwnedFd> =
            held.filter(|(number, _)| carried(*number).as_ref() == Some(&self.mark)).map(|(_, handle)| handle).collect();
        for (signal, handle) in signals.iter().flat_map(|signal| kin.iter().map(move |handle| (signal, handle))) {
            group::tell(handle, *signal);
        }
        kin.len()
    }
}

fn carried(process: u32) -> Option<Vec<u8>> {
    let variables = fs::read(format!("/proc/{process}/environ")).ok()?;
    let mut variables = variables.split(|byte| *byte == 0);
    variables.find(|variable| variable.strip_prefix(MARK.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// Its last descendant says that it is there, and holds the output until it ends.
    fn started((name, value): (OsString, OsString)) -> Child {
        let line = "(setsid sh -c 'trap \"\" TERM; echo up; while :; do sleep 60; done' &); exec sleep 60";
        Command::new("sh").args(["-c", line]).env(name, value).stdout(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn who_left_the_group_and_lost_its_parent_is_found_by_its_mark() {
        let (mut ours, mut other) = (started(mark()), started(mark()));
        for child in [&mut ours, &mut other] {
            child.stdout.as_mut().unwrap().read_exact(&mut [0; 3]).unwrap();
        }
        let kin = Kin::of(ours.id()).unwrap();
        kin.ask();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ours.wait().unwrap()), Some(15));
        kin.kill();
        // Whoever held the output is gone.
        assert_eq!(ours.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap(), 0);
        assert_eq!(other.try_wait().unwrap(), None, "the other job is none of theirs");
        Kin::of(other.id()).unwrap().kill();
        other.wait().unwrap();
        assert!(Kin::of(std::process::id()).is_none());
    }
}
