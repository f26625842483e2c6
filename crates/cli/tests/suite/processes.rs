//! The processes of the machine, found by their arguments and by the folder that they work for.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

/// No process takes longer to end, on a busy machine either.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long a process has to end by itself after it was asked to.
const GRACE: Duration = Duration::from_secs(20);

/// A process that lives.
#[derive(Debug)]
pub(crate) struct Process {
    number: i32,
    /// Its arguments, with blanks between them.
    pub(crate) line: String,
}

/// The processes that live and have this word among their arguments.
pub(crate) fn processes_with(word: &str) -> Vec<String> {
    let has_word = |number: i32| read(number, "cmdline").split(|byte| *byte == 0).any(|argument| argument == word.as_bytes());
    numbers().into_iter().filter(|number| has_word(*number)).map(line).collect()
}

/// The processes that were started for a folder of a test: its path is in their environment.
pub(crate) fn processes_in(folder: &Path) -> Vec<Process> {
    let folder = folder.as_os_str().as_encoded_bytes();
    let is_of_folder = |number: &i32| read(*number, "environ").windows(folder.len()).any(|part| part == folder);
    numbers().into_iter().filter(is_of_folder).map(|number| Process { number, line: line(number) }).collect()
}

/// Waits until every process of a folder has ended: a background runner records how its job ended.
pub(crate) fn wait_for_processes_in(folder: &Path) {
    let left = left_after(folder, PATIENCE);
    assert!(left.is_empty(), "a process does not end: {left:?}");
}

/// Ends what a test left running in its folder, so that nothing writes there while the folder is removed.
pub(crate) fn end_processes_in(folder: &Path) {
    for signal in [Signal::TERM, Signal::KILL] {
        for process in processes_in(folder) {
            // It fails only if the process has ended meanwhile.
            Pid::from_raw(process.number).map(|number| rustix::process::kill_process(number, signal).ok());
        }
        if left_after(folder, GRACE).is_empty() {
            return;
        }
    }
}

fn left_after(folder: &Path, time: Duration) -> Vec<Process> {
    let began = Instant::now();
    loop {
        let left = processes_in(folder);
        if left.is_empty() || began.elapsed() > time {
            return left;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn numbers() -> Vec<i32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A process that has ended, and those of others, have nothing to read.
fn read(number: i32, file: &str) -> Vec<u8> {
    fs::read(format!("/proc/{number}/{file}")).unwrap_or_default()
}

fn line(number: i32) -> String {
    String::from_utf8_lossy(&read(number, "cmdline")).replace('\0', " ")
}
