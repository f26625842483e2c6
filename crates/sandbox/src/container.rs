//! Containers of Docker or Podman, with everything shut that they leave open by themselves.

mod binds;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::command::Command;
use crate::error::SandboxError;
#[cfg(target_os = "linux")]
use crate::limits::is_hybrid;
use crate::policy::{Limits, Network, Policy};
use crate::sandbox::{Guard, Sandbox, Wrapped};

const NAME: &str = "container";
const ENGINES: &[&str] = &["podman", "docker"];

/// What a container is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Image {
    /// An image that the engine has, by its name. It is never fetched.
    Named(String),
    /// A root file system in a directory (Podman only).
    RootFolder(PathBuf),
}

/// Confines by a container for each command.
#[derive(Debug, Clone)]
pub struct Container {
    engine: PathBuf,
    image: Image,
    runtime: Option<PathBuf>,
}

impl Container {
    /// With the engine at this path.
    pub fn new(engine: impl Into<PathBuf>, image: Image) -> Self {
        Self { engine: engine.into(), image, runtime: None }
    }

    /// Finds an engine that works, and a runner of containers that works on this machine.
    ///
    /// # Errors
    /// `Unavailable`, with what to do.
    pub fn detect(image: Image) -> Result<Self, SandboxError> {
        let mut reasons = Vec::new();
        for engine in ENGINES.iter().flat_map(|name| in_path(name)) {
            match answers(&engine) {
                Ok(()) => return Self::new(engine, image).on_this_machine(),
                Err(reason) => reasons.push(reason),
            }
        }
        let why = if reasons.is_empty() { "neither podman nor docker is installed".to_owned() } else { reasons.join("; ") };
        Err(SandboxError::unavailable(NAME, why, "install podman, or start the service of docker"))
    }

    /// Podman's usual runner, `crun`, refuses a machine with both versions of control groups.
    fn on_this_machine(self) -> Result<Self, SandboxError> {
        if !self.is_podman() || !is_hybrid() {
            return Ok(self);
        }
        let why = "this machine has control groups of both versions, which 'crun' refuses";
        let runner = in_path("runc").next().ok_or_else(|| SandboxError::unavailable(NAME, why, "install 'runc'"))?;
        Ok(self.runtime(runner))
    }

    fn is_podman(&self) -> bool {
        self.engine.ends_with("podman")
    }

    /// Chooses the program that runs containers.
    pub fn runtime(mut self, runtime: impl Into<PathBuf>) -> Self {
        self.runtime = Some(runtime.into());
        self
    }

    /// The same command inside a container that runs already.
    ///
    /// # Errors
    /// Where the name is none.
    pub fn exec(&self, name: &str, command: Command) -> Result<Command, SandboxError> {
        if name.is_empty() || name.starts_with('-') {
            return Err(SandboxError::policy(format!("'{name}' is no name of a container")));
        }
        let mut arguments: Vec<OsString> = vec!["exec".into(), "--interactive".into(), "--workdir".into(), command.directory.into()];
        arguments.extend(variables(command.environment));
        arguments.extend([name.into(), command.program.into()]);
        arguments.extend(command.arguments);
        Ok(self.command(arguments))
    }

    /// The client needs its own environment to find its store; nothing of the command's is in it.
    fn command(&self, arguments: Vec<OsString>) -> Command {
        let kept = ["PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "CONTAINER_HOST"];
        let environment = kept.iter().filter_map(|name| Some((OsString::from(name), env::var_os(name)?))).collect();
        Command { program: self.engine.clone(), arguments, directory: "/".into(), environment }
    }

    fn run_arguments(&self, name: &str, policy: &Policy) -> Result<Vec<OsString>, SandboxError> {
        let mut arguments: Vec<OsString> = Vec::new();
        if let Some(runtime) = &self.runtime {
            arguments.extend(["--runtime".into(), runtime.into()]);
        }
        let fixed = "run --rm --interactive --init=false --pull=never --network none --read-only --cap-drop ALL --security-opt no-new-privileges \
                     --ipc private --hostname haft --log-driver none --name";
        arguments.extend(fixed.split_whitespace().map(OsString::from));
        arguments.push(name.into());
        arguments.extend(limit_arguments(&policy.limits));
        arguments.extend(binds::arguments(policy, self.is_podman())?);
        Ok(arguments)
    }
}

impl Sandbox for Container {
    fn name(&self) -> &'static str {
        NAME
    }

    fn wrap(&self, command: Command, policy: &Policy) -> Result<Wrapped, SandboxError> {
        if policy.network != Network::Off {
            let why = "a container with a network reaches more than the policy can say";
            return Err(SandboxError::unsupported(NAME, why, "set the network to 'off', or use bubblewrap"));
        }
        let running = Running { engine: self.engine.clone(), name: name() };
        let mut arguments = self.run_arguments(&running.name, policy)?;
        arguments.extend(["--workdir".into(), command.directory.into()]);
        arguments.extend(variables(command.environment));
        match &self.image {
            Image::Named(image) if image.is_empty() || image.starts_with('-') => {
                return Err(SandboxError::policy(format!("'{image}' is no name of an image")));
            }
            Image::Named(image) => arguments.push(image.into()),
            Image::RootFolder(folder) => arguments.extend(["--rootfs".into(), folder.into()]),
        }
        arguments.push(command.program.into());
        arguments.extend(command.arguments);
        Ok(Wrapped { command: self.command(arguments), guard: Guard::of(running) })
    }

    fn gaps(&self, policy: &Policy) -> Vec<String> {
        let missing = policy.protected.iter().filter(|path| !path.exists());
        missing.map(|path| format!("{} can be created", path.display())).collect()
    }
}

/// A container that may be running. Ending its client does not end it, so it is removed by name.
#[derive(Debug)]
pub(crate) struct Running {
    engine: PathBuf,
    name: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut removal = Process::new(&self.engine);
        removal.args(["rm", "--force", &self.name]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // It fails where the container was never made, or has removed itself already.
        removal.status().ok();
    }
}

fn name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("haft-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// There are no control groups here.
#[cfg(not(target_os = "linux"))]
fn is_hybrid() -> bool {
    false
}

fn in_path(name: &str) -> impl Iterator<Item = PathBuf> + use<> {
    let path = env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name)).collect();
    places.into_iter().filter(|place| place.is_file())
}

fn answers(engine: &Path) -> Result<(), String> {
    let output = Process::new(engine).arg("info").stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot run {}: {error}", engine.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{} does not work: {}", engine.display(), said.lines().next().unwrap_or("it said nothing")))
}

fn limit_arguments(limits: &Limits) -> Vec<OsString> {
    let mut arguments = Vec::new();
    let mut option = |name: &str, value: Option<String>| arguments.extend(value.into_iter().flat_map(|value| [name.into(), value.into()]));
    option("--memory", limits.memory.map(|bytes| bytes.to_string()));
    option("--memory-swap", limits.memory.map(|bytes| bytes.to_string()));
    option("--pids-limit", limits.processes.map(|count| count.to_string()));
    let ulimit = |name: &str, value: Option<u64>| value.map(|value| format!("{name}={value}:{value}"));
    option("--ulimit", ulimit("nofile", limits.open_files));
    option("--ulimit", ulimit("nproc", limits.processes));
    option("--ulimit", ulimit("fsize", limits.file_size));
    option("--ulimit", ulimit("cpu", limits.cpu_seconds));
    option("--ulimit", ulimit("core", Some(0)));
    arguments
}

fn variables(environment: Vec<(OsString, OsString)>) -> Vec<OsString> {
    let pair = |(name, value): (OsString, OsString)| {
        let mut pair = name;
        pair.push("=");
        pair.push(value);
        ["--env".into(), pair]
    };
    environment.into_iter().flat_map(pair).collect()
}

#[cfg(test)]
mod tests;
