//! The programs that run containers: which there are, and whether they can be used.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use super::{Image, NAME};
use crate::command::Command;
use crate::error::SandboxError;

/// What a client needs of the host's environment to find its store, and nothing else.
const KEPT: &[&str] = &["PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "CONTAINER_HOST"];

/// Which engine is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Engine {
    /// The first that works: Podman, then Docker.
    #[default]
    Auto,
    /// Docker.
    Docker,
    /// Podman.
    Podman,
}

impl Engine {
    fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Auto => &["podman", "docker"],
            Self::Docker => &["docker"],
            Self::Podman => &["podman"],
        }
    }
}

/// The program of an engine.
#[derive(Debug, Clone)]
pub(super) struct Client {
    program: PathBuf,
}

impl Client {
    pub(super) fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }

    /// Finds one that answers.
    pub(super) fn detect(engine: Engine) -> Result<Self, SandboxError> {
        let mut reasons = Vec::new();
        for client in engine.programs().iter().flat_map(|name| in_path(name)).map(Self::new) {
            match client.ask(&["info"]) {
                Ok(_) => return Ok(client),
                Err(reason) => reasons.push(reason),
            }
        }
        let names = engine.programs().join("' or '");
        let why = if reasons.is_empty() { format!("'{names}' is not installed") } else { reasons.join("; ") };
        Err(SandboxError::unavailable(
            NAME,
            why,
            "install podman (for example: sudo apt-get install podman), or start the service of docker",
        ))
    }

    pub(super) fn is_podman(&self) -> bool {
        self.program.ends_with("podman")
    }

    /// How a container is removed at once. Podman would first give it ten seconds to end by itself.
    pub(super) fn removal(&self) -> &'static [&'static str] {
        if self.is_podman() { &["rm", "--force", "--time", "0"] } else { &["rm", "--force"] }
    }

    /// Whether a container can be made from it.
    pub(super) fn check(&self, image: &Image) -> Result<(), SandboxError> {
        let refused = |why: String, remedy: &str| Err(SandboxError::unavailable(NAME, why, remedy));
        match image {
            Image::RootFolder(folder) if !self.is_podman() => refused(
                format!("docker makes no container from the folder {}", folder.display()),
                "install podman, or set 'sandbox.container.image' to the name of an image",
            ),
            Image::RootFolder(folder) if !folder.is_dir() => {
                refused(format!("{} is no folder", folder.display()), "correct 'sandbox.container.image'")
            }
            Image::RootFolder(_) => Ok(()),
            Image::Named(name) if !is_name(name) => Err(SandboxError::policy(format!("'{name}' is no name of an image"))),
            Image::Named(name) => match self.ask(&["image", "inspect", "--format", "{{.Id}}", name]) {
                Ok(_) => Ok(()),
                Err(_) => refused(
                    format!("there is no image '{name}' here, and none is fetched"),
                    "pull or build it first, or correct 'sandbox.container.image'",
                ),
            },
        }
    }

    /// What the engine answers.
    pub(super) fn ask(&self, arguments: &[&str]) -> Result<String, String> {
        let output = Process::new(&self.program).args(arguments).stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("cannot run {}: {error}", self.program.display()))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{} does not work: {}", self.program.display(), said.lines().next().unwrap_or("it said nothing")))
    }

    /// A call of the engine. Nothing of the command's environment is in that of the client.
    pub(super) fn command(&self, arguments: Vec<OsString>) -> Command {
        let environment = KEPT.iter().filter_map(|name| Some((OsString::from(name), env::var_os(name)?))).collect();
        Command { program: self.program.clone(), arguments, directory: "/".into(), environment }
    }
}

/// What begins with a dash would be an option.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('-') && !name.contains(|letter: char| letter.is_whitespace() || letter.is_control())
}

pub(super) fn in_path(name: &str) -> impl Iterator<Item = PathBuf> + use<> {
    let path = env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = env::split_paths(&path).filter(|folder| Path::is_absolute(folder)).map(|folder| folder.join(name)).collect();
    places.into_iter().filter(|place| place.is_file())
}
