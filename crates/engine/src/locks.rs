//! Locks: calls with conflicting effects run in call order, all others in parallel.
//!
//! One queue of tickets. A call takes a ticket for the paths of its plan; it is granted when no earlier ticket conflicts with it: one
//! of the two changes the path, and they are the same path or one is a tree that contains the other. A program locks the tree of its
//! directory, and a call with unknown effects locks everything. A ticket waits only for earlier ones, so nothing can deadlock. Calls
//! without such effects take no ticket, and a single call takes it after its approval. Time spent waiting for a lock, a thread or an
//! approval does not count against the timeout.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::{Effect, Extent, Plan, ShellCommand};
use tokio::sync::Notify;

/// A path that a call locks while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PathLock {
    path: PathBuf,
    tree: bool,
    changes: bool,
}

impl PathLock {
    /// The lock of an effect: a program may touch anything beneath its directory, an unknown effect anything at all.
    fn for_effect(effect: &Effect) -> Option<Self> {
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

    /// The lock of a shell command: the tree that its sandbox lets it change, or everything.
    fn for_command(line: &ShellCommand) -> Vec<Self> {
        let path = line.writable_tree().unwrap_or(Path::new("/")).to_owned();
        vec![Self { path, tree: true, changes: !line.is_read_only() && !line.has_read_only_view() }]
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
    queue: Arc<Mutex<VecDeque<Arc<QueueSlot>>>>,
}

#[derive(Debug)]
struct QueueSlot {
    locks: Vec<PathLock>,
    /// Woken when an earlier ticket is returned.
    moved: Notify,
}

impl Locks {
    /// Takes a slot in the queue. The order of these calls is the order in which conflicting plans run.
    pub(crate) fn queue(&self, plan: &Plan) -> Ticket {
        let mut locks: Vec<PathLock> = match plan.planned_command() {
            Some(line) => PathLock::for_command(line),
            None => plan.effects().iter().filter_map(PathLock::for_effect).collect(),
        };
        // Not a path, but a name that no path has: what is done in a browser is done in order.
        locks.extend(plan.uses_browser().then(|| PathLock { path: PathBuf::from("browser:"), tree: false, changes: true }));
        if locks.is_empty() {
            return Ticket(None);
        }
        let slot = Arc::new(QueueSlot { locks, moved: Notify::new() });
        self.lock().push_back(Arc::clone(&slot));
        Ticket(Some((slot, self.clone())))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<QueueSlot>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_free(&self, slot: &Arc<QueueSlot>) -> bool {
        let queue = self.lock();
        let mut earlier = queue.iter().take_while(|other| !Arc::ptr_eq(other, slot));
        !earlier.any(|other| other.conflicts(slot))
    }
}

impl QueueSlot {
    fn conflicts(&self, other: &Self) -> bool {
        self.locks.iter().any(|ours| other.locks.iter().any(|theirs| ours.conflicts(theirs)))
    }
}

/// A slot in the queue; returned when dropped.
#[derive(Debug)]
pub(crate) struct Ticket(Option<(Arc<QueueSlot>, Locks)>);

impl Ticket {
    /// Whether no earlier call conflicts.
    pub(crate) fn is_granted(&self) -> bool {
        self.0.as_ref().is_none_or(|(slot, locks)| locks.is_free(slot))
    }

    /// Waits until no earlier call conflicts.
    pub(crate) async fn granted(&self) {
        let Some((slot, locks)) = &self.0 else { return };
        loop {
            let moved = slot.moved.notified();
            if locks.is_free(slot) {
                return;
            }
            moved.await;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let Some((slot, locks)) = &self.0 else { return };
        let mut queue = locks.lock();
        queue.retain(|other| !Arc::ptr_eq(other, slot));
        queue.iter().filter(|other| other.conflicts(slot)).for_each(|other| other.moved.notify_one());
    }
}
