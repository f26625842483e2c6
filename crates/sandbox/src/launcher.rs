//! The launcher: the host's own program, executed again, which confines itself and then executes the command.
//!
//! The outer step runs on the host: it joins the control group and makes the namespaces and mounts, or executes bubblewrap where the
//! kernel lets only that do it. The inner step runs inside: it drops the remaining privileges and starts the command. Each is single-threaded and stops at the first failure, so the command never
//! runs unconfined.
//!
//! The inner step is the init of its PID namespace and stays: the kernel ends all other processes with it, before its exit can
//! be seen outside. So when the run has ended, everything that it started has.

#[cfg(target_os = "linux")]
mod guard;
#[cfg(target_os = "linux")]
pub(crate) mod holder;
#[cfg(target_os = "linux")]
mod inner;
#[cfg(target_os = "linux")]
pub(crate) mod mount_target;
#[cfg(target_os = "linux")]
mod mover;
#[cfg(target_os = "linux")]
pub(crate) mod namespaces;
#[cfg(target_os = "linux")]
mod outer;
#[cfg(target_os = "linux")]
mod relay;
#[cfg(target_os = "linux")]
pub(crate) mod step;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
mod terminal;

use std::env;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(target_os = "linux")]
pub(crate) use inner::InnerStep;
#[cfg(target_os = "linux")]
pub(crate) use outer::OuterStep;
#[cfg(target_os = "linux")]
pub(crate) use relay::Relay;
#[cfg(target_os = "linux")]
pub(crate) use supervisor::{FILTER, SupervisorStep};

use crate::command::ProcessSpec;
use crate::error::SandboxError;

/// Exit code of a failed launcher step.
pub const FAILED: i32 = 125;
/// Exit code of a step that found something else where it was to mount: the workspace moved since it was searched.
pub const MOVED: i32 = 123;
/// What such a step reports when everything is mounted, right before the command starts.
pub const READY: &[u8] = b"r";
/// Exit codes for a program that cannot be executed or does not exist, as in shells.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;
/// Prefix of the messages of launcher steps.
pub const PREFIX: &str = "haft-sandbox: ";

/// Programs that are installed together are this close in age.
const TOGETHER: Duration = Duration::from_mins(10);

/// The program whose `main` begins with [`main_if_asked`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    path: PathBuf,
}

impl Launcher {
    /// The running program itself.
    ///
    /// # Errors
    /// The path of the running program cannot be read.
    pub fn current() -> Result<Self, SandboxError> {
        let path =
            env::current_exe().map_err(|error| SandboxError::io("find the running program at", Path::new("/proc/self/exe"), error))?;
        Ok(Self { path })
    }

    /// Another program.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// A smaller launcher of this name in the folder of this one, if both were installed together: same owner, writable for no
    /// other user, and as old. Of another version it would refuse its settings.
    pub fn small(&self, name: &str) -> Option<Self> {
        let other = self.path.with_file_name(name);
        let (own, beside) = (self.path.metadata().ok()?, other.symlink_metadata().ok()?);
        let age = own.modified().ok()?.duration_since(beside.modified().ok()?).unwrap_or_else(|earlier| earlier.duration());
        let is_safe = beside.is_file() && beside.uid() == own.uid() && beside.mode() & 0o022 == 0 && beside.mode() & 0o100 != 0;
        (is_safe && age < TOGETHER).then_some(Self { path: other })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The command with a guard that ends it, and everything that it started, when its standard input is closed; the command itself
    /// where that is not supported.
    pub fn with_guard(&self, command: ProcessSpec) -> ProcessSpec {
        #[cfg(target_os = "linux")]
        {
            let mut arguments = vec![step::GUARD.into(), command.program.into_os_string()];
            arguments.extend(command.arguments);
            let environment = crate::environment::carry(command.environment);
            ProcessSpec { program: self.path.clone(), arguments, directory: command.directory, environment }
        }
        #[cfg(not(target_os = "linux"))]
        {
            command
        }
    }

    /// The command with the terminal on standard input as its controlling terminal, for unconfined commands; `None` where that
    /// is not supported.
    pub fn with_terminal(&self, command: &ProcessSpec) -> Option<ProcessSpec> {
        #[cfg(target_os = "linux")]
        {
            let mut arguments = vec![step::TERMINAL.into(), command.program.clone().into_os_string()];
            arguments.extend(command.arguments.iter().cloned());
            let environment = crate::environment::carry(command.environment.clone());
            Some(ProcessSpec { program: self.path.clone(), arguments, directory: command.directory.clone(), environment })
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = command;
            None
        }
    }
}

/// Call this first in `main`: if this process was started as a launcher step, it runs that step and does not return.
pub fn main_if_asked() {
    #[cfg(target_os = "linux")]
    step::run_if_asked();
}

/// The failure that prevented the command from running, read from its exit; `None` if the command itself exited so.
///
/// A command can fake such a failure, and gains nothing by it.
pub fn setup_failure(code: Option<i32>, stderr: &[u8]) -> Option<String> {
    let first = stderr.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(first).trim_end().to_owned();
    let ours = matches!(code, Some(FAILED | MOVED | NOT_EXECUTABLE | NOT_FOUND)) && line.starts_with(PREFIX);
    let bubblewrap = code == Some(1) && line.starts_with("bwrap: ");
    (ours || bubblewrap).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_launcher_counts_if_it_was_installed_together() {
        use std::fs::{self, File, Permissions};
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (program, small) = (folder.path().join("haft"), folder.path().join("haft-launcher"));
        let found = || Launcher::at(&program).small("haft-launcher").is_some();
        let set_mode = |mode| fs::set_permissions(&small, Permissions::from_mode(mode)).unwrap();
        fs::write(&program, "").unwrap();
        assert!(!found(), "there is none");
        fs::write(&small, "").unwrap();
        set_mode(0o755);
        assert!(found());
        for mode in [0o775, 0o757, 0o644] {
            set_mode(mode);
            assert!(!found(), "{mode:o}");
        }
        set_mode(0o755);
        let now = fs::metadata(&program).unwrap().modified().unwrap();
        File::options().write(true).open(&small).unwrap().set_modified(now - Duration::from_hours(1)).unwrap();
        assert!(!found(), "it is of another build");
    }

    #[test]
    fn setup_failures_are_distinct_from_failures_of_the_command() {
        let cases: [(Option<i32>, &str, Option<&str>); 7] = [
            (Some(123), "haft-sandbox: moved", Some("haft-sandbox: moved")),
            (Some(125), "haft-sandbox: no\nmore", Some("haft-sandbox: no")),
            (Some(127), "haft-sandbox: cannot run x", Some("haft-sandbox: cannot run x")),
            (Some(1), "bwrap: No permissions", Some("bwrap: No permissions")),
            (Some(1), "error", None),
            (Some(125), "error", None),
            (None, "haft-sandbox: no", None),
        ];
        for (code, stderr, expected) in cases {
            assert_eq!(setup_failure(code, stderr.as_bytes()).as_deref(), expected, "{code:?} {stderr}");
        }
    }
}
