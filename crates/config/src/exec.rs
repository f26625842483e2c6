//! Settings of commands: approval, host, limits and sandbox.

use haft_contract::{ChangeMode, CommandLimits, ContainerEngine, ExecAsk, ExecHost, ExecSecurity, SandboxBackend, SandboxMode};

use crate::Config;
use crate::config::{number, parsed, word};
use crate::provenance::Provenance;

/// How commands are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecSettings {
    /// Which programs run without approval; the default is all in the sandbox, and `safe-bin` elsewhere.
    pub security: Option<ExecSecurity>,
    /// What happens to the others.
    pub ask: ExecAsk,
    /// Where commands run.
    pub host: ExecHost,
    /// Resource limits.
    pub limits: CommandLimits,
    /// How file changes of sandboxed commands are applied.
    pub changes: ChangeMode,
}

/// Containers for commands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ContainerSettings {
    /// The container engine.
    pub engine: ContainerEngine,
    /// The name of an image, or the path of a root folder.
    pub image: Option<String>,
    /// A running container.
    pub running: Option<String>,
}

/// The sandbox around commands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SandboxSettings {
    /// Whether it is required.
    pub mode: SandboxMode,
    /// Its backend.
    pub backend: SandboxBackend,
    /// The container, for that backend.
    pub container: ContainerSettings,
}

impl Config {
    /// The default host of commands. A sandbox that is off is the host itself, and must be evaluated as such.
    pub fn exec_host(&self) -> ExecHost {
        let is_sandboxed = self.sandbox.mode != SandboxMode::Off && self.sandbox.backend != SandboxBackend::None;
        if self.exec.host == ExecHost::Sandbox && !is_sandboxed { ExecHost::Host } else { self.exec.host }
    }
}

/// Other names for the values of a key, each with ours.
pub(crate) fn aliases(key: &str) -> &'static [(&'static str, &'static str)] {
    match key {
        "preset" => crate::presets::ALIASES,
        "exec.security" => ExecSecurity::ALIASES,
        "exec.ask" => ExecAsk::ALIASES,
        "exec.host" => ExecHost::ALIASES,
        "exec.changes" => ChangeMode::ALIASES,
        _ => &[],
    }
}

// A value that is missing is the strictest one.
impl From<&Provenance> for ExecSettings {
    fn from(settings: &Provenance) -> Self {
        Self {
            security: parsed(settings, "exec.security"),
            ask: parsed(settings, "exec.ask").unwrap_or(ExecAsk::Always),
            host: parsed(settings, "exec.host").unwrap_or(ExecHost::Sandbox),
            limits: CommandLimits {
                memory: Some(number(settings, "exec.limits.memory")),
                processes: Some(number(settings, "exec.limits.processes")),
                cpu_seconds: Some(number(settings, "exec.limits.cpu_seconds")),
                file_size: Some(number(settings, "exec.limits.file_size")),
                open_files: Some(number(settings, "exec.limits.open_files")),
                tmp_size: Some(number(settings, "exec.limits.tmp_size")),
            },
            changes: parsed(settings, "exec.changes").unwrap_or(ChangeMode::Review),
        }
    }
}

impl From<&Provenance> for SandboxSettings {
    fn from(settings: &Provenance) -> Self {
        let container = ContainerSettings {
            engine: parsed(settings, "sandbox.container.engine").unwrap_or_default(),
            image: word(settings, "sandbox.container.image").map(str::to_owned),
            running: word(settings, "sandbox.container.running").map(str::to_owned),
        };
        Self {
            mode: parsed(settings, "sandbox.mode").unwrap_or_default(),
            backend: parsed(settings, "sandbox.backend").unwrap_or_default(),
            container,
        }
    }
}
