//! Between the host and the client of an engine: when the host is killed, nobody else would end the container.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};
use serde::{Deserialize, Serialize};

use super::stage::{self, Failure, drop_descriptors, not_run, settings};
use crate::seccomp;

/// An engine that was just told to make a container may make it after it was told to remove it.
const REMOVALS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(300);

/// What the keeper watches, and what it does at the end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Keeper {
    /// The process that is watched: the parent.
    pub(crate) host: u32,
    /// The call of the engine that ends the container.
    pub(crate) end: Vec<String>,
}

/// The option of the client in whose place the keeper puts its filter on system calls.
pub(crate) const FILTER: &str = "seccomp=haft";

/// Runs the client that the rest of the arguments names, and ends with it.
pub(super) fn run(arguments: &[OsString]) -> Result<i32, Failure> {
    let (keeper, rest): (Keeper, _) = settings(arguments)?;
    let (program, arguments) = rest.split_first().ok_or_else(|| "the keeper was given nothing to run".to_owned())?;
    let host = rustix::process::getppid().filter(|parent| parent.as_raw_nonzero().get().unsigned_abs() == keeper.host);
    let host = host.ok_or_else(|| "the host has ended before its command was started".to_owned())?;
    drop_descriptors();
    // Open as long as the keeper lives: the client reads it by its name, and nothing is left on the disk.
    let filter = filter().map_err(|error| format!("cannot write the filter on system calls: {error}"))?;
    let named = format!("seccomp=/proc/{}/fd/{}", std::process::id(), filter.as_raw_fd());
    let arguments: Vec<OsString> = arguments.iter().map(|word| if word == FILTER { (&named).into() } else { word.clone() }).collect();
    let mut client = stage::program(program, &arguments, env::vars_os().collect()).spawn().map_err(|error| not_run(program, &error))?;
    match wait(host, &mut client) {
        Ok(Some(status)) => Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())),
        Ok(None) => {
            end(&mut client, &keeper.end);
            Err("the host has ended, and its container with it".to_owned().into())
        }
        Err(error) => {
            end(&mut client, &keeper.end);
            Err(format!("cannot watch the container: {error}").into())
        }
    }
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

fn end(client: &mut Child, words: &[String]) {
    // It may have ended by itself meanwhile.
    client.kill().and_then(|()| client.wait()).ok();
    let Some((program, arguments)) = words.split_first() else { return };
    for _ in 0..REMOVALS {
        let mut removal = Command::new(program);
        // It fails where there is nothing to end, which is what is wanted.
        removal.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().ok();
        thread::sleep(PAUSE);
    }
}
