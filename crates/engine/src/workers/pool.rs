//! The threads of the workers.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

use super::{BASE_THREADS, MAX_THREADS};

/// A thread that had nothing to do for so long ends.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// How long something may wait before the pool grows beyond [`BASE_THREADS`].
const PATIENCE: Duration = Duration::from_millis(10);
/// After so many looks at an empty queue, nobody looks any more.
const IDLE_LOOKS: u32 = 100;
/// Threads of the runtime that drives timers and sockets of tools, and runs what they spawn.
const RUNTIME_THREADS: usize = 4;

/// Something that takes a thread for a moment.
pub(super) trait Runnable: Send + Sync {
    fn run(self: Arc<Self>);
}

/// Threads, and what waits for one.
pub(super) struct Pool {
    runtime: Mutex<Option<Runtime>>,
    state: Mutex<PoolState>,
    work: Condvar,
}

haft_contract::opaque_debug!(Pool);

#[derive(Default)]
struct PoolState {
    queue: VecDeque<(Arc<dyn Runnable>, Instant)>,
    threads: usize,
    /// Threads that wait for work.
    idle: usize,
    /// Whether a thread watches the queue.
    watched: bool,
    closed: bool,
}

impl Pool {
    pub(super) fn new() -> Option<Arc<Self>> {
        let runtime = Builder::new_multi_thread().worker_threads(RUNTIME_THREADS).thread_name("haft-tool-io").enable_all().build().ok()?;
        Some(Arc::new(Self { runtime: Mutex::new(Some(runtime)), state: Mutex::default(), work: Condvar::new() }))
    }

    // Every change of the state is one step, so it is consistent after a panic elsewhere.
    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues something; says whether there is a thread that will come to it.
    pub(super) fn push(self: &Arc<Self>, work: Arc<dyn Runnable>) -> bool {
        let mut state = self.state();
        state.queue.push_back((work, Instant::now()));
        if state.queue.len() <= state.idle {
            self.work.notify_one();
            return true;
        }
        if state.threads < BASE_THREADS {
            self.add_thread(&mut state);
        } else if !state.watched {
            state.watched = self.spawn("haft-tool-watch", Self::watch);
        }
        state.threads > 0
    }

    fn add_thread(self: &Arc<Self>, state: &mut PoolState) {
        state.threads += usize::from(self.spawn("haft-tool", Self::work));
    }

    fn spawn(self: &Arc<Self>, name: &str, body: fn(&Arc<Self>)) -> bool {
        let pool = Arc::clone(self);
        thread::Builder::new().name(name.to_owned()).spawn(move || body(&pool)).is_ok()
    }

    /// The body of a thread.
    fn work(self: &Arc<Self>) {
        // Timers and sockets of tools need a runtime around them.
        let handle = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|runtime| runtime.handle().clone());
        let _entered = handle.as_ref().map(tokio::runtime::Handle::enter);
        while let Some(work) = self.next() {
            work.run();
        }
    }

    /// The next piece of work; `None` ends the thread.
    fn next(&self) -> Option<Arc<dyn Runnable>> {
        let mut state = self.state();
        loop {
            if let Some((work, _)) = state.queue.pop_front() {
                return Some(work);
            }
            if state.closed {
                break;
            }
            state.idle += 1;
            let (woken, waited) = self.work.wait_timeout(state, KEEP_ALIVE).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if waited.timed_out() && state.queue.is_empty() {
                break;
            }
        }
        state.threads -= 1;
        None
    }

    /// Adds threads while something waits too long, until the queue stays empty.
    fn watch(self: &Arc<Self>) {
        let mut empty_looks = 0;
        while empty_looks < IDLE_LOOKS {
            thread::sleep(PATIENCE);
            let mut state = self.state();
            if state.closed {
                break;
            }
            let waits = state.queue.front().is_some_and(|(_, since)| since.elapsed() >= PATIENCE);
            empty_looks = if state.queue.is_empty() { empty_looks + 1 } else { 0 };
            let missing = state.queue.len().saturating_sub(state.idle).min(MAX_THREADS.saturating_sub(state.threads));
            if waits {
                // At most twice as many, so that a short burst does not make hundreds.
                for _ in 0..missing.min(state.threads.max(BASE_THREADS)) {
                    self.add_thread(&mut state);
                }
            }
            if empty_looks == IDLE_LOOKS {
                state.watched = false;
            }
        }
    }

    /// Ends the threads that wait; one that a tool holds ends when the tool comes back.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.work.notify_all();
        // Never wait for a thread that a tool has blocked.
        if let Some(runtime) = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take() {
            runtime.shutdown_background();
        }
    }
}
