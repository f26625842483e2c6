//! How commands run, as it is configured.

use std::path::Path;

use haft_config::{Config, ContainerEngine, ContainerSettings, SandboxBackend, SandboxMode};
use haft_host::sandbox::{Choice, ContainerOptions, Engine, Image, Launcher, Limits};
use haft_host::{ChangeOptions, ShellOptions};

use super::jobs::RUN;
use crate::failure::Failure;

/// Who calls the tools: a person's calls are one session, however many processes make them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    OfPerson,
    OfModel,
}

/// What the host needs to know of commands. Sockets of running ones lie in the data folder.
pub(super) fn options(config: &Config, data_folder: &Path, calls: Calls) -> Result<ShellOptions, Failure> {
    let launcher = Launcher::current().map_err(|error| Failure::failed("sandbox_unavailable", error.to_string()))?;
    let (exec, sandbox) = (&config.exec, &config.sandbox);
    let limits = Limits {
        memory: Some(exec.limits.memory),
        processes: Some(exec.limits.processes),
        cpu_seconds: Some(exec.limits.cpu_seconds),
        file_size: Some(exec.limits.file_size),
        open_files: Some(exec.limits.open_files),
        tmp_size: exec.limits.tmp_size,
    };
    let usual = ShellOptions::new(launcher, data_folder);
    Ok(ShellOptions {
        host: config.exec_host(),
        sandbox: if sandbox.mode == SandboxMode::Off { Choice::None } else { choice(sandbox.backend) },
        required: sandbox.mode == SandboxMode::Required,
        container: containers(&sandbox.container),
        limits,
        folder: data_folder.join(RUN),
        changes: ChangeOptions { mode: exec.changes, of_any_session: calls == Calls::OfPerson, ..usual.changes },
        ..usual
    })
}

fn containers(settings: &ContainerSettings) -> ContainerOptions {
    let engine = match settings.engine {
        ContainerEngine::Auto => Engine::Auto,
        ContainerEngine::Docker => Engine::Docker,
        ContainerEngine::Podman => Engine::Podman,
    };
    ContainerOptions { engine, image: settings.image.as_deref().map(image), running: settings.running.clone() }
}

/// No image has a name that begins as a path does.
fn image(text: &str) -> Image {
    match text.strip_prefix("~/").zip(std::env::home_dir()) {
        Some((rest, home)) => Image::RootFolder(home.join(rest)),
        None if text.starts_with('/') => Image::RootFolder(text.into()),
        None => Image::Named(text.to_owned()),
    }
}

const fn choice(backend: SandboxBackend) -> Choice {
    match backend {
        SandboxBackend::Auto => Choice::Auto,
        SandboxBackend::Bubblewrap => Choice::Bubblewrap,
        SandboxBackend::Landlock => Choice::Landlock,
        SandboxBackend::Container => Choice::Container,
        SandboxBackend::Seatbelt => Choice::Seatbelt,
        SandboxBackend::None => Choice::None,
    }
}
