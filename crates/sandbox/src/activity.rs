//! What the processes of a run have done: nothing, if no thread was scheduled between two looks.

use std::collections::BTreeMap;
use std::fs;
use std::io;

/// More threads are not looked at.
const MOST_THREADS: usize = 2_000;

/// The threads of a run at a moment when all of them sleep, and how often each was scheduled. Two equal ones mean that none ran in
/// between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunActivity(BTreeMap<u32, (u64, u64)>);

impl RunActivity {
    /// Of a process and its descendants; `None` if one of them runs, or is just ending.
    pub fn read(process: u32) -> Option<Self> {
        let (mut threads, mut left) = (BTreeMap::new(), vec![process]);
        while let Some(process) = left.pop() {
            for thread in thread_ids(process).ok()? {
                let folder = format!("/proc/{process}/task/{thread}");
                threads.insert(thread, times_scheduled(&fs::read_to_string(format!("{folder}/status")).ok()?)?);
                let children = fs::read_to_string(format!("{folder}/children")).ok()?;
                left.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
                if threads.len() > MOST_THREADS {
                    return None;
                }
            }
        }
        Some(Self(threads))
    }
}

fn thread_ids(process: u32) -> io::Result<Vec<u32>> {
    let entries = fs::read_dir(format!("/proc/{process}/task"))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// How often a thread gave its processor up, and how often it lost it; `None` if it runs.
fn times_scheduled(status: &str) -> Option<(u64, u64)> {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let sleeps = field("State:").is_some_and(|state| !state.starts_with('R'));
    let count = |name: &str| field(name)?.parse().ok();
    if sleeps { Some((count("voluntary_ctxt_switches:")?, count("nonvoluntary_ctxt_switches:")?)) } else { None }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn activity_is_the_same_while_all_processes_sleep_and_differs_after_one_ran() {
        let line = "cat & read x; echo $x; read y; kill $!";
        let mut shell = Command::new("sh").args(["-c", line]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let at_rest = || {
            let began = Instant::now();
            loop {
                let first = RunActivity::read(shell.id());
                std::thread::sleep(Duration::from_millis(20));
                if first.is_some() && first == RunActivity::read(shell.id()) {
                    return first;
                }
                assert!(began.elapsed() < Duration::from_secs(20), "it never rests");
            }
        };
        let before = at_rest();
        let mut input = shell.stdin.take().unwrap();
        input.write_all(b"go\n").unwrap();
        shell.stdout.as_mut().unwrap().read_exact(&mut [0; 3]).unwrap();
        drop(input);
        shell.wait().unwrap();
        assert!(before.is_some_and(|before| !before.0.is_empty()));
        assert_eq!(RunActivity::read(u32::MAX - 1), None);
    }

    #[test]
    fn running_thread_is_no_rest() {
        let status = |state: &str| format!("Name:\tx\nState:\t{state}\nvoluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t4\n");
        assert_eq!(times_scheduled(&status("S (sleeping)")), Some((3, 4)));
        assert_eq!(times_scheduled(&status("R (running)")), None);
        assert_eq!(times_scheduled("State:\tS (sleeping)\n"), None);
    }
}
