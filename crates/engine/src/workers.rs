//! Threads for tools that may block: all that are not built in.
//!
//! Built-in tools run on the caller's runtime, as tasks of their own: they are reviewed never to block, and this saves a thread
//! switch. Any other tool plans and runs here. Each poll of such a tool takes a thread of the pool. A tool that awaits holds none, so
//! thousands of them share a few threads; a tool that blocks holds its thread until it comes back. When all threads are held and
//! something waits, the pool grows, so that a blocked thread delays no other tool. Beyond [`MAX_THREADS`] calls wait for a thread.
//! A thread that has nothing to do for a while ends.
//!
//! The caller is answered at the timeout of the tool in any case: its own timers run elsewhere. A panic, also one while the tool is
//! dropped, is caught here; releases are built with unwinding for this.

mod pool;
mod task;

use std::sync::{Arc, Mutex, PoisonError};

use self::pool::Pool;
pub(crate) use self::task::Task;

/// Threads that start as soon as they are needed.
const BASE_THREADS: usize = 8;
/// More threads than this would mean that tools block faster than they come back; then calls wait.
const MAX_THREADS: usize = 256;

/// The pool; it is made for the first tool that needs it.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    pool: Mutex<Option<Arc<Pool>>>,
}

impl Workers {
    /// Starts a future on a thread that may block; `None` if no thread can be had.
    pub(crate) fn start<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Option<Task<T>> {
        let pool = {
            let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
            match &*pool {
                Some(pool) => Arc::clone(pool),
                None => Arc::clone(pool.insert(Pool::new()?)),
            }
        };
        Task::start(&pool, Box::pin(future))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            pool.close();
        }
    }
}
