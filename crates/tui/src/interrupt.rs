//! Ctrl-C: the first cancels the running call, the second ends the process.

use std::future::Future;
use std::sync::OnceLock;

use tokio_util::sync::CancellationToken;

use crate::failure::{Exit, Failure};
use crate::output::note;
use crate::signals::Signals;
use crate::terminal::{restore, stop_waiting};

/// Runs a future to its end. The first signal cancels it and decides the exit code; the second ends the process.
pub async fn interruptible<T>(running: impl Future<Output = T>, cancel: &CancellationToken) -> Result<(T, Option<Exit>), Failure> {
    let mut signals = listen()?;
    let mut running = std::pin::pin!(running);
    let mut stopped = None;
    loop {
        tokio::select! {
            done = &mut running => return Ok((done, stopped)),
            exit = signals.next() => {
                if stopped.is_some() {
                    leave(exit);
                }
                stopped = Some(exit);
                cancel.cancel();
                note("cancelling; press Ctrl-C again to end at once");
            }
        }
    }
}

/// Listens for the signals that stop.
pub fn listen() -> Result<Signals, Failure> {
    Signals::listen().map_err(|error| Failure::failed("execution_error", format!("signals cannot be listened for: {error}")))
}

/// Ends the child processes.
static CLEAN_UP: OnceLock<fn()> = OnceLock::new();

/// Sets what [`leave`] does before the process ends. Only the first call counts.
pub(crate) fn on_leave(clean_up: fn()) {
    CLEAN_UP.set(clean_up).ok();
}

/// Ends the process at once, with the terminal restored.
#[allow(clippy::exit, reason = "the user asked twice; running work is ended, not waited for")]
pub fn leave(exit: Exit) -> ! {
    stop_waiting();
    restore();
    if let Some(clean_up) = CLEAN_UP.get() {
        clean_up();
    }
    std::process::exit(i32::from(exit.code()))
}
