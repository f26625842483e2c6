use std::io;
use std::time::Duration;

use crate::command::Command;
use crate::container::Running;
#[cfg(target_os = "linux")]
use crate::ending;
use crate::error::SandboxError;
#[cfg(target_os = "linux")]
use crate::limits::Cgroup;
use crate::placeholder::Placeholder;
use crate::policy::Policy;

/// Turns a command into one that runs confined.
pub trait Sandbox: Send + Sync {
    /// The name people know it by.
    fn name(&self) -> &'static str;

    /// The confined command, and what must be kept until it has ended.
    fn wrap(&self, command: Command, policy: &Policy) -> Result<Wrapped, SandboxError>;

    /// Whether its programs are those of another root than the host's, so that the host's paths say nothing there.
    fn has_own_root(&self) -> bool {
        false
    }

    /// Whether a command can have a terminal behind these walls.
    fn gives_terminals(&self) -> bool {
        false
    }

    /// What of this policy the backend cannot hold, in words; empty where it holds all.
    fn gaps(&self, policy: &Policy) -> Vec<String> {
        let _ = policy;
        Vec::new()
    }
}

/// A confined command.
#[derive(Debug)]
#[must_use = "the guard must live until the command has ended"]
pub struct Wrapped {
    /// What to spawn in place of the original. Its environment is complete: clear the inherited one.
    pub command: Command,
    /// To be dropped after the command was waited for.
    pub guard: Guard,
}

/// What a run leaves on the host, and takes away again when this is dropped: keep it until the command was waited for.
///
/// Dropping it may take a moment: processes that are still dying hold their control group.
#[derive(Debug, Default)]
#[must_use = "it must live until the command has ended"]
pub struct Guard {
    // In the order in which they go: what is mounted upon a placeholder must be gone before it.
    pub(crate) container: Option<Running>,
    /// The spawned process has one child, the first of a namespace, beneath which all others are.
    #[cfg(target_os = "linux")]
    pub(crate) namespace: bool,
    #[cfg(target_os = "linux")]
    pub(crate) cgroup: Option<Cgroup>,
    #[expect(dead_code, reason = "kept for their end")]
    pub(crate) placeholders: Vec<Placeholder>,
}

impl Guard {
    pub(crate) fn of(container: Running) -> Self {
        Self { container: Some(container), ..Self::default() }
    }

    /// Asks everything in the run to end, given the process that was spawned, and kills what has not ended after the grace. That
    /// process itself is still to be waited for. `false` where nothing but its group holds the run together: then that is to be
    /// ended. Blocks as long as the grace at most.
    ///
    /// # Errors
    /// Where a process may not be signalled.
    pub fn end(&self, process: u32, grace: Duration) -> io::Result<bool> {
        #[cfg(target_os = "linux")]
        if self.namespace {
            return ending::end(process, grace).map(|()| true);
        }
        if let Some(container) = &self.container {
            container.end();
            return Ok(true);
        }
        let _ = (process, grace);
        Ok(false)
    }

    /// Kills the run, given the process that was spawned, and waits until nothing is left of its namespace. That process itself
    /// is still to be waited for by whoever spawned it.
    ///
    /// # Errors
    /// Where the process may not be killed.
    pub fn kill(&self, process: u32) -> io::Result<()> {
        if let Some(container) = &self.container {
            container.end();
        }
        #[cfg(target_os = "linux")]
        return ending::kill(process);
        #[cfg(not(target_os = "linux"))]
        return kill_alone(process);
    }

    /// The most memory that the run had at a time, files that the kernel kept for it included; where that is counted.
    pub fn peak_memory(&self) -> Option<u64> {
        #[cfg(target_os = "linux")]
        return self.cgroup.as_ref().and_then(Cgroup::peak_memory);
        #[cfg(not(target_os = "linux"))]
        return None;
    }

    /// The limits that the run has met so far, as far as the machine tells.
    pub fn exceeded(&self) -> Vec<&'static str> {
        #[cfg(target_os = "linux")]
        return self.cgroup.as_ref().map(Cgroup::exceeded).unwrap_or_default();
        #[cfg(not(target_os = "linux"))]
        return Vec::new();
    }
}

/// Without namespaces there is nothing that holds its children together.
#[cfg(not(target_os = "linux"))]
fn kill_alone(process: u32) -> io::Result<()> {
    use rustix::process::{Pid, Signal};
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("{process} is no number of a process")))?;
    rustix::process::kill_process(pid, Signal::KILL).map_err(io::Error::from)
}
