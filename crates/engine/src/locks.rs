//! Calls whose effects conflict run in call order; all others run together.
//!
//! One queue of tickets. A ticket is granted when no earlier one conflicts with it, so order is kept and nothing can
//! deadlock: a ticket waits only for earlier ones.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::{Effect, Extent, Line, Plan};
use tokio::sync::Notify;

/// What a call holds while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hold {
    path: PathBuf,
    tree: bool,
    changes: bool,
}

impl Hold {
    /// What an effect holds. A program may touch anything beneath its directory, and who knows what an unknown one touches.
    fn of(effect: &Effect) -> Option<Self> {
        let everything = |path: &Path| Some(Self { path: path.to_owned(), tree: true, changes: true });
        match effect {
            Effect::Exec(exec) => everything(&exec.directory),
            Effect::Unknown { .. } => everything(Path::new("/")),
            // Not a path, but a name that no path has.
            Effect::Configure { key } => Some(Self { path: PathBuf::from(format!("config:{key}")), tree: false, changes: true }),
            _ => effect.path().map(|(effect, changes)| Self {
                path: effect.location.path().to_owned(),
                tree: effect.extent == Extent::Tree,
                changes,
            }),
        }
    }

    /// What a line of shell holds: the tree that its walls let it change, or all there is.
    fn of_line(line: &Line) -> Vec<Self> {
        let path = line.reach().unwrap_or(Path::new("/")).to_owned();
        vec![Self { path, tree: true, changes: !line.only_reads() }]
    }

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
        let holds: Vec<Hold> = match plan.planned_line() {
            Some(line) => Hold::of_line(line),
            None => plan.effects().iter().filter_map(Hold::of).collect(),
        };
        if holds.is_empty() {
            return Ticket(None);
        }
        let place = Arc::new(Place { holds, moved: Notify::new() });
        self.lock().push_back(Arc::clone(&place));
        Ticket(Some((place, self.clone())))
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
pub(crate) struct Ticket(Option<(Arc<Place>, Locks)>);

impl Ticket {
    /// Waits until no earlier call conflicts.
    pub(crate) async fn granted(&self) {
        let Some((place, locks)) = &self.0 else { return };
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
        let Some((place, locks)) = &self.0 else { return };
        let mut queue = locks.lock();
        queue.retain(|other| !Arc::ptr_eq(other, place));
        queue.iter().filter(|other| other.conflicts(place)).for_each(|other| other.moved.notify_one());
    }
}
