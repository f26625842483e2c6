//! run: the tool itself, under its timeout, stoppable, and unable to take the process down.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use haft_contract::{BoxFuture, ErrorKind, Plan, ToolContext, ToolError, ToolOutput, ToolSource};
use tokio::task::{JoinError, JoinHandle};

use super::permit::PermittedCall;
use crate::ToolEntry;
use crate::stop::{StopSignal, within};
use crate::workers::Workers;

/// Runs a permitted call. Time spent waiting for an approval, a lock or a thread is not counted. Dropping it stops the tool.
pub(crate) async fn run(
    workers: &Workers,
    cleared: PermittedCall,
    entry: &ToolEntry,
    context: impl FnOnce(Plan) -> ToolContext,
    stop: &StopSignal<'_>,
) -> Result<ToolOutput, ToolError> {
    let timeout = entry.definition().timeout;
    let (plan, start) = cleared.into_prepared().into_parts();
    let changes = plan.changes_something();
    let context = context(plan);
    let ended = if *entry.source() == ToolSource::BuiltIn {
        here(start(context), timeout, stop).await
    } else {
        // Making the future is the tool's code as well: it happens on the worker, where it may block or panic.
        let ended = on_worker(workers, async move { start(context).await }, timeout, stop).await;
        ended.map(|joined| joined.map_err(panicked))
    };
    let outcome = ended.map_err(|error| if changes && error.kind() == ErrorKind::Cancelled { interrupted() } else { error })?;
    outcome.unwrap_or_else(Err)
}

/// On the caller's runtime. Most built-in tools are done at their first step: those need neither a task nor a timer. The rest is a task
/// of its own, so that it is answered at its timeout.
async fn here<T: Send + 'static>(
    mut work: BoxFuture<'static, T>,
    timeout: Duration,
    stop: &StopSignal<'_>,
) -> Result<Result<T, ToolError>, ToolError> {
    let first = poll_fn(|cx| Poll::Ready(catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))))).await;
    match first {
        Ok(Poll::Ready(outcome)) => Ok(Ok(outcome)),
        Ok(Poll::Pending) => {
            let mut task = AbortOnDrop(tokio::spawn(work));
            Ok(join_within(&mut task.0, timeout, stop).await?.map_err(panicked))
        }
        Err(payload) => Ok(Err(panic_error(&*payload))),
    }
}

/// On a thread that may block.
pub(crate) async fn on_worker<T: Send + 'static>(
    workers: &Workers,
    work: impl Future<Output = T> + Send + 'static,
    timeout: Duration,
    stop: &StopSignal<'_>,
) -> Result<Result<T, JoinError>, ToolError> {
    let Some(mut task) = workers.start(work) else {
        return Err(ToolError::execution(
            "No thread is free for the tool: too many tools block theirs, or the machine is out of resources. Try again later.",
        ));
    };
    // A thread may not be free at once; the wait is bounded by the tool's own timeout.
    if stop.unless(within(timeout, task.begun())).await?.is_none() {
        return Err(timed_out(timeout));
    }
    join_within(&mut task.handle, timeout, stop).await
}

/// The outcome, unless time is up or the call is to end first.
async fn join_within<T>(handle: &mut JoinHandle<T>, timeout: Duration, stop: &StopSignal<'_>) -> Result<Result<T, JoinError>, ToolError> {
    let joined = pin!(handle);
    stop.unless(within(timeout, joined)).await?.ok_or_else(|| timed_out(timeout))
}

/// A task that is aborted with its waiter.
pub(crate) struct AbortOnDrop<T>(pub(crate) JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

pub(crate) fn timed_out(timeout: Duration) -> ToolError {
    let seconds = if timeout.subsec_millis() == 0 { timeout.as_secs().to_string() } else { format!("{:.1}", timeout.as_secs_f64()) };
    ToolError::new(ErrorKind::Timeout, format!("Tool execution timed out after {seconds}s"))
}

pub(crate) fn cancelled() -> ToolError {
    ToolError::new(ErrorKind::Cancelled, "The call was cancelled before it finished.")
}

/// A call that was stopped while it ran, and that had something to change.
fn interrupted() -> ToolError {
    ToolError::new(ErrorKind::Cancelled, "The call was cancelled while it ran. It may have had effects: check before you repeat it.")
}

pub(crate) fn panicked(error: JoinError) -> ToolError {
    match error.try_into_panic() {
        Ok(payload) => panic_error(&*payload),
        Err(_) => cancelled(),
    }
}

pub(crate) fn panic_error(payload: &(dyn Any + Send)) -> ToolError {
    let message = payload.downcast_ref::<&str>().map(|text| (*text).to_owned()).or_else(|| payload.downcast_ref::<String>().cloned());
    ToolError::execution(format!("Tool execution failed: {}", message.as_deref().unwrap_or("Unknown error")))
}
