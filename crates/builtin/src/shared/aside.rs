//! Work that takes a processor's time, away from the runtime's threads. Whatever happens to it is an answer.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use haft_contract::ToolError;
use tokio::sync::{Semaphore, oneshot};

/// Threads for one kind of work; as much of it runs at once as memory is meant for.
#[derive(Debug)]
pub(crate) struct Aside {
    name: &'static str,
    room: Semaphore,
}

impl Aside {
    /// For work of this name, so many at once.
    pub(crate) const fn new(name: &'static str, at_once: usize) -> Self {
        Self { name, room: Semaphore::const_new(at_once) }
    }

    /// Runs work on a thread of its own, when there is room. It goes on if nobody waits any more, and keeps its room until
    /// it ends.
    pub(crate) async fn run<T: Send + 'static>(&'static self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, ToolError> {
        let room = self.room.acquire().await.map_err(|error| self.failed(&error.to_string()))?;
        let (done, answer) = oneshot::channel();
        let with_room = move || {
            let outcome = catch_unwind(AssertUnwindSafe(work));
            drop(room);
            // Nobody may wait any more; then the outcome goes nowhere.
            done.send(outcome).ok();
        };
        let started = thread::Builder::new().name(self.name.to_owned()).spawn(with_room);
        started.map_err(|error| self.failed(&error.to_string()))?;
        match answer.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(payload)) => Err(self.failed(said(&*payload))),
            Err(_) => Err(self.failed("it ended without an answer")),
        }
    }

    fn failed(&self, why: &str) -> ToolError {
        ToolError::execution(format!("The {} failed: {why}.", self.name))
    }
}

fn said(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown fault")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use haft_contract::ErrorKind;

    use super::*;

    #[tokio::test]
    async fn an_answer_and_a_panic_both_come_back() {
        static PLACE: Aside = Aside::new("test of threads", 1);
        assert_eq!(PLACE.run(|| 6 * 7).await.unwrap(), 42);
        let number = 7;
        let plain: Result<(), _> = PLACE.run(|| panic!("plain")).await;
        let with = PLACE.run(move || panic!("with {number}")).await;
        for (outcome, why) in [(plain, "plain"), (with, "with 7")] {
            let error = outcome.unwrap_err();
            let expected = format!("The test of threads failed: {why}.");
            assert_eq!((error.kind(), error.message()), (ErrorKind::ExecutionError, expected.as_str()));
        }
        assert_eq!(PLACE.run(|| 1).await.unwrap(), 1, "a panic gives its room back");
    }

    #[tokio::test]
    async fn only_so_many_run_at_once_even_if_nobody_waits() {
        static PLACE: Aside = Aside::new("test of room", 1);
        let (release, held) = mpsc::channel::<()>();
        let (begun, running) = oneshot::channel();
        let first = PLACE.run(move || {
            begun.send(()).ok();
            held.recv().ok();
        });
        tokio::select! {
            biased;
            _ = first => panic!("it is held"),
            _ = running => {}
        }
        // Its waiter is gone, but the thread is not: the next one has to wait for it.
        let mut second = Box::pin(PLACE.run(|| 2));
        assert!(futures_poll(&mut second).await.is_none());
        drop(release);
        assert_eq!(second.await.unwrap(), 2);
    }

    /// The outcome of a future, if it is there already.
    async fn futures_poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        tokio::select! { biased; answer = future => Some(answer), () = std::future::ready(()) => None }
    }
}
