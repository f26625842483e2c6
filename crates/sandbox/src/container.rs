//! Containers of Docker or Podman, with everything shut that they leave open by themselves.

mod binds;
mod engine;
mod entered;
mod removal;
mod running;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use engine::Engine;
#[cfg(target_os = "linux")]
pub(crate) use removal::remove;
pub(crate) use running::Running;

use crate::command::Command;
use crate::error::SandboxError;
use crate::launcher::Launcher;
#[cfg(target_os = "linux")]
use crate::limits::is_hybrid;
use crate::mounts::Plan;
use crate::policy::{Limits, Network, Policy};
use crate::sandbox::{Guard, Sandbox, Wrapped};
use engine::Client;
use entered::Entered;

const NAME: &str = "container";

/// What a container is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Image {
    /// An image that the engine has, by its name. It is never fetched.
    Named(String),
    /// A root file system in a directory (Podman only).
    RootFolder(PathBuf),
}

/// What the person's configuration says of containers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContainerOptions {
    /// What runs them.
    pub engine: Engine,
    /// What they are made from.
    pub image: Option<Image>,
    /// One that runs already, to run commands in; then nothing is made.
    pub running: Option<String>,
}

/// Confines by a container for each command.
#[derive(Debug, Clone)]
pub struct Container {
    client: Client,
    image: Image,
    runtime: Option<PathBuf>,
    launcher: Launcher,
}

impl Container {
    /// With the engine at this path.
    pub fn new(engine: impl Into<PathBuf>, image: Image, launcher: Launcher) -> Self {
        Self { client: Client::new(engine), image, runtime: None, launcher }
    }

    /// Finds an engine that works, and a runner of containers that works on this machine; or the container that is named.
    ///
    /// # Errors
    /// `Unavailable`, with what to do.
    pub fn detect(options: &ContainerOptions, launcher: Launcher) -> Result<Arc<dyn Sandbox>, SandboxError> {
        if let Some(name) = &options.running {
            return Ok(Arc::new(Entered::new(Client::detect(options.engine)?, name, launcher)?));
        }
        let image = options.image.clone().ok_or_else(|| {
            let remedy = "set 'sandbox.container.image' to the name of an image, or to a root folder";
            SandboxError::unavailable(NAME, "no image is configured", remedy)
        })?;
        let client = Client::detect(options.engine)?;
        client.check(&image)?;
        Ok(Arc::new(Self { client, image, runtime: None, launcher }.on_this_machine()?))
    }

    /// Podman's usual runner, `crun`, refuses a machine with both versions of control groups.
    fn on_this_machine(self) -> Result<Self, SandboxError> {
        if !self.client.is_podman() || !is_hybrid() {
            return Ok(self);
        }
        let why = "this machine has control groups of both versions, which 'crun' refuses";
        let runner = engine::in_path("runc").next().ok_or_else(|| SandboxError::unavailable(NAME, why, "install 'runc'"))?;
        Ok(self.runtime(runner))
    }

    /// Chooses the program that runs containers.
    pub fn runtime(mut self, runtime: impl Into<PathBuf>) -> Self {
        self.runtime = Some(runtime.into());
        self
    }

    fn run_arguments(&self, name: &str, policy: &Policy, plan: &Plan) -> Result<Vec<OsString>, SandboxError> {
        let mut arguments: Vec<OsString> = Vec::new();
        if let Some(runtime) = &self.runtime {
            arguments.extend(["--runtime".into(), runtime.into()]);
        }
        let fixed = "run --rm --interactive --init=false --pull=never --network none --read-only --cap-drop ALL --security-opt no-new-privileges \
                     --ipc private --hostname haft --log-driver none --name";
        arguments.extend(fixed.split_whitespace().map(OsString::from));
        arguments.push(name.into());
        #[cfg(target_os = "linux")]
        arguments.extend(["--security-opt".into(), crate::launcher::FILTER.into()]);
        arguments.extend(person_arguments(self.client.is_podman()));
        arguments.extend(limit_arguments(&policy.limits));
        arguments.extend(binds::arguments(plan, policy.limits.tmp_size, self.client.is_podman(), self.launcher.path())?);
        Ok(arguments)
    }
}

impl Sandbox for Container {
    fn name(&self) -> &'static str {
        NAME
    }

    fn has_own_root(&self) -> bool {
        true
    }

    fn wrap(&self, command: Command, policy: &Policy) -> Result<Wrapped, SandboxError> {
        policy.refuse_overlay(NAME)?;
        refuse_network(policy)?;
        let mut plan = Plan::new(policy, &[self.launcher.path()])?;
        let name = name();
        let mut arguments = self.run_arguments(&name, policy, &plan)?;
        arguments.extend(["--workdir".into(), command.directory.into()]);
        arguments.extend(variables(command.environment));
        match &self.image {
            Image::Named(image) => arguments.push(image.into()),
            // Upon an overlay: the places to mount upon are made in the root, and must not stay there.
            Image::RootFolder(folder) => arguments.extend(["--rootfs".into(), format!("{}:O", binds::text(folder)?).into()]),
        }
        arguments.push(command.program.into());
        arguments.extend(command.arguments);
        let running = Running::new(&self.client, &name, self.client.removal().iter().copied().chain([&*name]));
        let command = running.watched(self.client.command(arguments), &self.launcher)?;
        Ok(Wrapped { command, guard: Guard { placeholders: plan.take_placeholders(), ..Guard::of(running) } })
    }
}

fn refuse_network(policy: &Policy) -> Result<(), SandboxError> {
    if policy.network == Network::Off {
        return Ok(());
    }
    let why = "a container with a network reaches more than the policy can say";
    Err(SandboxError::unsupported(NAME, why, "run it without hosts to reach, or in the sandbox 'bubblewrap'"))
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

/// The command is the person who runs it, so that what it writes is theirs. Without root, Podman must be told to keep the number.
fn person_arguments(podman: bool) -> Vec<OsString> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let mut arguments = vec!["--user".into(), format!("{}:{}", user.as_raw(), group.as_raw()).into()];
    if podman && !user.is_root() {
        arguments.extend(["--userns".into(), "keep-id".into()]);
    }
    arguments
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
