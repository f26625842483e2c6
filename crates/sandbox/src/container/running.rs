use std::process::{Command as Process, Stdio};

use super::engine::Client;
use super::removal::remove;
use crate::command::Command;
use crate::error::SandboxError;
#[cfg(target_os = "linux")]
use crate::launcher::Keeper;
use crate::launcher::Launcher;

/// Something that may be running in a container. Ending the engine's client does not end it, so the engine is told to.
#[derive(Debug)]
pub(crate) struct Running {
    name: String,
    end: Command,
}

impl Running {
    /// With its name, and what the engine is told at the end.
    pub(super) fn new<'a>(client: &Client, name: &str, end: impl IntoIterator<Item = &'a str>) -> Self {
        Self { name: name.to_owned(), end: client.command(end.into_iter().map(Into::into).collect()) }
    }

    /// The same command under the eyes of a process that ends the container when this program, the host, was killed.
    #[cfg(target_os = "linux")]
    pub(super) fn watched(&self, command: Command, launcher: &Launcher) -> Result<Command, SandboxError> {
        let words = [self.end.program.clone().into()].into_iter().chain(self.end.arguments.clone());
        let end = words.map(|word| word.to_string_lossy().into_owned()).collect();
        let mut arguments = Launcher::keeper(&Keeper { host: std::process::id(), name: self.name.clone(), end })?;
        arguments.push(command.program.into());
        arguments.extend(command.arguments);
        Ok(Command { program: launcher.path().to_owned(), arguments, ..command })
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as on Linux")]
    pub(super) fn watched(&self, command: Command, _launcher: &Launcher) -> Result<Command, SandboxError> {
        Ok(command)
    }

    /// Returns when nothing of it is left. Whoever started it is not killed: it ends with its container.
    pub(crate) fn end(&self) {
        let mut removal: Process = self.end.to_std();
        remove(removal.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()), &self.name);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}
