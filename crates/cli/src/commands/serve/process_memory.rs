//! How much memory a process and its descendants hold now.

use std::collections::HashMap;
use std::fs;

/// What the system says of one process.
struct ProcessLine {
    parent: u32,
    resident: u64,
}

/// The processes of this machine, as they are at one moment.
pub(super) struct ProcessTable(HashMap<u32, ProcessLine>);

impl ProcessTable {
    pub(super) fn read() -> Self {
        let pids = fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        // One that has ended meanwhile holds nothing.
        Self(pids.filter_map(|pid| Some((pid, parse(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)?))).collect())
    }

    /// Bytes in memory of a process and of all beneath it; a page that several share counts for each. `None` if it has ended.
    pub(super) fn resident(&self, root: u32) -> Option<u64> {
        self.0.get(&root)?;
        let (mut sum, mut members, mut next) = (0, vec![root], 0);
        while let Some(&member) = members.get(next) {
            sum += self.0.get(&member).map_or(0, |line| line.resident);
            // While a parent is looked up another process may have got its number: each counts once.
            let children: Vec<u32> =
                self.0.iter().filter(|(pid, line)| line.parent == member && !members.contains(pid)).map(|(pid, _)| *pid).collect();
            members.extend(children);
            next += 1;
        }
        Some(sum)
    }
}

/// A process that waits to be reaped has no memory.
fn parse(status: &str) -> Option<ProcessLine> {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(|rest| rest.trim().trim_end_matches(" kB"));
    let kilobytes = field("VmRSS:").and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    Some(ProcessLine { parent: field("PPid:")?.parse().ok()?, resident: kilobytes * 1024 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(lines: &[(u32, u32, u64)]) -> ProcessTable {
        ProcessTable(lines.iter().map(|&(pid, parent, resident)| (pid, ProcessLine { parent, resident })).collect())
    }

    #[test]
    fn memory_is_that_of_the_process_and_all_its_descendants_and_of_no_other() {
        let table = table(&[(1, 0, 7), (10, 1, 100), (11, 10, 20), (12, 11, 3), (20, 1, 5000), (30, 31, 1), (31, 30, 2)]);
        assert_eq!([10, 11, 20].map(|pid| table.resident(pid)), [Some(123), Some(23), Some(5000)]);
        assert_eq!((table.resident(30), table.resident(99)), (Some(3), None), "a circle ends, and what has ended has none");
    }

    #[test]
    fn status_of_the_kernel_is_read() {
        let line = parse("Name:\tPPid: 7\nState:\tS (sleeping)\nPPid:\t41\nVmHWM:\t 9000 kB\nVmRSS:\t    1234 kB\n").unwrap();
        assert_eq!((line.parent, line.resident), (41, 1234 * 1024));
        assert_eq!(parse("Name:\tzombie\nPPid:\t41\n").unwrap().resident, 0);
        assert!(parse("Name:\tx\n").is_none());
        assert!(ProcessTable::read().resident(std::process::id()).unwrap() > 1 << 20, "this process is there");
    }
}
