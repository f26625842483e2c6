//! The launcher: the host's own program, started again, which confines itself step by step and then becomes the command.
//!
//! Two stages, each of one thread. The outer one runs on the host: it joins the control group and becomes bubblewrap. The
//! inner one runs inside: it takes away what is left and starts the command. Neither can go on after a step that failed, so
//! there is no path on which the command runs without its walls.
//!
//! The inner stage is the first process of its namespace and stays: the kernel ends all others with it, before anyone outside
//! hears of its end. So when the run has ended, everything that it started has.

#[cfg(target_os = "linux")]
mod inner;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod outer;
#[cfg(target_os = "linux")]
mod relay;
#[cfg(target_os = "linux")]
mod stage;
#[cfg(target_os = "linux")]
mod terminal;

use std::env;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
pub(crate) use inner::Inner;
#[cfg(target_os = "linux")]
pub(crate) use keeper::{FILTER, Keeper};
#[cfg(target_os = "linux")]
pub(crate) use outer::Outer;
#[cfg(target_os = "linux")]
pub(crate) use relay::Relay;
#[cfg(target_os = "linux")]
pub(crate) use stage::PROBE;

use crate::command::Command;
use crate::error::SandboxError;

/// How a stage that failed exits.
pub const FAILED: i32 = 125;
/// How it exits where the command's program cannot be run, or does not exist: as shells do.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;
/// What the messages of the stages begin with.
pub const PREFIX: &str = "haft-sandbox: ";

/// The program whose `main` begins with [`main_if_asked`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    path: PathBuf,
}

impl Launcher {
    /// The running program itself.
    ///
    /// # Errors
    /// Where the machine does not say which file that is.
    pub fn current() -> Result<Self, SandboxError> {
        let path =
            env::current_exe().map_err(|error| SandboxError::io("find the running program at", Path::new("/proc/self/exe"), error))?;
        Ok(Self { path })
    }

    /// Another program.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same command with the terminal on its standard input as its own, for one that runs without walls; `None` where that
    /// cannot be done.
    pub fn with_terminal(&self, command: &Command) -> Option<Command> {
        #[cfg(target_os = "linux")]
        return Some(self.terminal(command.clone()));
        #[cfg(not(target_os = "linux"))]
        return None;
    }
}

/// Call this first in `main`: if this process was started as a stage of a sandbox, it becomes that and does not return.
pub fn main_if_asked() {
    #[cfg(target_os = "linux")]
    stage::run_if_asked();
}

/// What went wrong before the command ran, read from how the confined command ended; `None` if the command itself ended so.
///
/// A command can pretend such a failure. It gains nothing: its own result is then the lie.
pub fn setup_failure(code: Option<i32>, stderr: &[u8]) -> Option<String> {
    let first = stderr.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(first).trim_end().to_owned();
    let ours = matches!(code, Some(FAILED | NOT_EXECUTABLE | NOT_FOUND)) && line.starts_with(PREFIX);
    let bubblewrap = code == Some(1) && line.starts_with("bwrap: ");
    (ours || bubblewrap).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_failures_of_the_stages_from_those_of_the_command() {
        let cases: [(Option<i32>, &str, Option<&str>); 6] = [
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
