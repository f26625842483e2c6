use std::io;
use std::time::Duration;

#[cfg(target_os = "linux")]
use crate::activity::RunActivity;
use crate::command::ProcessSpec;
use crate::container::ContainerRun;
use crate::error::SandboxError;
#[cfg(target_os = "linux")]
use crate::limits::Cgroup;
use crate::overlay::WorkFolders;
use crate::policy::SandboxPolicy;
#[cfg(target_os = "linux")]
use crate::termination;

/// A sandbox backend: turns a command into a confined command.
pub trait Sandbox: std::fmt::Debug + Send + Sync {
    /// Name of the backend, as configured.
    fn name(&self) -> &'static str;

    /// The confined command, and the guard to keep until it has ended.
    fn wrap(&self, command: ProcessSpec, policy: &SandboxPolicy) -> Result<ConfinedCommand, SandboxError>;

    /// Whether commands see another root file system than the host's, so that host paths do not apply.
    fn has_own_root(&self) -> bool {
        false
    }

    /// Whether a command can have a controlling terminal.
    fn supports_terminals(&self) -> bool {
        false
    }

    /// Whether a command can reach the network through a proxy, and in no other way.
    fn supports_proxy(&self) -> bool {
        false
    }

    /// Whether it compares what it mounts on with what was found there, and reports when everything is mounted.
    fn reports_setup(&self) -> bool {
        false
    }

    /// Parts of the policy that the backend does not enforce, for the user; empty if it enforces all.
    fn gaps(&self, policy: &SandboxPolicy) -> Vec<String> {
        let _ = policy;
        Vec::new()
    }
}

/// No sandbox: selected only by the user's configuration.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unconfined;

impl Sandbox for Unconfined {
    fn name(&self) -> &'static str {
        "none"
    }

    fn wrap(&self, command: ProcessSpec, policy: &SandboxPolicy) -> Result<ConfinedCommand, SandboxError> {
        policy.refuse_overlay(self.name())?;
        Ok(ConfinedCommand { command, guard: SandboxGuard::default() })
    }

    fn gaps(&self, _policy: &SandboxPolicy) -> Vec<String> {
        vec!["commands run without any confinement".to_owned()]
    }
}

/// A confined command.
#[derive(Debug)]
#[must_use = "the guard must live until the command has ended"]
pub struct ConfinedCommand {
    /// The command to spawn instead of the original. Its environment is complete: clear the inherited one.
    pub command: ProcessSpec,
    /// Drop it after the command was waited for.
    pub guard: SandboxGuard,
}

/// Owns what a run needs on the host, and removes it on drop: keep it until the command was waited for.
///
/// Dropping it may take a moment: a control group can be removed only after its last process.
#[derive(Debug, Default)]
#[must_use = "it must live until the command has ended"]
pub struct SandboxGuard {
    // In drop order: the mounts of a run must end before its folders.
    pub(crate) container: Option<ContainerRun>,
    /// The spawned process has one child, the init process of a PID namespace.
    #[cfg(target_os = "linux")]
    pub(crate) namespace: bool,
    #[cfg(target_os = "linux")]
    pub(crate) cgroup: Option<Cgroup>,
    #[expect(dead_code, reason = "dropped with the guard")]
    pub(crate) work_folders: WorkFolders,
}

impl SandboxGuard {
    pub(crate) fn for_container(container: ContainerRun) -> Self {
        Self { container: Some(container), ..Self::default() }
    }

    /// Asks all processes of the run to end, given the spawned process, and kills those left after the grace period; blocks that
    /// long at most. The caller still waits for the spawned process. `false` if the run has only a process group: the caller ends
    /// that.
    ///
    /// # Errors
    /// A process cannot be signalled.
    pub fn end(&self, process: u32, grace: Duration) -> io::Result<bool> {
        #[cfg(target_os = "linux")]
        if self.namespace {
            return termination::end(process, grace).map(|()| true);
        }
        if let Some(container) = &self.container {
            container.end();
            return Ok(true);
        }
        let _ = (process, grace);
        Ok(false)
    }

    /// Kills the run, given the spawned process, and waits until its PID namespace is empty. The caller still waits for the
    /// spawned process.
    ///
    /// # Errors
    /// The process cannot be killed.
    pub fn kill(&self, process: u32) -> io::Result<()> {
        if let Some(container) = &self.container {
            container.end();
        }
        #[cfg(target_os = "linux")]
        return termination::kill(process);
        #[cfg(not(target_os = "linux"))]
        return kill_alone(process);
    }

    /// What all processes of the run have done so far, given the spawned process; `None` while one of them runs, or where that
    /// cannot be told.
    pub fn activity(&self, process: u32) -> Option<RunActivity> {
        #[cfg(target_os = "linux")]
        return self.namespace.then(|| RunActivity::read(process)).flatten();
        #[cfg(not(target_os = "linux"))]
        {
            let _ = process;
            None
        }
    }

    /// Peak memory of the run, page cache included, where it is counted.
    pub fn peak_memory(&self) -> Option<u64> {
        #[cfg(target_os = "linux")]
        return self.cgroup.as_ref().and_then(Cgroup::peak_memory);
        #[cfg(not(target_os = "linux"))]
        return None;
    }

    /// The limits that the run has exceeded so far, as far as the kernel counts it.
    pub fn exceeded(&self) -> Vec<&'static str> {
        #[cfg(target_os = "linux")]
        return self.cgroup.as_ref().map(Cgroup::exceeded).unwrap_or_default();
        #[cfg(not(target_os = "linux"))]
        return Vec::new();
    }
}

/// Nothing tells here.
#[cfg(not(target_os = "linux"))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunActivity;

/// Without PID namespaces only the process itself can be killed.
#[cfg(not(target_os = "linux"))]
fn kill_alone(process: u32) -> io::Result<()> {
    use rustix::process::{Pid, Signal};
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("{process} is no valid PID")))?;
    rustix::process::kill_process(pid, Signal::KILL).map_err(io::Error::from)
}
