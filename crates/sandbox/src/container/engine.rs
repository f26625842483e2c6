//! Container engines: detection, and calls of their clients.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command as Process, Stdio};

use super::{ContainerImage, ContainerOptions, NAME};
use crate::command::{ProcessSpec, find_in_path};
use crate::error::SandboxError;
use haft_contract::ContainerEngine;

/// Variables that a client needs to find its store; no others are passed.
const PASSED_VARIABLES: &[&str] = &["PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "CONTAINER_HOST"];

fn programs(engine: ContainerEngine) -> &'static [&'static str] {
    match engine {
        ContainerEngine::Auto => &["podman", "docker"],
        ContainerEngine::Docker => &["docker"],
        ContainerEngine::Podman => &["podman"],
    }
}

/// Client program of an engine.
#[derive(Debug, Clone)]
pub(super) struct EngineClient {
    program: PathBuf,
}

impl EngineClient {
    pub(super) fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }

    /// Finds a client that responds.
    pub(super) fn detect(options: &ContainerOptions) -> Result<Self, SandboxError> {
        let mut reasons = Vec::new();
        for client in programs(options.engine).iter().flat_map(|name| find_in_path(name, &options.roots)).map(Self::new) {
            match client.query(&["info"]) {
                Ok(_) => return Ok(client),
                Err(reason) => reasons.push(reason),
            }
        }
        let names = programs(options.engine).join("' or '");
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

    /// Arguments that remove a container at once; without a time Podman waits ten seconds first.
    pub(super) fn removal(&self) -> &'static [&'static str] {
        if self.is_podman() { &["rm", "--force", "--time", "0"] } else { &["rm", "--force"] }
    }

    /// Checks that a container can be created from the image.
    pub(super) fn check(&self, image: &ContainerImage) -> Result<(), SandboxError> {
        let refused = |why: String, remedy: &str| Err(SandboxError::unavailable(NAME, why, remedy));
        match image {
            ContainerImage::RootFolder(folder) if !self.is_podman() => refused(
                format!("docker cannot use the root folder {}", folder.display()),
                "install podman, or set 'sandbox.container.image' to the name of an image",
            ),
            ContainerImage::RootFolder(folder) if !folder.is_dir() => {
                refused(format!("{} is no folder", folder.display()), "correct 'sandbox.container.image'")
            }
            ContainerImage::RootFolder(_) => Ok(()),
            ContainerImage::Named(name) if !is_name(name) => Err(SandboxError::policy(format!("'{name}' is no valid image name"))),
            ContainerImage::Named(name) => match self.query(&["image", "inspect", "--format", "{{.Id}}", name]) {
                Ok(_) => Ok(()),
                Err(_) => refused(
                    format!("there is no local image '{name}', and images are never pulled"),
                    "pull or build it first, or correct 'sandbox.container.image'",
                ),
            },
        }
    }

    /// Output of an engine call.
    pub(super) fn query(&self, arguments: &[&str]) -> Result<String, String> {
        let output = Process::new(&self.program).args(arguments).stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("cannot run {}: {error}", self.program.display()))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        Err(format!("{} does not work: {}", self.program.display(), stderr.lines().next().unwrap_or("no message")))
    }

    /// An engine call. The client does not get the environment of the command.
    pub(super) fn command(&self, arguments: Vec<OsString>) -> ProcessSpec {
        let environment = PASSED_VARIABLES.iter().filter_map(|name| Some((OsString::from(name), env::var_os(name)?))).collect();
        ProcessSpec { program: self.program.clone(), arguments, directory: "/".into(), environment }
    }
}

/// A name must not be an option.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('-') && !name.contains(|ch: char| ch.is_whitespace() || ch.is_control())
}
