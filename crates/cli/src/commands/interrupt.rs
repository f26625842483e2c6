//! Ctrl-C: once cancels what runs, twice ends the process.

use std::future::Future;

use tokio_util::sync::CancellationToken;

use crate::failure::{Exit, Failure};
use crate::output::note;
use crate::signals::Signals;
use crate::terminal::{restore, stop_waiting};

/// Runs something to its end. The first signal cancels it, and is what the process ends with; the second ends it at once.
pub(crate) async fn interruptible<T>(running: impl Future<Output = T>, cancel: &CancellationToken) -> Result<(T, Option<Exit>), Failure> {
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
pub(crate) fn listen() -> Result<Signals, Failure> {
    Signals::listen().map_err(|error| Failure::failed("execution_error", format!("signals cannot be listened for: {error}")))
}

/// How long clearing away may take when nobody wants to wait.
const AT_ONCE: std::time::Duration = std::time::Duration::from_millis(500);

/// Ends the process at once, and leaves a terminal that can be used.
#[allow(clippy::exit, reason = "it was asked for twice, and whatever still runs is ended, not waited for")]
pub(crate) fn leave(exit: Exit) -> ! {
    stop_waiting();
    restore();
    // Killed as well, but what they left in the workspace is taken away.
    haft_host::end_all_jobs(AT_ONCE);
    haft_host::end_all_processes();
    std::process::exit(i32::from(exit.code()))
}
