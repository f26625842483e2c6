//! The jobs of this process that have not been cleared away yet, for the one who is about to leave.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

static LIVE: Mutex<Vec<(u64, CancellationToken)>> = Mutex::new(Vec::new());
static GONE: Condvar = Condvar::new();

fn live() -> MutexGuard<'static, Vec<(u64, CancellationToken)>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A job that is on the list until this is dropped.
#[derive(Debug)]
pub(super) struct Listed(u64);

impl Listed {
    /// Lists a job, with what ends it.
    pub(super) fn new(stop: CancellationToken) -> Self {
        let mut live = live();
        let number = live.last().map_or(0, |(number, _)| number + 1);
        live.push((number, stop));
        Self(number)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        live().retain(|(number, _)| *number != self.0);
        GONE.notify_all();
    }
}

/// Ends every job of this process, and waits until all that they left on the machine is cleared away: for a process that is
/// about to exit. Blocks, so not for the threads of a runtime.
pub fn end_all_jobs(patience: Duration) {
    let live = live();
    live.iter().for_each(|(_, stop)| stop.cancel());
    // Who is not done by then is ended by the machine, with this process.
    drop(GONE.wait_timeout_while(live, patience, |live| !live.is_empty()));
}
