//! The questions of a session: one after the other where they must be, and none that was answered by the way.

use tokio::sync::{Mutex, MutexGuard, watch};

/// Whose turn it is to ask, and who wants to know when something was allowed.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    turn: Mutex<()>,
    granted: watch::Sender<()>,
}

impl Questions {
    /// Waits until no other question stands before the person. Whoever waited longest comes first.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }
    /// Hears of everything that is allowed for the session from now on.
    pub(crate) fn granted(&self) -> watch::Receiver<()> {
        self.granted.subscribe()
    }
    /// Says that something was allowed for the session.
    pub(crate) fn tell_granted(&self) {
        self.granted.send_replace(());
    }
}
