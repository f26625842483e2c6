//! Helper processes: this program, started again in a sandbox to parse data that may be hostile. A helper has its input and
//! output, and no access to files or the network.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use haft_contract::{CommandLimits, ErrorKind, HelperLimits, HelperOutput, SandboxBackend, ToolError};
use haft_sandbox::{
    ConfinedCommand, ContainerOptions, NetworkAccess, ProcessSpec, Sandbox, SandboxError, SandboxGuard, SandboxPolicy, Selection,
    SelectionRequest, Unconfined, check_gaps, usual_secrets,
};
use tokio::process::Child;
use tokio_util::sync::CancellationToken;

use crate::ShellOptions;
use crate::process_group::{ProcessGroup, to_pid};
use crate::run::{ProgramRun, supervise};
use crate::spawn::on_spawn_thread;

const OPEN_FILES: u64 = 64;
const TMP_SIZE: u64 = 1024 * 1024;
/// Folders that every program needs to start.
const SYSTEM_FOLDERS: &[&str] = &["/usr", "/lib", "/lib64", "/bin", "/proc", "/dev", "/nix"];

/// Starts helper processes.
pub(crate) struct Helpers {
    request: SelectionRequest,
    hidden: Vec<PathBuf>,
    /// The best backend that works here; probing takes a while.
    selected: OnceLock<Selection>,
}

haft_contract::opaque_debug!(Helpers: request = request);

/// A helper that waits for its input.
struct StartedHelper {
    /// Must be dropped when the helper has ended.
    guard: SandboxGuard,
    group: ProcessGroup,
    child: Child,
    sandbox: &'static str,
    gaps: Vec<String>,
}

impl Helpers {
    /// Hides these paths and the user's home from helpers. They are sandboxed wherever commands are.
    pub(crate) fn new(options: &ShellOptions, hidden: Vec<PathBuf>) -> Self {
        let choice = if options.sandbox == SandboxBackend::None { SandboxBackend::None } else { SandboxBackend::Auto };
        let request = SelectionRequest {
            choice,
            required: options.required && choice != SandboxBackend::None,
            launcher: options.program.clone(),
            // Not used: this program may not run in the root of a container.
            container: ContainerOptions::default(),
        };
        Self { request, hidden, selected: OnceLock::new() }
    }

    /// Runs a helper to its end, its timeout, or the cancellation.
    pub(crate) async fn run(
        self: Arc<Self>,
        name: &'static str,
        input: Vec<u8>,
        limits: HelperLimits,
        cancel: CancellationToken,
    ) -> Result<HelperOutput, ToolError> {
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        let started = on_spawn_thread(move || self.start(name, limits)).await;
        let StartedHelper { guard, group, child, sandbox, gaps } = started.map_err(|error| not_started(&error))??;
        let run = ProgramRun { input, output_limit: limits.output, timeout: limits.time };
        let output = supervise(group, child, run, &cancel).await;
        // Dropping it blocks.
        drop(tokio::task::spawn_blocking(move || drop(guard)).await);
        let output = output.map_err(|error| ToolError::execution(format!("A helper could not be waited for: {error}.")))?;
        let output = output.ok_or_else(cancelled)?;
        match haft_sandbox::launcher::setup_failure(output.code, &output.stderr) {
            Some(why) => Err(not_started(&why)),
            None => Ok(HelperOutput { output, sandbox: sandbox.to_owned(), gaps }),
        }
    }

    /// Blocks: it probes backends, and creates control groups.
    fn start(&self, name: &'static str, limits: HelperLimits) -> Result<StartedHelper, ToolError> {
        let Selection { sandbox, skipped, .. } = self.select().map_err(|why| not_started(&why))?;
        let policy = self.policy(&**sandbox, limits);
        let gaps = check_gaps(&**sandbox, &policy, self.request.required).map_err(|why| not_started(&why))?;
        let ConfinedCommand { command, guard } = sandbox.wrap(self.command(&**sandbox, name), &policy).map_err(|why| not_started(&why))?;
        let mut command = tokio::process::Command::from(command.to_std());
        let piped = std::process::Stdio::piped;
        command.stdin(piped()).stdout(piped()).stderr(piped());
        let (group, child) = ProcessGroup::spawn(&mut command).map_err(|error| not_started(&error))?;
        let gaps = if self.request.choice == SandboxBackend::None {
            set_limits(&child, limits).map_err(|error| not_started(&error))?;
            Vec::new()
        } else {
            gaps.into_iter().chain(skipped.iter().map(ToString::to_string)).collect()
        };
        Ok(StartedHelper { guard, group, child, sandbox: sandbox.name(), gaps })
    }

    fn select(&self) -> Result<&Selection, SandboxError> {
        match self.selected.get() {
            Some(selected) => Ok(selected),
            None => haft_sandbox::select(&self.request, &SandboxPolicy::default()).map(|selected| self.selected.get_or_init(|| selected)),
        }
    }

    /// The file of this program may be hidden in the sandbox; `/proc/self/exe` starts it all the same.
    fn command(&self, sandbox: &dyn Sandbox, name: &'static str) -> ProcessSpec {
        let confined = cfg!(target_os = "linux") && sandbox.name() != Unconfined.name();
        let program = if confined { Path::new("/proc/self/exe") } else { self.request.launcher.path() };
        ProcessSpec::new(program, "/").argument(name)
    }

    fn policy(&self, sandbox: &dyn Sandbox, limits: HelperLimits) -> SandboxPolicy {
        let (masked, read_only) = match sandbox.name() {
            "bubblewrap" => (self.hidden_paths(), Vec::new()),
            "landlock" => (self.hidden_paths(), vec![self.request.launcher.path().to_owned()]),
            _ => (std::env::home_dir().map(|home| usual_secrets(&home)).unwrap_or_default(), Vec::new()),
        };
        let limits = CommandLimits {
            memory: Some(limits.memory),
            cpu_seconds: Some(cpu_seconds(limits)),
            file_size: Some(0),
            open_files: Some(OPEN_FILES),
            tmp_size: Some(TMP_SIZE),
            ..CommandLimits::STANDARD
        };
        SandboxPolicy { masked, read_only, network: NetworkAccess::Off, limits, ..SandboxPolicy::default() }
    }

    /// The hidden paths, without those inside another one.
    fn hidden_paths(&self) -> Vec<PathBuf> {
        let all = self.hidden.iter().cloned().chain(std::env::home_dir());
        let mut all: Vec<PathBuf> = all.filter_map(|path| path.canonicalize().ok()).filter(|path| can_be_hidden(path)).collect();
        all.sort_unstable();
        // A folder sorts right before the paths inside it.
        all.dedup_by(|path, tree| path.starts_with(tree));
        all
    }
}

fn can_be_hidden(path: &Path) -> bool {
    !SYSTEM_FOLDERS.iter().any(|system| path.starts_with(system) || Path::new(system).starts_with(path))
}

fn cpu_seconds(limits: HelperLimits) -> u64 {
    limits.time.as_secs() + 1
}

/// Sets the limits of a helper without a sandbox. It waits for its input, so they are in time.
#[cfg(target_os = "linux")]
fn set_limits(child: &Child, limits: HelperLimits) -> std::io::Result<()> {
    use rustix::process::{Resource, Rlimit, prlimit};
    let Some(pid) = child.id().and_then(to_pid) else { return Ok(()) };
    let limits = [
        (Resource::Data, limits.memory),
        (Resource::Cpu, cpu_seconds(limits)),
        (Resource::Fsize, 0),
        (Resource::Nofile, OPEN_FILES),
        (Resource::Core, 0),
    ];
    for (resource, limit) in limits {
        prlimit(Some(pid), resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    }
    Ok(())
}

/// Other systems have no such call: only the timeout bounds a helper.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "as where it can fail")]
fn set_limits(_: &Child, _: HelperLimits) -> std::io::Result<()> {
    Ok(())
}

pub(crate) fn none() -> ToolError {
    ToolError::new(ErrorKind::SandboxUnavailable, "This host starts no helpers.")
}

fn not_started(why: &dyn std::fmt::Display) -> ToolError {
    ToolError::new(ErrorKind::SandboxUnavailable, format!("A helper could not be started: {why}."))
}

fn cancelled() -> ToolError {
    ToolError::new(ErrorKind::Cancelled, "A helper was cancelled, and ended.")
}

#[cfg(test)]
mod tests;
