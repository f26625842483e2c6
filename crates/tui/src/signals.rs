//! Signals that stop a call: SIGINT, SIGTERM, SIGHUP.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Exit;
use crate::terminal::note_signal;

/// Listens for the signals. While it exists, none of them ends the process.
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// The exit of the next signal. A cancelled wait loses none.
    pub async fn next(&mut self) -> Exit {
        tokio::select! {
            Some(()) = self.interrupt.recv() => Exit::Interrupted,
            Some(()) = self.terminate.recv() => Exit::Terminated,
            Some(()) = self.hang_up.recv() => {
                note_signal();
                Exit::HungUp
            }
            else => std::future::pending().await,
        }
    }
}
