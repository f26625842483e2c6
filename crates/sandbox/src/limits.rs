//! Resource limits: control groups where the machine has them, rlimits of each process everywhere.

mod cgroup;
mod hierarchy;

use haft_contract::CommandLimits;
use rustix::process::{Resource, Rlimit};

pub use cgroup::Cgroup;

/// The limits that control groups enforce on this machine, for a whole run; the others apply to each process.
pub fn cgroup_limits() -> CgroupLimits {
    Cgroup::create(&CommandLimits::STANDARD).map(|group| group.limits).unwrap_or_default()
}

/// Whether both versions of control groups are in use, which not every container runtime supports.
pub(crate) fn is_hybrid() -> bool {
    let hierarchy = hierarchy::Hierarchy::of_this_process();
    hierarchy.is_some_and(|hierarchy| hierarchy.unified.is_some() && hierarchy.memory.is_some())
}

/// Sets the rlimits of this process, which its children inherit.
///
/// # Errors
/// Names the refused limit.
pub(crate) fn apply(limits: &CommandLimits, group: CgroupLimits) -> Result<(), String> {
    // Not the address space: language runtimes reserve far more of it than they use.
    let memory = if group.memory { None } else { limits.memory };
    let limits = [
        (Resource::Data, "memory", memory),
        (Resource::Nproc, "processes", limits.processes),
        (Resource::Cpu, "cpu_seconds", limits.cpu_seconds),
        (Resource::Fsize, "file_size", limits.file_size),
        (Resource::Nofile, "open_files", limits.open_files),
        (Resource::Core, "core", Some(0)),
    ];
    for (resource, name, limit) in limits {
        let Some(limit) = limit else { continue };
        lower(resource, limit).map_err(|error| format!("cannot set the limit '{name}' to {limit}: {error}"))?;
    }
    Ok(())
}

/// Whether a control group enforces each limit of a whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CgroupLimits {
    /// The limit on memory.
    pub memory: bool,
    /// The limit on processes.
    pub processes: bool,
}

/// A limit can only be lowered: a lower limit of the machine stays.
fn lower(resource: Resource, limit: u64) -> rustix::io::Result<()> {
    let now = rustix::process::getrlimit(resource);
    let limit = now.maximum.map_or(limit, |maximum| maximum.min(limit));
    rustix::process::setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })
}
