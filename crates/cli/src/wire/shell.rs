//! How commands run, as it is configured.

use std::path::Path;

use haft_config::{Config, SandboxBackend, SandboxMode};
use haft_host::ShellOptions;
use haft_host::sandbox::{Choice, Launcher, Limits};

use crate::failure::Failure;

/// What the host needs to know of commands. Sockets of running ones lie in the data folder.
pub(super) fn options(config: &Config, data_folder: &Path) -> Result<ShellOptions, Failure> {
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
    Ok(ShellOptions {
        host: config.exec_host(),
        sandbox: if sandbox.mode == SandboxMode::Off { Choice::None } else { choice(sandbox.backend) },
        required: sandbox.mode == SandboxMode::Required,
        launcher,
        image: None,
        limits,
        folder: data_folder.join("run"),
    })
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
