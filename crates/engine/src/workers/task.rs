//! One tool on the workers: a future that a thread of the pool polls whenever it is woken.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use haft_contract::BoxFuture;
use tokio::sync::{Notify, oneshot};

use super::pool::{Pool, Runnable};

/// Waits for a wake.
const IDLE: u8 = 0;
/// Waits for a thread.
const QUEUED: u8 = 1;
/// A thread is inside it.
const POLLED: u8 = 2;
/// A thread is inside it, and it was woken meanwhile.
const WOKEN: u8 = 3;
const DONE: u8 = 4;

/// What a tool panicked with.
pub(crate) type PanicPayload = Box<dyn Any + Send>;

struct PooledFuture<T> {
    state: AtomicU8,
    future: Mutex<Option<BoxFuture<'static, T>>>,
    answer: Mutex<Option<oneshot::Sender<Result<T, PanicPayload>>>>,
    begun: Notify,
    /// Nobody waits for it any more.
    abandoned: AtomicBool,
    pool: Arc<Pool>,
}

/// A task on the workers. Dropped, it is given up: it is not polled again, and a thread of the pool drops it.
pub(crate) struct Task<T: Send + 'static> {
    task: Arc<PooledFuture<T>>,
    answer: oneshot::Receiver<Result<T, PanicPayload>>,
}

impl<T: Send + 'static> Task<T> {
    /// Starts a future; `None` if there is no thread for it.
    pub(super) fn start(pool: &Arc<Pool>, future: BoxFuture<'static, T>) -> Option<Self> {
        let (sender, answer) = oneshot::channel();
        let task = Arc::new(PooledFuture {
            state: AtomicU8::new(QUEUED),
            future: Mutex::new(Some(future)),
            answer: Mutex::new(Some(sender)),
            begun: Notify::new(),
            abandoned: AtomicBool::new(false),
            pool: Arc::clone(pool),
        });
        pool.push(Arc::clone(&task) as _).then_some(Self { task, answer })
    }

    /// Resolves when a thread has taken the task up: its time counts from here.
    pub(crate) async fn wait_for_start(&self) {
        self.task.begun.notified().await;
    }

    /// Its outcome, or what it panicked with.
    pub(crate) async fn outcome(&mut self) -> Result<T, PanicPayload> {
        // The sender goes without an answer only when the pool is closed.
        (&mut self.answer).await.unwrap_or_else(|_| Err(Box::new("the engine has ended")))
    }
}

impl<T: Send + 'static> Drop for Task<T> {
    fn drop(&mut self) {
        self.task.abandoned.store(true, Ordering::SeqCst);
        Arc::clone(&self.task).wake();
    }
}

impl<T: Send + 'static> Wake for PooledFuture<T> {
    fn wake(self: Arc<Self>) {
        let next = |state| match state {
            IDLE => Some(QUEUED),
            POLLED => Some(WOKEN),
            _ => None,
        };
        if self.state.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next) == Ok(IDLE) {
            let pool = Arc::clone(&self.pool);
            pool.push(self);
        }
    }
}

impl<T: Send + 'static> Runnable for PooledFuture<T> {
    fn run(self: Arc<Self>) {
        self.state.store(POLLED, Ordering::SeqCst);
        self.begun.notify_one();
        if self.abandoned.load(Ordering::SeqCst) {
            return self.end();
        }
        match self.poll() {
            Poll::Ready(outcome) => {
                // First the answer: what dropping the tool does, however long it takes, cannot change it.
                if let Some(sender) = lock(&self.answer).take() {
                    sender.send(outcome).ok();
                }
                self.end();
            }
            Poll::Pending => {
                let idle = self.state.compare_exchange(POLLED, IDLE, Ordering::SeqCst, Ordering::SeqCst);
                if idle.is_err() {
                    self.state.store(QUEUED, Ordering::SeqCst);
                    let pool = Arc::clone(&self.pool);
                    pool.push(self);
                }
            }
        }
    }
}

impl<T: Send + 'static> PooledFuture<T> {
    fn poll(self: &Arc<Self>) -> Poll<Result<T, PanicPayload>> {
        let waker = Waker::from(Arc::clone(self));
        let mut slot = lock(&self.future);
        let Some(future) = slot.as_mut() else { return Poll::Pending };
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut Context::from_waker(&waker)))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(payload) => Poll::Ready(Err(payload)),
        }
    }

    /// Drops the tool, and what it returned if nobody takes it; a panic in that ends nothing but the drop.
    fn end(&self) {
        self.state.store(DONE, Ordering::SeqCst);
        let future = lock(&self.future).take();
        catch_unwind(AssertUnwindSafe(|| drop(future))).ok();
        let answer = lock(&self.answer).take();
        catch_unwind(AssertUnwindSafe(|| drop(answer))).ok();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
