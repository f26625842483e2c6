//! How commands run, as it is configured.

use std::path::Path;

use haft_config::{Config, ContainerSettings};
use haft_contract::{ExecHost, SandboxBackend, SandboxDemand, SandboxMode};
use haft_jobs::{ChangeOptions, ShellOptions};
use haft_sandbox::{ContainerImage, ContainerOptions, Launcher};

use super::jobs::RUN;
use crate::failure::Failure;

/// The small program beside this one that starts sandboxes.
const LAUNCHER: &str = "haft-launcher";

/// Who calls the tools: the user's calls are one session, however many processes make them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    OfUser,
    OfModel,
    /// Calls that are undone.
    Undone,
}

/// What the host needs to know of commands. Sockets of running ones lie in the data folder.
pub(super) fn options(config: &Config, data_folder: &Path, calls: Calls) -> Result<ShellOptions, Failure> {
    let program = Launcher::current().map_err(|error| Failure::failed("sandbox_unavailable", error.to_string()))?;
    let (exec, sandbox) = (&config.exec, &config.sandbox);
    let usual = ShellOptions::new(program.small(LAUNCHER).unwrap_or_else(|| program.clone()), data_folder);
    Ok(ShellOptions {
        program,
        host: config.exec_host(),
        sandbox: if sandbox.mode == SandboxMode::Off { SandboxBackend::None } else { sandbox.backend },
        required: sandbox.mode == SandboxMode::Required,
        container: containers(&sandbox.container),
        limits: exec.limits,
        folder: data_folder.join(RUN),
        changes: ChangeOptions {
            mode: exec.changes,
            stages_unattended: calls == Calls::OfModel,
            of_any_session: calls != Calls::OfModel,
            retention: config.retention.changes,
            ..usual.changes
        },
        checkpoint_retention: config.retention.checkpoints,
        quarantine_retention: config.retention.quarantine,
        ..usual
    })
}

/// The options of an agent whose commands run in the sandbox or not at all.
pub(super) fn demanded(options: ShellOptions, sandbox: SandboxDemand) -> ShellOptions {
    match sandbox {
        SandboxDemand::Inherit => options,
        SandboxDemand::Require => {
            let host = if options.host.is_sandboxed() { options.host } else { ExecHost::Sandbox };
            ShellOptions { host, required: true, sandbox_only: true, ..options }
        }
    }
}

fn containers(settings: &ContainerSettings) -> ContainerOptions {
    let (image, running) = (settings.image.as_deref().map(image), settings.running.clone());
    ContainerOptions { engine: settings.engine, image, running, ..ContainerOptions::default() }
}

/// No image has a name that begins as a path does.
fn image(text: &str) -> ContainerImage {
    match text.strip_prefix("~/").zip(std::env::home_dir()) {
        Some((rest, home)) => ContainerImage::RootFolder(home.join(rest)),
        None if text.starts_with('/') => ContainerImage::RootFolder(text.into()),
        None => ContainerImage::Named(text.to_owned()),
    }
}
