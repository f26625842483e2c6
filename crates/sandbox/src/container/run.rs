//! A run in a container: its supervision, and its removal until no process of it is left.

use std::fs;
use std::process::{Command as Process, Stdio};
use std::thread;
use std::time::Duration;

use super::engine::EngineClient;
use crate::command::ProcessSpec;
use crate::error::SandboxError;
use crate::launcher::Launcher;
#[cfg(target_os = "linux")]
use crate::launcher::{SupervisorStep, step};

/// An engine may still create a container after it was told to remove it.
const REMOVALS: u32 = 20;
/// Checks for processes that are about to end, after each removal.
const CHECKS: u32 = 15;
const PAUSE: Duration = Duration::from_millis(20);

/// A run in a container. The container outlives the engine's client, so it is removed by a call of the engine.
#[derive(Debug)]
pub(crate) struct ContainerRun {
    name: String,
    removal: ProcessSpec,
}

impl ContainerRun {
    /// With the name of the run, and the arguments of the engine that remove it.
    pub(super) fn new<'a>(client: &EngineClient, name: &str, removal: impl IntoIterator<Item = &'a str>) -> Self {
        Self { name: name.to_owned(), removal: client.command(removal.into_iter().map(Into::into).collect()) }
    }

    /// The command under a supervisor, which removes the container when this program, the host, was killed.
    #[cfg(target_os = "linux")]
    pub(super) fn supervise(&self, command: ProcessSpec, launcher: &Launcher) -> Result<ProcessSpec, SandboxError> {
        let words = [self.removal.program.clone().into()].into_iter().chain(self.removal.arguments.clone());
        let removal = words.map(|word| word.to_string_lossy().into_owned()).collect();
        let supervisor = SupervisorStep { host: std::process::id(), name: self.name.clone(), removal };
        let mut arguments = step::arguments(step::SUPERVISOR, &supervisor)?;
        arguments.push(command.program.into());
        arguments.extend(command.arguments);
        Ok(ProcessSpec { program: launcher.path().to_owned(), arguments, ..command })
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as on Linux")]
    pub(super) fn supervise(&self, command: ProcessSpec, _launcher: &Launcher) -> Result<ProcessSpec, SandboxError> {
        Ok(command)
    }

    /// Removes the container, and returns when no process of it is left. The client ends with its container.
    pub(crate) fn end(&self) {
        let mut removal: Process = self.removal.to_std();
        remove(removal.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()), &self.name);
    }
}

impl Drop for ContainerRun {
    fn drop(&mut self) {
        self.end();
    }
}

/// Calls the engine to remove a run, until no process has its name among the arguments: neither the client, which may still be
/// creating the container, nor the monitor of the container.
pub(crate) fn remove(removal: &mut Process, name: &str) {
    for _ in 0..REMOVALS {
        // It fails where there is nothing to remove, as intended.
        removal.status().ok();
        for _ in 0..CHECKS {
            if !has_process(name) {
                return;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// Whether another process has the name, or a variable of this value, among its arguments; known on Linux only.
fn has_process(name: &str) -> bool {
    let own = std::process::id();
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut commands = pids.filter(|pid| *pid != own).filter_map(|pid| fs::read(format!("/proc/{pid}/cmdline")).ok());
    commands.any(|command| command.split(|byte| *byte == 0).any(|word| names_run(word, name.as_bytes())))
}

fn names_run(word: &[u8], name: &[u8]) -> bool {
    word.strip_suffix(name).is_some_and(|before| matches!(before.last(), None | Some(b'=')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_is_recognized_by_its_whole_name() {
        for (word, expected) in [("haft-1-2", true), ("HAFT_RUN=haft-1-2", true), ("haft-1-23", false), ("xhaft-1-2", false), ("", false)] {
            assert_eq!(names_run(word.as_bytes(), b"haft-1-2"), expected, "{word}");
        }
    }
}
