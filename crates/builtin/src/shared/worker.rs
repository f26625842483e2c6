//! CPU-bound work on threads of its own, away from the runtime. A panic becomes an error.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use haft_contract::ToolError;
use tokio::sync::{Semaphore, oneshot};

/// Threads for one kind of work, so many at once that memory suffices.
#[derive(Debug)]
pub(crate) struct WorkerPool {
    name: &'static str,
    permits: Semaphore,
}

impl WorkerPool {
    /// A pool for work of this name, so many at once.
    pub(crate) const fn new(name: &'static str, at_once: usize) -> Self {
        Self { name, permits: Semaphore::const_new(at_once) }
    }

    /// Runs work on a thread of its own, when there is a permit. It continues if the caller is dropped, and keeps its permit
    /// until it ends.
    pub(crate) async fn run<T: Send + 'static>(&'static self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, ToolError> {
        let permit = self.permits.acquire().await.map_err(|error| self.failed(&error.to_string()))?;
        let (done, answer) = oneshot::channel();
        let work_with_permit = move || {
            let outcome = catch_unwind(AssertUnwindSafe(work));
            drop(permit);
            // The caller may be gone.
            done.send(outcome).ok();
        };
        let started = thread::Builder::new().name(self.name.to_owned()).spawn(work_with_permit);
        started.map_err(|error| self.failed(&error.to_string()))?;
        match answer.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(payload)) => Err(self.failed(panic_message(&*payload))),
            Err(_) => Err(self.failed("it ended without an answer")),
        }
    }

    fn failed(&self, why: &str) -> ToolError {
        ToolError::execution(format!("The {} failed: {why}.", self.name))
    }
}

fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown fault")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use haft_contract::ErrorKind;

    use super::*;

    #[tokio::test]
    async fn results_and_panics_are_returned() {
        static POOL: WorkerPool = WorkerPool::new("test of threads", 1);
        assert_eq!(POOL.run(|| 6 * 7).await.unwrap(), 42);
        let number = 7;
        let plain: Result<(), _> = POOL.run(|| panic!("plain")).await;
        let with = POOL.run(move || panic!("with {number}")).await;
        for (outcome, why) in [(plain, "plain"), (with, "with 7")] {
            let error = outcome.unwrap_err();
            let expected = format!("The test of threads failed: {why}.");
            assert_eq!((error.kind(), error.message()), (ErrorKind::ExecutionError, expected.as_str()));
        }
        assert_eq!(POOL.run(|| 1).await.unwrap(), 1, "a panic returns its permit");
    }

    #[tokio::test]
    async fn work_keeps_its_permit_after_the_caller_is_gone() {
        static POOL: WorkerPool = WorkerPool::new("test of permits", 1);
        let (release, blocked) = mpsc::channel::<()>();
        let (begun, running) = oneshot::channel();
        let first = POOL.run(move || {
            begun.send(()).ok();
            blocked.recv().ok();
        });
        tokio::select! {
            biased;
            _ = first => panic!("it is blocked"),
            _ = running => {}
        }
        // Its caller is gone, but the thread is not: the next one has to wait for it.
        let mut second = Box::pin(POOL.run(|| 2));
        assert!(futures_poll(&mut second).await.is_none());
        drop(release);
        assert_eq!(second.await.unwrap(), 2);
    }

    /// The outcome of a future, if it is there already.
    async fn futures_poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        tokio::select! { biased; answer = future => Some(answer), () = std::future::ready(()) => None }
    }
}
