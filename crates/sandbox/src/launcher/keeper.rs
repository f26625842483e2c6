//! Between the host and the client of an engine: when the host is killed, nobody else would end the container. They are two. The
//! keeper is what the host knows and kills; the warden is out of its reach, and sees to it that the engine comes to an end: one
//! that is killed while it makes a container leaves half of it, which no engine finds again.

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

use super::stage::{self, Failure, drop_descriptors, not_run, settings};
use crate::container::remove;
use crate::seccomp;

const SELF: &str = "/proc/self/exe";

/// What the keeper watches, and what is done at the end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Keeper {
    /// The process that is watched: the parent.
    pub(crate) host: u32,
    /// The name of the run, which is among the arguments of all that the engine starts for it.
    pub(crate) name: String,
    /// The call of the engine that ends the container.
    pub(crate) end: Vec<String>,
}

/// The option of the client in whose place the keeper puts its filter on system calls.
pub(crate) const FILTER: &str = "seccomp=haft";

/// Runs the warden with the same arguments, and ends with it or with the host.
pub(super) fn run(arguments: &[OsString]) -> Result<i32, Failure> {
    let (keeper, rest, host) = watched(arguments)?;
    drop_descriptors();
    let own = Keeper { host: std::process::id(), ..keeper };
    let mut words = stage::warden(&own).map_err(|error| error.to_string())?;
    words.extend_from_slice(rest);
    let mut warden = stage::program(SELF.as_ref(), &words, env::vars_os().collect());
    // Whoever kills the group of the keeper does not mean it.
    let mut warden = warden.process_group(0).spawn().map_err(|error| not_run(SELF.as_ref(), &error))?;
    match wait(host, &mut warden).map_err(|error| unwatched(&error))? {
        Some(status) => Ok(code(status)),
        None => Err("the host has ended, and its container with it".to_owned().into()),
    }
}

/// Runs the client that the rest of the arguments names, and ends with it. It outlives the keeper as long as it takes to clear away.
pub(super) fn guard(arguments: &[OsString]) -> Result<i32, Failure> {
    let (keeper, rest, host) = watched(arguments)?;
    let (program, arguments) = rest.split_first().ok_or_else(|| "the keeper was given nothing to run".to_owned())?;
    // Open as long as the warden lives: the client reads it by its name, and nothing is left on the disk.
    let filter = filter().map_err(|error| format!("cannot write the filter on system calls: {error}"))?;
    let named = format!("seccomp=/proc/{}/fd/{}", std::process::id(), filter.as_raw_fd());
    let arguments: Vec<OsString> = arguments.iter().map(|word| if word == FILTER { (&named).into() } else { word.clone() }).collect();
    let mut client = stage::program(program, &arguments, env::vars_os().collect()).spawn().map_err(|error| not_run(program, &error))?;
    match wait(host, &mut client) {
        Ok(Some(status)) => Ok(code(status)),
        Ok(None) => {
            end(&mut client, &keeper);
            Err("the host has ended, and its container with it".to_owned().into())
        }
        Err(error) => {
            end(&mut client, &keeper);
            Err(unwatched(&error))
        }
    }
}

/// What a stage is told, what it is to run, and its parent, if that is whom it is to watch.
fn watched(arguments: &[OsString]) -> Result<(Keeper, &[OsString], Pid), Failure> {
    let (keeper, rest): (Keeper, _) = settings(arguments)?;
    let host = rustix::process::getppid().filter(|parent| parent.as_raw_nonzero().get().unsigned_abs() == keeper.host);
    let host = host.ok_or_else(|| "the host has ended before its command was started".to_owned())?;
    Ok((keeper, rest, host))
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

fn unwatched(error: &io::Error) -> Failure {
    format!("cannot watch the container: {error}").into()
}

fn filter() -> io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("haft-filter", MemfdFlags::CLOEXEC)?);
    file.write_all(seccomp::profile().to_string().as_bytes())?;
    Ok(file)
}

/// How the client ended; `None` if the host did first.
fn wait(host: Pid, client: &mut Child) -> io::Result<Option<ExitStatus>> {
    let open = |pid| rustix::process::pidfd_open(pid, PidfdFlags::empty());
    let host = match open(host) {
        Err(Errno::SRCH) => return Ok(None),
        other => other?,
    };
    let own = open(Pid::from_child(client))?;
    let mut watched = [PollFd::new(&own, PollFlags::IN), PollFd::new(&host, PollFlags::IN)];
    while let Err(error) = rustix::event::poll(&mut watched, None) {
        if error != Errno::INTR {
            return Err(error.into());
        }
    }
    if watched[0].revents().is_empty() { Ok(None) } else { client.wait().map(Some) }
}

fn end(client: &mut Child, keeper: &Keeper) {
    let Some((program, arguments)) = keeper.end.split_first() else { return };
    let mut removal = Command::new(program);
    remove(removal.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()), &keeper.name);
    // It has ended by itself, or it hangs.
    client.kill().and_then(|()| client.wait()).ok();
}
