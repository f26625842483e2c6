use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use haft_contract::CommandLimits;
use rustix::process::{Pid, Signal};

use super::CgroupLimits;
use super::hierarchy::Hierarchy;
use crate::termination;

const PREFIX: &str = "haft-";
/// Killed processes may take 2 seconds in all to leave their group.
const REMOVALS: u32 = 400;
const PAUSE: Duration = Duration::from_millis(5);
/// File through which a process joins with all of its threads.
const WHOLE: &str = "cgroup.procs";
/// File through which one thread joins, which is all that a launcher step has; for memory in version 1 only. Moving a whole
/// process waits some ten milliseconds, until no process of the machine forks or exits.
const THREAD: &str = "tasks";

/// A control group for one run. Dropping it kills what is left inside and removes it.
#[derive(Debug)]
pub struct Cgroup {
    folders: Vec<PathBuf>,
    join_file: &'static str,
    /// The limits it enforces.
    pub limits: CgroupLimits,
}

impl Cgroup {
    /// Creates a group with these limits; `None` where this process may not. Then only the rlimits of each process apply.
    pub fn create(limits: &CommandLimits) -> Option<Self> {
        // Read once, because that takes longer than all the rest, and again if this process was moved.
        static KNOWN: OnceLock<Option<Hierarchy>> = OnceLock::new();
        let known = KNOWN.get_or_init(|| Hierarchy::of_this_process().inspect(sweep)).as_ref()?;
        let name = format!("{PREFIX}{}-{}", std::process::id(), next());
        let create = |hierarchy: &Hierarchy| unified(hierarchy, &name, limits).or_else(|| separate(hierarchy, &name, limits));
        create(known).or_else(|| create(&Hierarchy::of_this_process().filter(|now| now != known)?))
    }

    /// The files through which a single-threaded process joins.
    pub(crate) fn join_files(&self) -> Vec<PathBuf> {
        self.folders.iter().map(|folder| folder.join(self.join_file)).collect()
    }

    /// The exceeded limits: the kernel counts the processes that it killed or refused.
    pub fn exceeded(&self) -> Vec<&'static str> {
        let counted = |files: &[&str], word: &str| {
            self.folders.iter().any(|folder| files.iter().any(|file| count(&folder.join(file), word).is_some_and(|count| count > 0)))
        };
        let memory = counted(&["memory.events", "memory.oom_control"], "oom_kill").then_some("memory");
        let processes = counted(&["pids.events"], "max").then_some("processes");
        memory.into_iter().chain(processes).collect()
    }

    /// Peak memory of the run, page cache included, where the kernel counts it.
    pub fn peak_memory(&self) -> Option<u64> {
        let files = ["memory.peak", "memory.max_usage_in_bytes"];
        let mut candidates = self.folders.iter().flat_map(|folder| files.map(|file| folder.join(file)));
        candidates.find_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok())
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
fn unified(hierarchy: &Hierarchy, name: &str, limits: &CommandLimits) -> Option<Cgroup> {
    let own = hierarchy.unified.as_deref()?;
    [Some(own), own.parent()].into_iter().flatten().find_map(|parent| {
        let (memory, processes) = controllers(parent)?;
        let group = CgroupSpec { folder: parent.join(name), settings: settings_v2(limits, memory, processes) };
        let folder = (memory || processes).then(|| group.create()).flatten()?;
        Some(Cgroup { folders: vec![folder], join_file: WHOLE, limits: CgroupLimits { memory, processes } })
    })
}

/// Whether child groups can have limits on memory and on processes; `None` if the folder is no control group.
fn controllers(parent: &Path) -> Option<(bool, bool)> {
    let file = parent.join("cgroup.subtree_control");
    let enabled = || fs::read_to_string(&file).ok().map(|text| (has(&text, "memory"), has(&text, "pids")));
    if enabled()? != (true, true) {
        // Refused where the group has processes of its own, or is not ours: then the next parent is tried.
        fs::write(&file, "+memory +pids").ok();
    }
    enabled()
}

fn settings_v2(limits: &CommandLimits, memory: bool, processes: bool) -> Vec<(&'static str, String, bool)> {
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
fn separate(hierarchy: &Hierarchy, name: &str, limits: &CommandLimits) -> Option<Cgroup> {
    let memory = hierarchy.memory.as_deref().zip(limits.memory).and_then(|(own, bytes)| {
        let bytes = bytes.to_string();
        let settings = vec![("memory.limit_in_bytes", bytes.clone(), true), ("memory.memsw.limit_in_bytes", bytes, false)];
        CgroupSpec { folder: own.join(name), settings }.create()
    });
    let processes = hierarchy.processes.as_deref().zip(limits.processes).and_then(|(own, count)| {
        let group = CgroupSpec { folder: own.join(name), settings: vec![("pids.max", count.to_string(), true)] };
        // Joint controllers share one tree, which exists by now.
        if memory.as_ref() == Some(&group.folder) { group.set().then(|| group.folder.clone()) } else { group.create() }
    });
    let limits = CgroupLimits { memory: memory.is_some(), processes: processes.is_some() };
    let mut folders: Vec<PathBuf> = memory.into_iter().chain(processes).collect();
    folders.dedup();
    (!folders.is_empty()).then_some(Cgroup { folders, join_file: THREAD, limits })
}

/// A group to create: for each setting the file, its value, and whether writing it must succeed.
struct CgroupSpec {
    folder: PathBuf,
    settings: Vec<(&'static str, String, bool)>,
}

impl CgroupSpec {
    fn create(&self) -> Option<PathBuf> {
        fs::create_dir(&self.folder).ok()?;
        if self.set() {
            return Some(self.folder.clone());
        }
        // Without its limits it is of no use: the rlimits of each process apply.
        fs::remove_dir(&self.folder).ok();
        None
    }

    fn set(&self) -> bool {
        self.settings.iter().all(|(file, value, needed)| fs::write(self.folder.join(file), value).is_ok() || !needed)
    }
}

/// Removes the groups of runs whose host was killed.
fn sweep(hierarchy: &Hierarchy) {
    let own = [&hierarchy.unified, &hierarchy.memory, &hierarchy.processes];
    let parents = own.into_iter().flatten().flat_map(|own| [Some(own.as_path()), own.parent()]).flatten();
    for entry in parents.filter_map(|parent| fs::read_dir(parent).ok()).flatten().flatten() {
        if is_stale(&entry.file_name().to_string_lossy()) {
            // Refused while it has processes, as intended.
            fs::remove_dir(entry.path()).ok();
        }
    }
}

fn is_stale(name: &str) -> bool {
    let host = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-')).and_then(|(host, _)| host.parse::<u32>().ok());
    host.is_some_and(|host| !termination::is_alive(host))
}

fn has(text: &str, word: &str) -> bool {
    text.split_whitespace().any(|other| other == word)
}

/// The number after `word` in a file of lines such as `word 3`.
fn count(file: &Path, word: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix(word)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cgroup_of_an_ended_host_is_stale_even_before_it_is_reaped() {
        let mut host = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let (name, handle) = (format!("{PREFIX}{}-0", host.id()), Pid::from_child(&host));
        assert!(!is_stale(&name) && !is_stale("somebody's") && !is_stale("haft-x-0"));
        drop(host.stdin.take());
        // A zombie: ended, and not yet reaped.
        let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(rustix::process::WaitId::Pid(handle), options).unwrap();
        assert!(is_stale(&name));
        host.wait().unwrap();
        assert!(is_stale(&name));
    }
    #[test]
    fn folder_that_is_no_cgroup_stays_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(controllers(folder.path()), None);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::write(folder.path().join("cgroup.subtree_control"), "memory pids\n").unwrap();
        assert_eq!(controllers(folder.path()), Some((true, true)));
    }
}
