//! Helpers: this very program, started again to read what may be hostile. A helper gets its data and gives its answer, and
//! reaches nothing else.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use haft_contract::{AsideLimits, ErrorKind, Helped, ToolError};
use haft_sandbox::{
    Choice, Command, ContainerOptions, Guard, Limits, Network, Picked, Policy, Request, Sandbox, SandboxError, Unconfined, Wrapped, judge,
    usual_secrets,
};
use tokio::process::Child;
use tokio_util::sync::CancellationToken;

use super::group::Group;
use super::spawner::on_lasting_thread;
use super::{Errand, ShellOptions, attend};

const OPEN_FILES: u64 = 64;
const TMP_SIZE: u64 = 1024 * 1024;
/// What a program cannot start without.
const SYSTEM: &[&str] = &["/usr", "/lib", "/lib64", "/bin", "/proc", "/dev", "/nix"];

/// Starts helpers.
pub(super) struct Helpers {
    request: Request,
    hidden: Vec<PathBuf>,
    /// The best that works here: looking takes a while.
    picked: OnceLock<Picked>,
}

impl std::fmt::Debug for Helpers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Helpers").field("request", &self.request).finish_non_exhaustive()
    }
}

/// A helper that waits for its data.
struct Started {
    /// To be dropped when the helper has ended.
    guard: Guard,
    group: Group,
    child: Child,
    walls: &'static str,
    lacks: Vec<String>,
}

impl Helpers {
    /// Whose helpers see nothing of these paths, nor of the person's own files; behind walls wherever commands are.
    pub(super) fn new(options: &ShellOptions, hidden: Vec<PathBuf>) -> Self {
        let choice = if options.sandbox == Choice::None { Choice::None } else { Choice::Auto };
        let request = Request {
            choice,
            required: options.required && choice != Choice::None,
            launcher: options.launcher.clone(),
            // None: a container has another root, in which this program may not be able to run.
            container: ContainerOptions::default(),
        };
        Self { request, hidden, picked: OnceLock::new() }
    }

    /// Runs a stage to its end, its time, or the cancellation.
    pub(super) async fn run(
        self: Arc<Self>,
        stage: &'static str,
        input: Vec<u8>,
        limits: AsideLimits,
        cancel: CancellationToken,
    ) -> Result<Helped, ToolError> {
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        let started = on_lasting_thread(move || self.start(stage, limits)).await;
        let Started { guard, group, child, walls, lacks } = started.map_err(|error| not_started(&error))??;
        let errand = Errand { input, output_limit: limits.output, timeout: limits.time };
        let ended = attend(group, child, errand, &cancel).await;
        // It goes wherever there is time for it; nobody waits for more than its end.
        drop(tokio::task::spawn_blocking(move || drop(guard)).await);
        let output = ended.map_err(|error| ToolError::execution(format!("A helper could not be waited for: {error}.")))?;
        let output = output.ok_or_else(cancelled)?;
        match haft_sandbox::launcher::setup_failure(output.code, &output.stderr) {
            Some(why) => Err(not_started(&why)),
            None => Ok(Helped { output, walls: walls.to_owned(), lacks }),
        }
    }

    /// Blocks: it tries sandboxes, and makes control groups.
    fn start(&self, stage: &'static str, limits: AsideLimits) -> Result<Started, ToolError> {
        let Picked { sandbox, passed, .. } = self.picked().map_err(|why| not_started(&why))?;
        let policy = self.policy(&**sandbox, limits);
        let gaps = judge(&**sandbox, &policy, self.request.required).map_err(|why| not_started(&why))?;
        let Wrapped { command, guard } = sandbox.wrap(self.command(&**sandbox, stage), &policy).map_err(|why| not_started(&why))?;
        let mut command = tokio::process::Command::from(command.to_std());
        let piped = std::process::Stdio::piped;
        command.stdin(piped()).stdout(piped()).stderr(piped());
        let (group, child) = Group::spawn(&mut command).map_err(|error| not_started(&error))?;
        let is_free = self.request.choice == Choice::None;
        if is_free {
            // It is a process of its own still, and what ends it ends nothing else.
            hold(&child, limits).map_err(|error| not_started(&error))?;
        }
        let lacks = if is_free { Vec::new() } else { gaps.into_iter().chain(passed.iter().map(ToString::to_string)).collect() };
        Ok(Started { guard, group, child, walls: sandbox.name(), lacks })
    }

    fn picked(&self) -> Result<&Picked, SandboxError> {
        match self.picked.get() {
            Some(picked) => Ok(picked),
            None => haft_sandbox::pick(&self.request, &Policy::default()).map(|picked| self.picked.get_or_init(|| picked)),
        }
    }

    /// Where its file is hidden with all that lies around it, a program can still be started from itself.
    fn command(&self, sandbox: &dyn Sandbox, stage: &'static str) -> Command {
        let confined = cfg!(target_os = "linux") && sandbox.name() != Unconfined.name();
        let program = if confined { Path::new("/proc/self/exe") } else { self.request.launcher.path() };
        Command::new(program, "/").argument(stage)
    }

    fn policy(&self, sandbox: &dyn Sandbox, limits: AsideLimits) -> Policy {
        let (masked, read_only) = match sandbox.name() {
            "bubblewrap" => (self.hidden(), Vec::new()),
            "landlock" => (self.hidden(), vec![self.request.launcher.path().to_owned()]),
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
