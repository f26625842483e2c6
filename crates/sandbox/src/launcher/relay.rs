//! The only network access of a sandbox with a proxy: forwards a port inside to the proxy's Unix socket on the host.

mod client;

use std::env;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::DumpableBehavior;
use serde::{Deserialize, Serialize};

use super::step::{RELAY, StepFailure, settings};
use crate::seccomp::{self, Sockets, Tracing};

/// Connections at one time; more wait in the queue of the listener.
const CONNECTIONS: usize = 128;
const READY: [u8; 1] = *b"+";
const PAUSE: Duration = Duration::from_millis(5);

/// Settings of the relay: the port it listens on, and the socket it forwards to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Relay {
    pub(crate) port: u16,
    pub(crate) socket: PathBuf,
}

/// A relay that was started. It may not have restricted itself yet.
#[must_use = "the command must not run before the relay has restricted itself"]
pub(super) struct StartedRelay(Option<ChildStdout>);

/// Starts the relay.
pub(super) fn start(relay: &Relay) -> Result<StartedRelay, StepFailure> {
    let text = serde_json::to_string(relay).map_err(|error| format!("cannot write the settings of the relay: {error}"))?;
    let program = env::current_exe().map_err(|error| format!("cannot find the running program: {error}"))?;
    let started = Command::new(program).arg(RELAY).arg(text).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let child = started.map_err(|error| format!("cannot start the relay: {error}"))?;
    Ok(StartedRelay(child.stdout))
}

impl StartedRelay {
    /// Waits until it has restricted itself. The command must not run before that: it has the same user, and could take over an
    /// unrestricted relay.
    pub(super) fn wait(self) -> Result<(), StepFailure> {
        let mut answer = [0];
        let received = self.0.map(|mut stdout| stdout.read_exact(&mut answer));
        let is_ready = matches!(received, Some(Ok(()))) && answer == READY;
        if is_ready { Ok(()) } else { Err("the relay to the proxy did not start".to_owned().into()) }
    }
}

/// Runs until the namespace ends.
pub(super) fn run(arguments: &[OsString]) -> Result<i32, StepFailure> {
    let (relay, _): (Relay, _) = settings(arguments)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, relay.port));
    let listener = listener.map_err(|error| format!("the relay cannot listen on 127.0.0.1:{}: {error}", relay.port))?;
    restrict()?;
    let busy = Arc::new(AtomicUsize::new(0));
    for client in listener.incoming() {
        let Ok(client) = client else { continue };
        while busy.load(Ordering::Acquire) >= CONNECTIONS {
            thread::sleep(PAUSE);
        }
        busy.fetch_add(1, Ordering::AcqRel);
        let (socket, count) = (relay.socket.clone(), Arc::clone(&busy));
        let started = thread::Builder::new().spawn(move || {
            // One of another command is closed. The client notices a broken connection itself.
            if client::is_own(&client).unwrap_or_default() {
                forward(&client, &socket).ok();
            }
            count.fetch_sub(1, Ordering::AcqRel);
        });
        // The command may have used up all processes: this connection is closed, and the relay continues.
        if started.is_err() {
            busy.fetch_sub(1, Ordering::AcqRel);
        }
    }
    Ok(0)
}

/// Makes the relay inaccessible to other processes, filters its system calls, reports that it is ready, and closes the
/// streams of the command.
fn restrict() -> Result<(), StepFailure> {
    let failed = |error: io::Error| StepFailure::from(format!("the relay cannot restrict itself: {error}"));
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|error| failed(error.into()))?;
    seccomp::install(Sockets::Relay, Tracing::Nobody)?;
    io::stdout().write_all(&READY).and_then(|()| io::stdout().flush()).map_err(failed)?;
    let nothing = OpenOptions::new().read(true).write(true).open("/dev/null").map_err(failed)?;
    rustix::stdio::dup2_stdout(&nothing).and_then(|()| rustix::stdio::dup2_stderr(&nothing)).map_err(|error| failed(error.into()))
}

fn forward(client: &TcpStream, socket: &Path) -> io::Result<()> {
    let proxy = UnixStream::connect(socket)?;
    thread::scope(|scope| {
        thread::Builder::new().spawn_scoped(scope, || {
            io::copy(&mut &proxy, &mut &*client).ok();
            client.shutdown(Shutdown::Write).ok();
        })?;
        io::copy(&mut &*client, &mut &proxy).ok();
        proxy.shutdown(Shutdown::Write)
    })
}
