//! An answer that waits until the test says so.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::sync::lock;

/// A test that waits longer for a request has failed.
const PATIENCE: Duration = Duration::from_mins(1);

/// Where an answer stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before its first byte.
    Start,
    /// When all is said but that the model is done.
    End,
}

/// Holds an answer back. Clones hold the same one.
#[derive(Debug, Clone, Default)]
pub struct Hold(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    reached: bool,
    released: bool,
}

impl Hold {
    /// Waits until an answer is held. `false` after a minute in which none was.
    pub fn reached(&self) -> bool {
        self.until(|state| state.reached, Some(PATIENCE))
    }

    /// Lets the answer continue.
    pub fn release(&self) {
        self.change(|state| state.released = true);
    }

    pub(super) fn stop_here(&self) {
        self.change(|state| state.reached = true);
        self.until(|state| state.released, None);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut lock(&self.0.state));
        self.0.changed.notify_all();
    }

    fn until(&self, so_far: impl Fn(&State) -> bool, patience: Option<Duration>) -> bool {
        let state = lock(&self.0.state);
        match patience {
            Some(patience) => {
                let waited = self.0.changed.wait_timeout_while(state, patience, |state| !so_far(state));
                so_far(&waited.unwrap_or_else(PoisonError::into_inner).0)
            }
            None => so_far(&self.0.changed.wait_while(state, |state| !so_far(state)).unwrap_or_else(PoisonError::into_inner)),
        }
    }
}
