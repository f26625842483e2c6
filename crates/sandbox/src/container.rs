//! Containers of Docker or Podman, with stricter settings than their defaults.

mod binds;
mod engine;
mod existing;
mod run;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_contract::{CommandLimits, ContainerEngine};
pub(crate) use run::ContainerRun;
#[cfg(target_os = "linux")]
pub(crate) use run::remove;

use crate::command::{ProcessSpec, find_in_path};
use crate::error::SandboxError;
use crate::launcher::Launcher;
#[cfg(target_os = "linux")]
use crate::limits::is_hybrid;
use crate::mounts::{MountPlan, RootFolder};
use crate::policy::{NetworkAccess, SandboxPolicy};
use crate::sandbox::{ConfinedCommand, Sandbox, SandboxGuard};
use engine::EngineClient;
use existing::ExistingContainer;

const NAME: &str = "container";

/// Source of a container's root file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContainerImage {
    /// Name of an image that the engine has already; it is never pulled.
    Named(String),
    /// Folder with a root file system (Podman only).
    RootFolder(PathBuf),
}

/// Container settings of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContainerOptions {
    /// The engine that runs them.
    pub engine: ContainerEngine,
    /// Source of the root file system.
    pub image: Option<ContainerImage>,
    /// Name of a running container to run commands in, instead of creating one.
    pub running: Option<String>,
    /// Folders in which no engine is looked for: commands write there.
    pub roots: Vec<PathBuf>,
}

/// Confines by a new container for each command.
#[derive(Debug, Clone)]
pub struct Container {
    client: EngineClient,
    image: ContainerImage,
    runtime: Option<PathBuf>,
    launcher: Launcher,
}

impl Container {
    /// Uses the engine at this path.
    pub fn new(engine: impl Into<PathBuf>, image: ContainerImage, launcher: Launcher) -> Self {
        Self { client: EngineClient::new(engine), image, runtime: None, launcher }
    }

    /// Finds a working engine and container runtime, or the configured running container.
    ///
    /// # Errors
    /// `Unavailable`, with a remedy.
    pub fn detect(options: &ContainerOptions, launcher: Launcher) -> Result<Arc<dyn Sandbox>, SandboxError> {
        if let Some(name) = &options.running {
            return Ok(Arc::new(ExistingContainer::new(EngineClient::detect(options)?, name, launcher)?));
        }
        let image = options.image.clone().ok_or_else(|| {
            let remedy = "set 'sandbox.container.image' to the name of an image, or to a root folder";
            SandboxError::unavailable(NAME, "no image is configured", remedy)
        })?;
        let client = EngineClient::detect(options)?;
        client.check(&image)?;
        Ok(Arc::new(Self { client, image, runtime: None, launcher }.with_working_runtime(&options.roots)?))
    }

    /// Podman's default runtime, `crun`, refuses a machine with both versions of control groups.
    fn with_working_runtime(self, roots: &[PathBuf]) -> Result<Self, SandboxError> {
        if !self.client.is_podman() || !is_hybrid() {
            return Ok(self);
        }
        let why = "this machine has control groups of both versions, which 'crun' refuses";
        let runtime =
            find_in_path("runc", roots).into_iter().next().ok_or_else(|| SandboxError::unavailable(NAME, why, "install 'runc'"))?;
        Ok(self.runtime(runtime))
    }

    /// Sets the container runtime.
    pub fn runtime(mut self, runtime: impl Into<PathBuf>) -> Self {
        self.runtime = Some(runtime.into());
        self
    }

    fn run_arguments(&self, name: &str, policy: &SandboxPolicy, plan: &MountPlan) -> Result<Vec<OsString>, SandboxError> {
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
        arguments.extend(user_arguments(self.client.is_podman()));
        arguments.extend(limit_arguments(&policy.limits));
        arguments.extend(binds::arguments(plan, policy.tmp_size(), self.client.is_podman(), self.launcher.path())?);
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

    fn wrap(&self, command: ProcessSpec, policy: &SandboxPolicy) -> Result<ConfinedCommand, SandboxError> {
        policy.refuse_overlay(NAME)?;
        refuse_network(policy)?;
        let plan = MountPlan::new(RootFolder::Image, policy, &[self.launcher.path()])?;
        let name = name();
        let mut arguments = self.run_arguments(&name, policy, &plan)?;
        arguments.extend(["--workdir".into(), command.directory.into()]);
        arguments.extend(variables(command.environment));
        match &self.image {
            ContainerImage::Named(image) => arguments.push(image.into()),
            // On an overlay: mount points are created in the root, and must not stay there.
            ContainerImage::RootFolder(folder) => arguments.extend(["--rootfs".into(), format!("{}:O", binds::text(folder)?).into()]),
        }
        arguments.push(command.program.into());
        arguments.extend(command.arguments);
        let run = ContainerRun::new(&self.client, &name, self.client.removal().iter().copied().chain([&*name]));
        let command = run.supervise(self.client.command(arguments), &self.launcher)?;
        Ok(ConfinedCommand { command, guard: SandboxGuard::for_container(run) })
    }
}

fn refuse_network(policy: &SandboxPolicy) -> Result<(), SandboxError> {
    if policy.network == NetworkAccess::Off {
        return Ok(());
    }
    let why = "a container with a network reaches more than the policy allows";
    Err(SandboxError::unsupported(NAME, why, "run the command without network access, or use bubblewrap"))
}

fn name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("haft-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Only Linux has control groups.
#[cfg(not(target_os = "linux"))]
fn is_hybrid() -> bool {
    false
}

/// The command runs as the current user, so that its files belong to that user. Rootless Podman needs an option for that.
fn user_arguments(podman: bool) -> Vec<OsString> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let mut arguments = vec!["--user".into(), format!("{}:{}", user.as_raw(), group.as_raw()).into()];
    if podman && !user.is_root() {
        arguments.extend(["--userns".into(), "keep-id".into()]);
    }
    arguments
}

fn limit_arguments(limits: &CommandLimits) -> Vec<OsString> {
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
