//! What is still to be done, and the threads that do it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::directory::OpenDirectory;
use super::ignored::IgnoreLevel;
use super::listing::NameBatch;
use super::worker::Counts;

/// More threads than this do not make a disk faster.
const MOST_THREADS: usize = 8;

/// Threads that help walks, beside the one that each has anyway. Many walks at once share them.
static HELPERS: AtomicUsize = AtomicUsize::new(0);

/// A piece of work.
pub(super) enum WalkTask {
    /// Look into a folder. Only its path is held: handles are few.
    Folder { path: PathBuf, level: Option<Arc<IgnoreLevel>>, depth: usize },
    /// Visit files that another thread has found.
    Files(Arc<OpenDirectory>, NameBatch),
}

/// The work of one walk: what came last is done first, so that few folders wait at any time.
pub(super) struct WalkQueue {
    state: Mutex<WalkQueueState>,
    changed: Condvar,
    /// How many threads wait for work.
    idle: AtomicUsize,
}

struct WalkQueueState {
    jobs: Vec<WalkTask>,
    working: usize,
    over: bool,
}

impl WalkQueue {
    pub(super) fn new(first: WalkTask) -> Self {
        let state = WalkQueueState { jobs: vec![first], working: 0, over: false };
        Self { state: Mutex::new(state), changed: Condvar::new(), idle: AtomicUsize::new(0) }
    }

    /// Does the work on several threads, this one among them, and adds up what each counted.
    pub(super) fn work(&self, worker: impl Fn() -> Counts + Sync) -> Counts {
        let helpers = WalkHelpers::take();
        self.state().working = helpers.0 + 1;
        std::thread::scope(|scope| {
            let helping: Vec<_> = (0..helpers.0).map(|_| scope.spawn(|| self.attended(&worker))).collect();
            let own = self.attended(&worker);
            // A thread that panicked makes the scope panic as well, when all have ended.
            helping.into_iter().filter_map(|helper| helper.join().ok()).fold(own, Counts::plus)
        })
    }

    /// Others must not wait for a thread that panicked.
    fn attended(&self, worker: impl Fn() -> Counts) -> Counts {
        let _end = EndOnPanic(self);
        worker()
    }

    /// The next job; nothing once all are done.
    pub(super) fn next(&self) -> Option<WalkTask> {
        let mut state = self.state();
        loop {
            if state.over {
                return None;
            }
            if let Some(job) = state.jobs.pop() {
                return Some(job);
            }
            state.working -= 1;
            if state.working == 0 {
                drop(state);
                self.end();
                return None;
            }
            self.idle.fetch_add(1, Ordering::Relaxed);
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            self.idle.fetch_sub(1, Ordering::Relaxed);
            state.working += 1;
        }
    }

    /// Adds jobs.
    pub(super) fn add(&self, jobs: impl IntoIterator<Item = WalkTask>) {
        self.state().jobs.extend(jobs);
        if self.is_short() {
            self.changed.notify_all();
        }
    }
    /// Whether a thread waits for work.
    pub(super) fn is_short(&self) -> bool {
        self.idle.load(Ordering::Relaxed) > 0
    }
    /// Ends the walk, whatever is left to do.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.over = true;
        state.jobs.clear();
        drop(state);
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, WalkQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct EndOnPanic<'q>(&'q WalkQueue);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

/// Threads that are lent to a walk.
struct WalkHelpers(usize);

impl WalkHelpers {
    fn take() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let (wanted, most) = (cores.min(MOST_THREADS) - 1, 2 * cores);
        let mut granted = 0;
        let grant = |used: usize| {
            granted = wanted.min(most.saturating_sub(used));
            Some(used + granted)
        };
        // Never refused: the closure always has an answer.
        let taken = HELPERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grant);
        Self(if taken.is_ok() { granted } else { 0 })
    }
}

impl Drop for WalkHelpers {
    fn drop(&mut self) {
        HELPERS.fetch_sub(self.0, Ordering::Relaxed);
    }
}
