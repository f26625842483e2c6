//! Supervision of a container: if the host is killed, the engine's client would leave its container running. Two processes do
//! it. The supervisor is the child that the host knows and kills. The client step runs in a process group of its own, starts the
//! engine's client and removes the container at the end: a client that is killed while it creates a container leaves a partial
//! one, which no engine finds again.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};
use serde::{Deserialize, Serialize};

use super::step::{self, CLIENT, StepFailure, drop_descriptors, exec_failure, settings};
use crate::container::remove;
use crate::seccomp;

const SELF: &str = "/proc/self/exe";
const HOST_ENDED: &str = "the host has ended, and its container with it";

/// Settings of the supervisor and of the client step.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SupervisorStep {
    /// The parent process, which is watched.
    pub(crate) host: u32,
    /// Name of the run; every process that the engine starts for it has the name among its arguments.
    pub(crate) name: String,
    /// Engine call that removes the container.
    pub(crate) removal: Vec<String>,
}

/// Option of the client that is replaced by the path of the system call filter.
pub(crate) const FILTER: &str = "seccomp=haft";

/// Starts the client step with the same arguments, and ends with it or with the host.
pub(super) fn run(arguments: &[OsString]) -> Result<i32, StepFailure> {
    let (supervisor, rest, host) = watched_parent(arguments)?;
    drop_descriptors();
    let own = SupervisorStep { host: std::process::id(), ..supervisor };
    let mut words = step::arguments(CLIENT, &own).map_err(|error| error.to_string())?;
    words.extend_from_slice(rest);
    let mut client = step::program(SELF.as_ref(), &words, env::vars_os().collect());
    // A signal to the process group of the supervisor must not reach it.
    let mut client = client.process_group(0).spawn().map_err(|error| exec_failure(SELF.as_ref(), &error))?;
    match wait(host, &mut client).map_err(|error| wait_failure(&error))? {
        Some(status) => Ok(exit_code(status)),
        None => Err(HOST_ENDED.to_owned().into()),
    }
}

/// Runs the engine's client, and removes the container if the supervisor ends first.
pub(super) fn run_client(arguments: &[OsString]) -> Result<i32, StepFailure> {
    let (supervisor, rest, host) = watched_parent(arguments)?;
    let (program, arguments) = step::command("client", rest)?;
    // Open as long as this process: the client reads it by path, and no file is left on disk.
    let filter = filter_file().map_err(|error| format!("cannot write the system call filter: {error}"))?;
    let path = format!("seccomp=/proc/{}/fd/{}", std::process::id(), filter.as_raw_fd());
    let arguments: Vec<OsString> = arguments.iter().map(|word| if word == FILTER { (&path).into() } else { word.clone() }).collect();
    let mut client = step::program(program, &arguments, env::vars_os().collect()).spawn().map_err(|error| exec_failure(program, &error))?;
    let ended = wait(host, &mut client);
    if let Ok(Some(status)) = ended {
        return Ok(exit_code(status));
    }
    remove_container(&mut client, &supervisor);
    Err(ended.map_or_else(|error| wait_failure(&error), |_| HOST_ENDED.to_owned().into()))
}

/// Settings, the command to run, and the parent process, if it is still the one to watch.
fn watched_parent(arguments: &[OsString]) -> Result<(SupervisorStep, &[OsString], Pid), StepFailure> {
    let (supervisor, rest): (SupervisorStep, _) = settings(arguments)?;
    let host = rustix::process::getppid().filter(|parent| parent.as_raw_nonzero().get().unsigned_abs() == supervisor.host);
    let host = host.ok_or_else(|| "the host has ended before its command was started".to_owned())?;
    Ok((supervisor, rest, host))
}

fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

fn wait_failure(error: &io::Error) -> StepFailure {
    format!("cannot watch the container: {error}").into()
}

fn filter_file() -> io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("haft-filter", MemfdFlags::CLOEXEC)?);
    file.write_all(seccomp::profile().to_string().as_bytes())?;
    Ok(file)
}

/// Exit status of the child; `None` if the host ended first.
fn wait(host: Pid, child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let open = |pid| rustix::process::pidfd_open(pid, PidfdFlags::empty());
    let host = match open(host) {
        Err(Errno::SRCH) => return Ok(None),
        other => other?,
    };
    let own = open(Pid::from_child(child))?;
    let mut watched = [PollFd::new(&own, PollFlags::IN), PollFd::new(&host, PollFlags::IN)];
    while let Err(error) = rustix::event::poll(&mut watched, None) {
        if error != Errno::INTR {
            return Err(error.into());
        }
    }
    if watched[0].revents().is_empty() { Ok(None) } else { child.wait().map(Some) }
}

fn remove_container(client: &mut Child, supervisor: &SupervisorStep) {
    let Some((program, arguments)) = supervisor.removal.split_first() else { return };
    let mut removal = Command::new(program);
    remove(removal.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()), &supervisor.name);
    // It has ended by itself, or it hangs.
    client.kill().and_then(|()| client.wait()).ok();
}
