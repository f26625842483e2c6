//! Threads for tools that may block: all that are not built in.
//!
//! Built-in tools run on the caller's runtime, as tasks of their own: they are reviewed never to block, and this saves a thread
//! switch. Any other tool plans and runs here. If one blocks its thread past its timeout, the caller is still answered, because its
//! own timers run elsewhere. A thread that a tool never returns counts as lost; when half of the eight threads of a set are lost,
//! a new set takes over, and the old one ends with the last of its tools. There are at most sixteen sets; beyond that, calls of
//! such tools are refused until threads return.
//!
//! A panic is caught at the border of the task and becomes `execution_error`; releases are built with unwinding for this.

use std::pin::Pin;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Threads of one set.
const THREADS: usize = 8;
/// With this many of them lost, a new set takes over. The rest still serves running tasks.
const LOST_LIMIT: usize = THREADS / 2;
/// More sets than this would mean that tools block faster than they come back; then new calls are refused.
const MOST_SETS: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct Workers {
    current: Mutex<Option<Arc<WorkerSet>>>,
    sets: Arc<AtomicUsize>,
}

/// Some threads. Its tasks hold it, so a set that was replaced goes when the last of them comes back.
#[derive(Debug)]
struct WorkerSet {
    runtime: Option<Runtime>,
    lost: AtomicUsize,
    sets: Arc<AtomicUsize>,
}

impl Drop for WorkerSet {
    fn drop(&mut self) {
        self.sets.fetch_sub(1, Ordering::AcqRel);
        // Never wait for a thread that a tool has blocked.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Workers {
    /// Starts a future on a thread that may block; `None` if no thread can be had.
    pub(crate) fn start<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Option<Task<T>> {
        let set = self.healthy()?;
        let watch = Arc::new(Watch { state: AtomicU8::new(IDLE), begun: Notify::new() });
        let watched = Watched { future: Box::pin(future), watch: Arc::clone(&watch), set: Arc::clone(&set) };
        let handle = set.runtime.as_ref()?.spawn(watched);
        Some(Task { handle, watch, set })
    }

    fn healthy(&self) -> Option<Arc<WorkerSet>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let worn = current.as_ref().is_none_or(|set| set.lost.load(Ordering::Acquire) >= LOST_LIMIT);
        if worn {
            if self.sets.load(Ordering::Acquire) >= MOST_SETS {
                return None;
            }
            let runtime = Builder::new_multi_thread().worker_threads(THREADS).thread_name("haft-tool").enable_all().build().ok()?;
            self.sets.fetch_add(1, Ordering::AcqRel);
            let fresh = WorkerSet { runtime: Some(runtime), lost: AtomicUsize::new(0), sets: Arc::clone(&self.sets) };
            *current = Some(Arc::new(fresh));
        }
        current.clone()
    }
}

const IDLE: u8 = 0;
const POLLING: u8 = 1;
/// Its caller has gone while its thread was inside it.
const LOST: u8 = 2;

#[derive(Debug)]
struct Watch {
    state: AtomicU8,
    begun: Notify,
}

/// A task on the workers. Dropped, it is given up.
#[derive(Debug)]
pub(crate) struct Task<T> {
    pub(crate) handle: JoinHandle<T>,
    watch: Arc<Watch>,
    set: Arc<WorkerSet>,
}

impl<T> Task<T> {
    /// Resolves when a thread has taken the task up: its time counts from here.
    pub(crate) async fn begun(&self) {
        self.watch.begun.notified().await;
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        // First: after this, no new poll begins.
        self.handle.abort();
        let inside = self.watch.state.compare_exchange(POLLING, LOST, Ordering::AcqRel, Ordering::Acquire);
        if inside.is_ok() {
            self.set.lost.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// Knows whether its future is being polled right now.
struct Watched<T> {
    future: Pin<Box<dyn Future<Output = T> + Send>>,
    watch: Arc<Watch>,
    set: Arc<WorkerSet>,
}

impl<T> Future for Watched<T> {
    type Output = T;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let _inside = Inside::new(&self.watch, &self.set);
        self.future.as_mut().poll(context)
    }
}

/// While a poll lasts; a panic ends it as well.
struct Inside {
    watch: Arc<Watch>,
    set: Arc<WorkerSet>,
}

impl Inside {
    fn new(watch: &Arc<Watch>, set: &Arc<WorkerSet>) -> Self {
        watch.state.store(POLLING, Ordering::Release);
        watch.begun.notify_one();
        Self { watch: Arc::clone(watch), set: Arc::clone(set) }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // Counted as lost meanwhile? Here the thread is again.
        if self.watch.state.swap(IDLE, Ordering::AcqRel) == LOST {
            self.set.lost.fetch_sub(1, Ordering::AcqRel);
        }
    }
}
