//! Ending what runs in a container, until nothing of it is left.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// An engine that was just told to make a container may make it after it was told to remove it.
const REMOVALS: u32 = 20;
/// What has ended takes its leave within a moment.
const LOOKS: u32 = 15;
const PAUSE: Duration = Duration::from_millis(20);

/// Tells the engine to end a run, until nobody is left who has its name among the arguments: neither the client, which may still
/// be making the container, nor the monitor of the container.
pub(crate) fn remove(removal: &mut Command, name: &str) {
    for _ in 0..REMOVALS {
        // It fails where there is nothing to end, which is what is wanted.
        removal.status().ok();
        for _ in 0..LOOKS {
            if !is_named(name) {
                return;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// Whether another process has this word, or a variable of this value, among its arguments. Only Linux tells.
fn is_named(name: &str) -> bool {
    let own = std::process::id();
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut lines = numbers.filter(|number| *number != own).filter_map(|number| fs::read(format!("/proc/{number}/cmdline")).ok());
    lines.any(|line| line.split(|byte| *byte == 0).any(|word| is(word, name.as_bytes())))
}

fn is(word: &[u8], name: &[u8]) -> bool {
    word.strip_suffix(name).is_some_and(|before| matches!(before.last(), None | Some(b'=')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_known_by_its_whole_name() {
        for (word, is_it) in [("haft-1-2", true), ("HAFT_RUN=haft-1-2", true), ("haft-1-23", false), ("xhaft-1-2", false), ("", false)] {
            assert_eq!(is(word.as_bytes(), b"haft-1-2"), is_it, "{word}");
        }
    }
}
