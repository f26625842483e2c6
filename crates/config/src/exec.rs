//! Running commands: which programs, who is asked, where, and with how much of the machine.

use haft_contract::{Changes, ExecHost};

use crate::config::{number, word};
use crate::provenance::Provenance;
use crate::{Config, Value};

/// Which programs run without a person's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExecSecurity {
    /// Any.
    Full,
    /// Those that only filter their input, and those that a rule allows.
    SafeBin,
    /// None.
    Paranoid,
}

/// What happens to a program that does not run without a person's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ExecAsk {
    /// It is refused: nobody is asked.
    Auto,
    /// A person is asked.
    #[default]
    Smart,
    /// A person is asked about every program, whatever allows it.
    Always,
}

/// How much of the machine a command may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecLimits {
    /// Bytes of memory.
    pub memory: u64,
    /// Processes at one time.
    pub processes: u64,
    /// Seconds of processor time of each process.
    pub cpu_seconds: u64,
    /// Bytes of one file that is written.
    pub file_size: u64,
    /// Files that each process may have open.
    pub open_files: u64,
    /// Bytes of the private temporary folder.
    pub tmp_size: u64,
}

/// How commands are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exec {
    /// Which programs run without a person's word; if nothing is said, any behind walls, and elsewhere as `safe-bin`.
    pub security: Option<ExecSecurity>,
    /// What happens to the others.
    pub ask: ExecAsk,
    /// Where commands run.
    pub host: ExecHost,
    /// How much of the machine they may use.
    pub limits: ExecLimits,
    /// What becomes of what they change, behind walls.
    pub changes: Changes,
}

/// Whether the walls around commands must stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SandboxMode {
    /// There are none.
    Off,
    /// The best that this machine has, even if it does not hold everything.
    Preferred,
    /// All of them: without, nothing runs.
    #[default]
    Required,
}

/// What the walls are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SandboxBackend {
    /// The best that this machine has.
    #[default]
    Auto,
    /// Namespaces of Linux.
    Bubblewrap,
    /// Landlock of Linux, alone.
    Landlock,
    /// Docker or Podman.
    Container,
    /// The sandbox of macOS.
    Seatbelt,
    /// Nothing.
    None,
}

/// What runs containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ContainerEngine {
    /// The first that works.
    #[default]
    Auto,
    /// Docker.
    Docker,
    /// Podman.
    Podman,
}

/// Which containers commands run in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ContainerSettings {
    /// What runs them.
    pub engine: ContainerEngine,
    /// What they are made from: the name of an image, or the path of a root folder.
    pub image: Option<String>,
    /// One that runs already.
    pub running: Option<String>,
}

/// The walls around commands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sandbox {
    /// Whether they must stand.
    pub mode: SandboxMode,
    /// What they are made of.
    pub backend: SandboxBackend,
    /// Where they are containers.
    pub container: ContainerSettings,
}

impl Config {
    /// Where commands run if a call says nothing. A sandbox without walls is the machine itself, and must be judged as such.
    pub fn exec_host(&self) -> ExecHost {
        let has_walls = self.sandbox.mode != SandboxMode::Off && self.sandbox.backend != SandboxBackend::None;
        if self.exec.host == ExecHost::Sandbox && !has_walls { ExecHost::Host } else { self.exec.host }
    }
}

/// The words of `exec.security`, loosest first.
pub(crate) const SECURITY: &[&str] = &["full", "safe-bin", "paranoid"];
/// The words of `exec.ask`. `auto` is neither looser nor stricter than the others: it refuses, and never asks.
pub(crate) const ASK: &[&str] = &[AUTO, "smart", "always"];
pub(crate) const AUTO: &str = "auto";
/// The words of `exec.changes`, loosest first.
pub(crate) const CHANGES: &[&str] = &["direct", "undo", "review"];
/// The words of `exec.host`.
pub(crate) const HOSTS: &[&str] = &["host", "node", "container", "sandbox"];
/// The words of `sandbox.mode`, loosest first.
pub(crate) const MODES: &[&str] = &["off", "preferred", "required"];
/// The words of `sandbox.container.engine`.
pub(crate) const ENGINES: &[&str] = &["auto", "docker", "podman"];
/// The words of `sandbox.backend`.
pub(crate) const BACKENDS: &[&str] = &["auto", "bubblewrap", "landlock", "container", "seatbelt", "none"];

/// What other systems call the words of a key: the key, their word, ours.
const ALIASES: &[(&str, &str, &str)] = &[
    ("exec.security", "deny", "paranoid"),
    ("exec.security", "allowlist", "safe-bin"),
    ("exec.ask", "off", AUTO),
    ("exec.ask", "on-miss", "smart"),
    ("exec.host", "gateway", "container"),
];

/// What other systems call the words of a key, each with ours.
pub(crate) fn aliases(key: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    ALIASES.iter().filter(move |(of, ..)| *of == key).map(|(_, theirs, ours)| (*theirs, *ours))
}

// Should the key table and the words here ever part, the strictest value holds.
impl From<&Provenance> for Exec {
    fn from(settings: &Provenance) -> Self {
        let host = word(settings, "exec.host");
        let changes = word(settings, "exec.changes");
        Self {
            security: word(settings, "exec.security").map(security),
            ask: ask(word(settings, "exec.ask")),
            host: ExecHost::ALL.into_iter().find(|known| Some(known.as_str()) == host).unwrap_or(ExecHost::Sandbox),
            limits: ExecLimits {
                memory: size(settings, "exec.limits.memory"),
                processes: number(settings, "exec.limits.processes"),
                cpu_seconds: number(settings, "exec.limits.cpu_seconds"),
                file_size: size(settings, "exec.limits.file_size"),
                open_files: number(settings, "exec.limits.open_files"),
                tmp_size: size(settings, "exec.limits.tmp_size"),
            },
            changes: Changes::ALL.into_iter().find(|known| Some(known.as_str()) == changes).unwrap_or(Changes::Review),
        }
    }
}

impl From<&Provenance> for Sandbox {
    fn from(settings: &Provenance) -> Self {
        let mode = match word(settings, "sandbox.mode") {
            Some("off") => SandboxMode::Off,
            Some("preferred") => SandboxMode::Preferred,
            _ => SandboxMode::Required,
        };
        let container = ContainerSettings {
            engine: engine(word(settings, "sandbox.container.engine")),
            image: text(settings, "sandbox.container.image"),
            running: text(settings, "sandbox.container.running"),
        };
        Self { mode, backend: backend(word(settings, "sandbox.backend")), container }
    }
}

fn security(word: &str) -> ExecSecurity {
    match word {
        "full" => ExecSecurity::Full,
        "safe-bin" => ExecSecurity::SafeBin,
        _ => ExecSecurity::Paranoid,
    }
}

fn ask(word: Option<&str>) -> ExecAsk {
    match word {
        Some(AUTO) => ExecAsk::Auto,
        Some("smart") => ExecAsk::Smart,
        _ => ExecAsk::Always,
    }
}

fn backend(word: Option<&str>) -> SandboxBackend {
    match word {
        Some("bubblewrap") => SandboxBackend::Bubblewrap,
        Some("landlock") => SandboxBackend::Landlock,
        Some("container") => SandboxBackend::Container,
        Some("seatbelt") => SandboxBackend::Seatbelt,
        Some("none") => SandboxBackend::None,
        _ => SandboxBackend::Auto,
    }
}

fn engine(word: Option<&str>) -> ContainerEngine {
    match word {
        Some("docker") => ContainerEngine::Docker,
        Some("podman") => ContainerEngine::Podman,
        _ => ContainerEngine::Auto,
    }
}

fn text(settings: &Provenance, key: &str) -> Option<String> {
    match settings.get(key).map(|setting| &setting.value) {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

fn size(settings: &Provenance, key: &str) -> u64 {
    match settings.get(key).map(|setting| &setting.value) {
        Some(Value::Size(bytes)) => *bytes,
        _ => 0,
    }
}
