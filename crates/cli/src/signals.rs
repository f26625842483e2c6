//! The signals that stop a call: Ctrl-C, a supervisor's request to end, a terminal that goes away.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Exit;

/// Listens for them. While it lives, none of them ends the process.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// The next one, as the way in which the process is to end. A cancelled wait loses none.
    pub(crate) async fn next(&mut self) -> Exit {
        tokio::select! {
            Some(()) = self.interrupt.recv() => Exit::Interrupted,
            Some(()) = self.terminate.recv() => Exit::Terminated,
            Some(()) = self.hang_up.recv() => Exit::HungUp,
            else => std::future::pending().await,
        }
    }
}
