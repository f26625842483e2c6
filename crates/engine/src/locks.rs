//! Calls whose effects conflict run in call order; all others run together.
//!
//! One queue of tickets. A ticket is granted when no earlier one conflicts with it, so order is kept and nothing can
//! deadlock: a ticket waits only for earlier ones.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::{Extent, Plan};
use tokio::sync::Notify;

/// What a call holds while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hold {
    path: PathBuf,
    tree: bool,
    changes: bool,
}

impl Hold {
    fn conflicts(&self, other: &Self) -> bool {
        if !self.changes && !other.changes {
            return false;
        }
        self.path == other.path || (self.tree && other.path.starts_with(&self.path)) || (other.tree && self.path.starts_with(&other.path))
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Locks {
    queue: Arc<Mutex<VecDeque<Arc<Place>>>>,
}

#[derive(Debug)]
struct Place {
    holds: Vec<Hold>,
    /// Woken when an earlier ticket is returned.
    moved: Notify,
}

impl Locks {
    /// Takes a place in the queue. The order of these calls is the order in which conflicting plans run.
    pub(crate) fn queue(&self, plan: &Plan) -> Ticket {
        let holds: Vec<Hold> = plan
            .effects()
            .iter()
            .filter_map(|effect| effect.path())
            .map(|(effect, changes)| Hold { path: effect.location.path.clone(), tree: effect.extent == Extent::Tree, changes })
            .collect();
        if holds.is_empty() {
            return Ticket { place: None, locks: None };
        }
        let place = Arc::new(Place { holds, moved: Notify::new() });
        self.lock().push_back(Arc::clone(&place));
        Ticket { place: Some(place), locks: Some(self.clone()) }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Place>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_free(&self, place: &Arc<Place>) -> bool {
        let queue = self.lock();
        let mut earlier = queue.iter().take_while(|other| !Arc::ptr_eq(other, place));
        !earlier.any(|other| other.conflicts(place))
    }
}

impl Place {
    fn conflicts(&self, other: &Self) -> bool {
        self.holds.iter().any(|ours| other.holds.iter().any(|theirs| ours.conflicts(theirs)))
    }
}

/// A place in the queue; returned when dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    place: Option<Arc<Place>>,
    locks: Option<Locks>,
}

impl Ticket {
    /// Waits until no earlier call conflicts.
    pub(crate) async fn granted(&self) {
        let (Some(place), Some(locks)) = (&self.place, &self.locks) else { return };
        loop {
            let moved = place.moved.notified();
            if locks.is_free(place) {
                return;
            }
            moved.await;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let (Some(place), Some(locks)) = (&self.place, &self.locks) else { return };
        let mut queue = locks.lock();
        queue.retain(|other| !Arc::ptr_eq(other, place));
        queue.iter().filter(|other| other.conflicts(place)).for_each(|other| other.moved.notify_one());
    }
}
