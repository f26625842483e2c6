//! Threads for tools that may block: everything that was not written for this engine.
//!
//! Built-in tools run on the caller's runtime: they are reviewed never to block, and staying there saves a thread switch.
//! Any other tool runs here. If one blocks its thread past its timeout, the caller is still answered, because its own
//! timers run elsewhere; and when too many threads are lost that way, a fresh set takes over.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

/// Threads of one set.
const THREADS: usize = 8;
/// With this many of them lost, a new set takes over. The rest still serves what is running.
const LOST_LIMIT: usize = THREADS / 2;

#[derive(Debug, Default)]
pub(crate) struct Workers {
    current: Mutex<Option<Set>>,
}

#[derive(Debug)]
struct Set {
    runtime: Option<Runtime>,
    lost: Arc<AtomicUsize>,
}

impl Drop for Set {
    fn drop(&mut self) {
        // Never wait for a thread that a tool has blocked.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A task on the workers.
#[derive(Debug)]
pub(crate) struct Task<T> {
    pub(crate) handle: JoinHandle<T>,
    polling: Arc<AtomicBool>,
    lost: Arc<AtomicUsize>,
}

impl Workers {
    /// Starts a future on a thread that may block.
    pub(crate) fn start<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Option<Task<T>> {
        let (handle, lost) = self.healthy()?;
        let polling = Arc::new(AtomicBool::new(false));
        let watched = Watched { future: Box::pin(future), polling: Arc::clone(&polling), lost: Arc::clone(&lost), counted: false };
        Some(Task { handle: handle.spawn(watched), polling, lost })
    }

    /// As [`Workers::start`], when only the outcome matters. Falls back to the caller's runtime if no threads can be had.
    pub(crate) fn spawn<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        match self.healthy() {
            Some((handle, _)) => handle.spawn(future),
            None => tokio::spawn(future),
        }
    }

    fn healthy(&self) -> Option<(Handle, Arc<AtomicUsize>)> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let worn = current.as_ref().is_none_or(|set| set.lost.load(Ordering::Acquire) >= LOST_LIMIT);
        if worn {
            let runtime = Builder::new_multi_thread().worker_threads(THREADS).thread_name("haft-tool").enable_all().build().ok()?;
            let fresh = Set { runtime: Some(runtime), lost: Arc::default() };
            // The old set is forgotten, not shut down: tools that still run on it keep their threads.
            if let Some(mut old) = current.replace(fresh) {
                std::mem::forget(old.runtime.take());
            }
        }
        let set = current.as_ref()?;
        Some((set.runtime.as_ref()?.handle().clone(), Arc::clone(&set.lost)))
    }
}

impl<T> Task<T> {
    /// Gives up on the task. If its thread is blocked inside it, that thread counts as lost until it comes back.
    pub(crate) fn abandon(&self) {
        if self.polling.swap(false, Ordering::AcqRel) {
            self.lost.fetch_add(1, Ordering::AcqRel);
        }
        self.handle.abort();
    }
}

/// Knows whether its future is being polled right now.
struct Watched<T> {
    future: Pin<Box<dyn Future<Output = T> + Send>>,
    polling: Arc<AtomicBool>,
    lost: Arc<AtomicUsize>,
    counted: bool,
}

impl<T> Future for Watched<T> {
    type Output = T;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        self.polling.store(true, Ordering::Release);
        let poll = self.future.as_mut().poll(context);
        if !self.polling.swap(false, Ordering::AcqRel) && !self.counted {
            // `abandon` counted this thread as lost; here it is again.
            self.counted = true;
            self.lost.fetch_sub(1, Ordering::AcqRel);
        }
        poll
    }
}
