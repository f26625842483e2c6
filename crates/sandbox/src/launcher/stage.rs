//! What the stages share: how they are told what to do, and how they say that they could not.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{FAILED, Inner, Keeper, Launcher, NOT_EXECUTABLE, NOT_FOUND, Outer, PREFIX, inner, keeper, outer, relay, terminal};
use crate::command::Command;
use crate::environment;
use crate::error::SandboxError;
use crate::probe;

const OUTER: &str = "__haft_sandbox_outer";
const TERMINAL: &str = "__haft_sandbox_terminal";
pub(super) const WAITER: &str = "__haft_sandbox_waiter";
const INNER: &str = "__haft_sandbox_inner";
const KEEPER: &str = "__haft_sandbox_keeper";
const WARDEN: &str = "__haft_sandbox_warden";
pub(super) const RELAY: &str = "__haft_sandbox_relay";
pub(crate) const PROBE: &str = "__haft_sandbox_probe";

impl Launcher {
    pub(crate) fn outer(settings: &Outer) -> Result<Vec<OsString>, SandboxError> {
        stage(OUTER, settings)
    }

    pub(crate) fn inner(settings: &Inner) -> Result<Vec<OsString>, SandboxError> {
        stage(INNER, settings)
    }

    pub(crate) fn keeper(settings: &Keeper) -> Result<Vec<OsString>, SandboxError> {
        stage(KEEPER, settings)
    }

    pub(super) fn terminal(&self, command: Command) -> Command {
        let mut arguments = vec![TERMINAL.into(), command.program.into_os_string()];
        arguments.extend(command.arguments);
        let environment = environment::carry(command.environment);
        Command { program: self.path().to_owned(), arguments, directory: command.directory, environment }
    }
}

pub(super) fn warden(settings: &Keeper) -> Result<Vec<OsString>, SandboxError> {
    stage(WARDEN, settings)
}

fn stage(name: &str, settings: &impl Serialize) -> Result<Vec<OsString>, SandboxError> {
    let text = serde_json::to_string(settings).map_err(|error| SandboxError::policy(format!("a path is not UTF-8: {error}")))?;
    Ok(vec![name.into(), text.into()])
}

/// Why a stage did not go on.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(super) code: i32,
    pub(super) message: String,
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self { code: FAILED, message }
    }
}

/// Becomes the stage that the arguments name, if they name one, and does not return then.
pub(super) fn run_if_asked() {
    let mut arguments = env::args_os().skip(1);
    let Some(name) = arguments.next() else { return };
    let rest: Vec<OsString> = arguments.collect();
    let run: fn(Vec<OsString>) -> Result<i32, Failure> = match name.to_str() {
        Some(OUTER) => |rest| outer::run(&rest),
        Some(TERMINAL) => |rest| terminal::run(&rest),
        Some(WAITER) => |_| terminal::wait(),
        Some(INNER) => |rest| inner::run(&rest),
        Some(KEEPER) => |rest| keeper::run(&rest),
        Some(WARDEN) => |rest| keeper::guard(&rest),
        Some(RELAY) => |rest| relay::run(&rest),
        Some(PROBE) => |rest| Ok(probe::attempt(&rest)),
        _ => return,
    };
    let code = run(rest).unwrap_or_else(|failure| {
        // Nobody is left to tell where even this fails; the code says it still.
        writeln!(io::stderr(), "{PREFIX}{}", failure.message).ok();
        failure.code
    });
    #[expect(clippy::exit, reason = "a stage is a whole program")]
    process::exit(code)
}

/// The settings of a stage, and what comes behind them.
pub(super) fn settings<T: DeserializeOwned>(arguments: &[OsString]) -> Result<(T, &[OsString]), Failure> {
    let (text, rest) = arguments.split_first().ok_or_else(|| "a stage was started without settings".to_owned())?;
    let text = text.to_str().ok_or_else(|| "the settings of a stage are not UTF-8".to_owned())?;
    let settings = serde_json::from_str(text).map_err(|error| format!("the settings of a stage cannot be read: {error}"))?;
    Ok((settings, rest))
}

pub(super) fn program(name: &OsStr, arguments: &[OsString], variables: Vec<(OsString, OsString)>) -> process::Command {
    let mut program = process::Command::new(name);
    program.args(arguments).env_clear().envs(variables);
    program
}

pub(super) fn not_run(program: &OsStr, error: &io::Error) -> Failure {
    let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
    Failure { code, message: format!("cannot run {}: {error}", Path::new(program).display()) }
}

/// Nothing but the three standard streams may go along.
pub(super) fn drop_descriptors() {
    close_fds::set_fds_cloexec(3, &[]);
}

/// Writes this process into the control groups whose doors these are.
pub(super) fn join(doors: &[PathBuf]) -> Result<(), Failure> {
    for door in doors {
        fs::write(door, "0").map_err(|error| format!("cannot join the control group {}: {error}", door.display()))?;
    }
    Ok(())
}
