//! Helpers: this very program, started again to read what may be hostile. A helper gets its data and gives its answer, and
//! reaches nothing else.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use haft_contract::{AsideLimits, ErrorKind, ProcessOutput, ToolError};
use haft_sandbox::{
    Choice, Command, ContainerOptions, Guard, Launcher, Limits, Network, Policy, Request, Sandbox, Unconfined, Wrapped, usual_secrets,
};
use tokio::process::Child;
use tokio_util::sync::CancellationToken;

use super::group::Group;
use super::spawner::on_lasting_thread;
use super::{Errand, attend};

const OPEN_FILES: u64 = 64;
const TMP_SIZE: u64 = 1024 * 1024;
/// What a program cannot start without.
const SYSTEM: &[&str] = &["/usr", "/lib", "/lib64", "/bin", "/proc", "/dev", "/nix"];

/// Starts helpers.
pub(super) struct Helpers {
    launcher: Launcher,
    hidden: Vec<PathBuf>,
    /// The best that works here: looking takes a while.
    sandbox: OnceLock<Arc<dyn Sandbox>>,
}

impl std::fmt::Debug for Helpers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Helpers").field("launcher", &self.launcher).finish_non_exhaustive()
    }
}

/// A helper that waits for its data.
struct Started {
    /// To be dropped when the helper has ended.
    guard: Guard,
    group: Group,
    child: Child,
}

impl Helpers {
    /// Whose helpers see nothing of these paths, nor of the person's own files.
    pub(super) fn new(launcher: Launcher, hidden: Vec<PathBuf>) -> Self {
        Self { launcher, hidden, sandbox: OnceLock::new() }
    }

    /// Runs a stage to its end, its time, or the cancellation.
    pub(super) async fn run(
        self: Arc<Self>,
        stage: &'static str,
        input: Vec<u8>,
        limits: AsideLimits,
        cancel: CancellationToken,
    ) -> Result<ProcessOutput, ToolError> {
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        let started = on_lasting_thread(move || self.start(stage, limits)).await;
        let Started { guard, group, child } = started.map_err(|error| not_started(&error))??;
        let errand = Errand { input, output_limit: limits.output, timeout: limits.time };
        let ended = attend(group, child, errand, &cancel).await;
        // It goes wherever there is time for it; nobody waits for more than its end.
        drop(tokio::task::spawn_blocking(move || drop(guard)).await);
        let output = ended.map_err(|error| ToolError::execution(format!("A helper could not be waited for: {error}.")))?;
        let output = output.ok_or_else(cancelled)?;
        match haft_sandbox::launcher::setup_failure(output.code, &output.stderr) {
            Some(why) => Err(not_started(&why)),
            None => Ok(output),
        }
    }

    /// Blocks: it tries sandboxes, and makes control groups.
    fn start(&self, stage: &'static str, limits: AsideLimits) -> Result<Started, ToolError> {
        let sandbox = self.sandbox();
        let Wrapped { command, guard } =
            sandbox.wrap(self.command(stage), &self.policy(&**sandbox, limits)).map_err(|why| not_started(&why))?;
        let mut command = tokio::process::Command::from(command.to_std());
        let piped = std::process::Stdio::piped;
        command.stdin(piped()).stdout(piped()).stderr(piped());
        let (group, child) = Group::spawn(&mut command).map_err(|error| not_started(&error))?;
        if sandbox.name() == Unconfined.name() {
            hold(&child, limits).map_err(|error| not_started(&error))?;
        }
        Ok(Started { guard, group, child })
    }

    /// Without any sandbox a helper is a process of its own still, and what ends it ends nothing else.
    fn sandbox(&self) -> &Arc<dyn Sandbox> {
        self.sandbox.get_or_init(|| {
            let request =
                Request { choice: Choice::Auto, required: false, launcher: self.launcher.clone(), container: ContainerOptions::default() };
            haft_sandbox::pick(&request, &Policy::default()).map_or_else(|_| Arc::new(Unconfined) as _, |picked| picked.sandbox)
        })
    }

    /// Where its file is hidden with all that lies around it, a program can still be started from itself.
    fn command(&self, stage: &'static str) -> Command {
        let confined = cfg!(target_os = "linux") && self.sandbox().name() != Unconfined.name();
        let program = if confined { Path::new("/proc/self/exe") } else { self.launcher.path() };
        Command::new(program, "/").argument(stage)
    }

    fn policy(&self, sandbox: &dyn Sandbox, limits: AsideLimits) -> Policy {
        let (masked, read_only) = match sandbox.name() {
            "bubblewrap" => (self.hidden(), Vec::new()),
            "landlock" => (self.hidden(), vec![self.launcher.path().to_owned()]),
            _ => (std::env::home_dir().map(|home| usual_secrets(&home)).unwrap_or_default(), Vec::new()),
        };
        let limits = Limits {
            memory: Some(limits.memory),
            cpu_seconds: Some(seconds(limits)),
            file_size: Some(0),
            open_files: Some(OPEN_FILES),
            tmp_size: TMP_SIZE,
            ..Limits::default()
        };
        Policy { masked, read_only, network: Network::Off, limits, ..Policy::default() }
    }

    /// What is hidden, each tree once.
    fn hidden(&self) -> Vec<PathBuf> {
        let all = self.hidden.iter().cloned().chain(std::env::home_dir());
        let mut all: Vec<PathBuf> = all.filter_map(|path| path.canonicalize().ok()).filter(|path| can_be_hidden(path)).collect();
        all.sort_unstable();
        // A tree comes right before all that lies in it.
        all.dedup_by(|path, tree| path.starts_with(tree));
        all
    }
}

fn can_be_hidden(path: &Path) -> bool {
    !SYSTEM.iter().any(|system| path.starts_with(system) || Path::new(system).starts_with(path))
}

fn seconds(limits: AsideLimits) -> u64 {
    limits.time.as_secs() + 1
}

/// What a sandbox would have set. The helper has no data yet, so it comes in time.
#[cfg(target_os = "linux")]
fn hold(child: &Child, limits: AsideLimits) -> std::io::Result<()> {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let pid = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
    let Some(pid) = pid else { return Ok(()) };
    let wanted = [
        (Resource::Data, limits.memory),
        (Resource::Cpu, seconds(limits)),
        (Resource::Fsize, 0),
        (Resource::Nofile, OPEN_FILES),
        (Resource::Core, 0),
    ];
    for (resource, limit) in wanted {
        prlimit(Some(pid), resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    }
    Ok(())
}

/// There is no such call elsewhere: its time is what holds it.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "as where it can fail")]
fn hold(_: &Child, _: AsideLimits) -> std::io::Result<()> {
    Ok(())
}

pub(super) fn none() -> ToolError {
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
