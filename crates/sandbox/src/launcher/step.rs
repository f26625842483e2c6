//! What the launcher steps share: how each gets its settings, and how it reports a failure.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{FAILED, NOT_EXECUTABLE, NOT_FOUND, PREFIX, guard, holder, inner, namespaces, outer, relay, supervisor, terminal};
use crate::error::SandboxError;
use crate::probe;

pub(crate) const OUTER: &str = "__haft_sandbox_outer";
/// Enters the namespaces, where bubblewrap does not.
pub(crate) const NAMESPACES: &str = "__haft_sandbox_namespaces";
pub(super) const VIEW: &str = "__haft_sandbox_view";
pub(crate) const HOLDER: &str = "__haft_sandbox_holder";
pub(super) const TERMINAL: &str = "__haft_sandbox_terminal";
pub(super) const WAITER: &str = "__haft_sandbox_waiter";
pub(crate) const INNER: &str = "__haft_sandbox_inner";
pub(crate) const SUPERVISOR: &str = "__haft_sandbox_supervisor";
pub(super) const CLIENT: &str = "__haft_sandbox_client";
pub(super) const RELAY: &str = "__haft_sandbox_relay";
pub(super) const GUARD: &str = "__haft_sandbox_guard";
pub(crate) const PROBE: &str = "__haft_sandbox_probe";

/// Arguments that start a step with its settings; the command to run is appended.
pub(crate) fn arguments(step: &str, settings: &impl Serialize) -> Result<Vec<OsString>, SandboxError> {
    let text = serde_json::to_string(settings).map_err(|error| SandboxError::policy(format!("a path is not UTF-8: {error}")))?;
    Ok(vec![step.into(), text.into()])
}

/// Why a step failed, and its exit code.
#[derive(Debug)]
pub(crate) struct StepFailure {
    pub(super) code: i32,
    pub(super) message: String,
}

impl From<String> for StepFailure {
    fn from(message: String) -> Self {
        Self { code: FAILED, message }
    }
}

/// Runs the step that the arguments name and exits; returns if they name none.
pub(super) fn run_if_asked() {
    let mut arguments = env::args_os().skip(1);
    let Some(name) = arguments.next() else { return };
    let rest: Vec<OsString> = arguments.collect();
    let run: fn(&[OsString]) -> Result<i32, StepFailure> = match name.to_str() {
        Some(OUTER) => outer::run,
        Some(NAMESPACES) => namespaces::run,
        Some(VIEW) => namespaces::run_view,
        Some(HOLDER) => holder::run,
        Some(TERMINAL) => terminal::run,
        Some(WAITER) => |_| terminal::wait(),
        Some(INNER) => inner::run,
        Some(SUPERVISOR) => supervisor::run,
        Some(CLIENT) => supervisor::run_client,
        Some(RELAY) => relay::run,
        Some(GUARD) => guard::run,
        Some(PROBE) => |rest| Ok(probe::attempt(rest)),
        _ => return,
    };
    let code = run(&rest).unwrap_or_else(|failure| {
        // The exit code still tells where nothing can be written.
        writeln!(io::stderr(), "{PREFIX}{}", failure.message).ok();
        failure.code
    });
    #[expect(clippy::exit, reason = "a step is a whole program")]
    process::exit(code)
}

/// Settings of a step, and the arguments after them.
pub(super) fn settings<T: DeserializeOwned>(arguments: &[OsString]) -> Result<(T, &[OsString]), StepFailure> {
    let (text, rest) = arguments.split_first().ok_or_else(|| "a launcher step was started without settings".to_owned())?;
    let text = text.to_str().ok_or_else(|| "the settings of a launcher step are not UTF-8".to_owned())?;
    let settings = serde_json::from_str(text).map_err(|error| format!("the settings of a launcher step cannot be parsed: {error}"))?;
    Ok((settings, rest))
}

/// The program to run, and its arguments.
pub(super) fn command<'a>(step: &str, arguments: &'a [OsString]) -> Result<(&'a OsString, &'a [OsString]), StepFailure> {
    arguments.split_first().ok_or_else(|| format!("the {step} step got no command to run").into())
}

pub(super) fn program(name: &OsStr, arguments: &[OsString], variables: Vec<(OsString, OsString)>) -> process::Command {
    let mut program = process::Command::new(name);
    program.args(arguments).env_clear().envs(variables);
    program
}

pub(super) fn exec_failure(program: &OsStr, error: &io::Error) -> StepFailure {
    let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
    StepFailure { code, message: format!("cannot run {}: {error}", Path::new(program).display()) }
}

/// Closes every descriptor on exec except the three standard streams.
pub(super) fn drop_descriptors() {
    close_fds::set_fds_cloexec(3, &[]);
}

/// Moves this process into control groups, by their files.
pub(super) fn join_cgroups(files: &[PathBuf]) -> Result<(), StepFailure> {
    for file in files {
        fs::write(file, "0").map_err(|error| format!("cannot join the control group {}: {error}", file.display()))?;
    }
    Ok(())
}
