use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::hierarchy::Hierarchy;
use crate::ending;
use crate::policy::Limits;

const PREFIX: &str = "haft-";
/// How long processes that were killed may take to leave their group: 2 seconds in all.
const REMOVALS: u32 = 400;
const PAUSE: Duration = Duration::from_millis(5);
/// Where a process joins, and with it all of its threads.
const WHOLE: &str = "cgroup.procs";
/// Where one thread does, which is all that a stage has. Version 1 alone knows it for memory. The kernel moves a whole process
/// only when no other on the machine forks or exits, and waits ten milliseconds for that.
const THREAD: &str = "tasks";

/// A control group for one run. Dropping it kills what is left inside and removes it.
#[derive(Debug)]
pub struct Cgroup {
    folders: Vec<PathBuf>,
    door: &'static str,
    /// It holds the limit of memory.
    pub memory: bool,
    /// It holds the limit of processes.
    pub processes: bool,
}

impl Cgroup {
    /// Makes a group with these limits, or `None` where this process may not. Then limits of each process are all there is.
    pub fn create(limits: &Limits) -> Option<Self> {
        static SWEPT: Once = Once::new();
        let hierarchy = Hierarchy::of_this_process()?;
        SWEPT.call_once(|| sweep(&hierarchy));
        let name = format!("{PREFIX}{}-{}", std::process::id(), next());
        unified(&hierarchy, &name, limits).or_else(|| separate(&hierarchy, &name, limits))
    }

    /// The files into which a process of one thread writes itself to join.
    pub(crate) fn doors(&self) -> Vec<PathBuf> {
        self.folders.iter().map(|folder| folder.join(self.door)).collect()
    }

    /// The limits that were met: the kernel counts the processes it killed or refused.
    pub fn exceeded(&self) -> Vec<&'static str> {
        let counted = |files: &[&str], word: &str| {
            self.folders.iter().any(|folder| files.iter().any(|file| count(&folder.join(file), word).is_some_and(|count| count > 0)))
        };
        let mut found = Vec::new();
        if counted(&["memory.events", "memory.oom_control"], "oom_kill") {
            found.push("memory");
        }
        if counted(&["pids.events"], "max") {
            found.push("processes");
        }
        found
    }

    /// The most memory that the run had at a time, files that the kernel kept for it included; where the kernel counts it.
    pub fn peak_memory(&self) -> Option<u64> {
        let files = ["memory.peak", "memory.max_usage_in_bytes"];
        let mut found = self.folders.iter().flat_map(|folder| files.map(|file| folder.join(file)));
        found.find_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok())
    }

    fn kill(&self) {
        for folder in &self.folders {
            if fs::write(folder.join("cgroup.kill"), "1").is_ok() {
                continue;
            }
            let members = fs::read_to_string(folder.join(WHOLE)).unwrap_or_default();
            for pid in members.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)) {
                // It may have ended by itself meanwhile.
                rustix::process::kill_process(pid, Signal::KILL).ok();
            }
        }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for _ in 0..REMOVALS {
            self.folders.retain(|folder| matches!(fs::remove_dir(folder), Err(error) if error.kind() != io::ErrorKind::NotFound));
            if self.folders.is_empty() {
                return;
            }
            self.kill();
            thread::sleep(PAUSE);
        }
    }
}

fn next() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed)
}

/// Version 2: beneath our own group, or beside it where ours has processes and so may have no children with controllers.
fn unified(hierarchy: &Hierarchy, name: &str, limits: &Limits) -> Option<Cgroup> {
    let own = hierarchy.unified.as_deref()?;
    [Some(own), own.parent()].into_iter().flatten().find_map(|parent| {
        let (memory, processes) = controllers(parent)?;
        let group = Group { folder: parent.join(name), settings: settings_v2(limits, memory, processes) };
        let folder = (memory || processes).then(|| group.make()).flatten()?;
        Some(Cgroup { folders: vec![folder], door: WHOLE, memory, processes })
    })
}

/// Whether the children of a group can have limits of memory, and of processes; `None` if it is no group.
fn controllers(parent: &Path) -> Option<(bool, bool)> {
    let file = parent.join("cgroup.subtree_control");
    let held = || fs::read_to_string(&file).ok().map(|text| (has(&text, "memory"), has(&text, "pids")));
    let found = held()?;
    if found != (true, true) {
        // Refused where the group has processes of its own, or is not ours: the next parent is tried then.
        fs::write(&file, "+memory +pids").ok();
    }
    held()
}

fn settings_v2(limits: &Limits, memory: bool, processes: bool) -> Vec<(&'static str, String, bool)> {
    let mut settings = Vec::new();
    if let (true, Some(bytes)) = (memory, limits.memory) {
        settings.push(("memory.max", bytes.to_string(), true));
        settings.push(("memory.swap.max", "0".to_owned(), false));
    }
    if let (true, Some(count)) = (processes, limits.processes) {
        settings.push(("pids.max", count.to_string(), true));
    }
    settings
}

/// Version 1: one group in the tree of each controller.
fn separate(hierarchy: &Hierarchy, name: &str, limits: &Limits) -> Option<Cgroup> {
    let memory = hierarchy.memory.as_deref().zip(limits.memory).and_then(|(own, bytes)| {
        let bytes = bytes.to_string();
        let settings = vec![("memory.limit_in_bytes", bytes.clone(), true), ("memory.memsw.limit_in_bytes", bytes, false)];
        Group { folder: own.join(name), settings }.make()
    });
    let processes = hierarchy.processes.as_deref().zip(limits.processes).and_then(|(own, count)| {
        let group = Group { folder: own.join(name), settings: vec![("pids.max", count.to_string(), true)] };
        // Joint controllers have one tree, and it exists by now.
        if memory.as_ref() == Some(&group.folder) { group.set().then(|| group.folder.clone()) } else { group.make() }
    });
    let mut held = Cgroup { folders: Vec::new(), door: THREAD, memory: memory.is_some(), processes: processes.is_some() };
    held.folders.extend(memory);
    held.folders.extend(processes);
    held.folders.dedup();
    (!held.folders.is_empty()).then_some(held)
}

/// A group to be made, with what is written into its files and whether that must succeed.
struct Group {
    folder: PathBuf,
    settings: Vec<(&'static str, String, bool)>,
}

impl Group {
    fn make(&self) -> Option<PathBuf> {
        fs::create_dir(&self.folder).ok()?;
        if self.set() {
            return Some(self.folder.clone());
        }
        // Empty and just made: it goes, and the limits of each process take over.
        fs::remove_dir(&self.folder).ok();
        None
    }

    fn set(&self) -> bool {
        self.settings.iter().all(|(file, value, needed)| fs::write(self.folder.join(file), value).is_ok() || !needed)
    }
}

/// Removes the empty groups of runs whose host was killed.
fn sweep(hierarchy: &Hierarchy) {
    let own = [&hierarchy.unified, &hierarchy.memory, &hierarchy.processes];
    let parents = own.into_iter().flatten().flat_map(|own| [Some(own.as_path()), own.parent()]).flatten();
    for entry in parents.filter_map(|parent| fs::read_dir(parent).ok()).flatten().flatten() {
        if is_stale(&entry.file_name().to_string_lossy()) {
            // Refused while it has processes, which is what we want.
            fs::remove_dir(entry.path()).ok();
        }
    }
}

fn is_stale(name: &str) -> bool {
    let host = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-')).and_then(|(host, _)| host.parse::<u32>().ok());
    host.is_some_and(|host| !ending::is_living(host))
}

fn has(text: &str, word: &str) -> bool {
    text.split_whitespace().any(|found| found == word)
}

/// The number behind `word` in a file of such lines.
fn count(file: &Path, word: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix(word)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_stale_when_its_host_has_ended_whether_it_was_waited_for_or_not() {
        let mut host = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let (name, handle) = (format!("{PREFIX}{}-0", host.id()), Pid::from_child(&host));
        assert!(!is_stale(&name) && !is_stale("somebody's") && !is_stale("haft-x-0"));
        drop(host.stdin.take());
        // Ended, and held for whoever wants to know how.
        let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(rustix::process::WaitId::Pid(handle), options).unwrap();
        assert!(is_stale(&name));
        host.wait().unwrap();
        assert!(is_stale(&name));
    }
    #[test]
    fn a_folder_that_is_no_group_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(controllers(folder.path()), None);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::write(folder.path().join("cgroup.subtree_control"), "memory pids\n").unwrap();
        assert_eq!(controllers(folder.path()), Some((true, true)));
    }
}
