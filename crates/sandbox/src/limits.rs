//! How much a command may use: control groups where there are any, limits of each process everywhere.

mod cgroup;
mod hierarchy;

use rustix::process::{Resource, Rlimit};

pub use cgroup::Cgroup;

use crate::policy::Limits;

/// How a limit is held on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// By a control group: for all processes of the run together.
    ControlGroup,
    /// By the limits of each process (for processes: of each person).
    Process,
}

/// What holds the limits that concern a whole run, for `doctor`: memory, then processes.
pub fn means() -> (Means, Means) {
    let limits = Limits::default();
    let group = Cgroup::create(&limits);
    let means = |held| if held { Means::ControlGroup } else { Means::Process };
    group.map_or((Means::Process, Means::Process), |group| (means(group.memory), means(group.processes)))
}

/// Whether both versions of control groups are in use at once, which not every runner of containers can take.
pub(crate) fn is_hybrid() -> bool {
    let hierarchy = hierarchy::Hierarchy::of_this_process();
    hierarchy.is_some_and(|found| found.unified.is_some() && found.memory.is_some())
}

/// Sets the limits of this process, which all that it starts inherits.
///
/// # Errors
/// Names the limit that the machine refused.
pub(crate) fn apply(limits: &Limits, group: Held) -> Result<(), String> {
    // Address space would be the usual limit, but runtimes reserve far more of it than they use.
    let memory = if group.memory { None } else { limits.memory };
    let wanted = [
        (Resource::Data, "memory", memory),
        (Resource::Nproc, "processes", limits.processes),
        (Resource::Cpu, "cpu_seconds", limits.cpu_seconds),
        (Resource::Fsize, "file_size", limits.file_size),
        (Resource::Nofile, "open_files", limits.open_files),
        (Resource::Core, "core", Some(0)),
    ];
    for (resource, name, limit) in wanted {
        let Some(limit) = limit else { continue };
        lower(resource, limit).map_err(|error| format!("cannot set the limit '{name}' to {limit}: {error}"))?;
    }
    Ok(())
}

/// Which limits a control group holds already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Held {
    pub(crate) memory: bool,
    pub(crate) processes: bool,
}

/// A limit can go down only: where the machine's own is lower, that one stays.
fn lower(resource: Resource, limit: u64) -> rustix::io::Result<()> {
    let now = rustix::process::getrlimit(resource);
    let limit = now.maximum.map_or(limit, |maximum| maximum.min(limit));
    rustix::process::setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })
}
