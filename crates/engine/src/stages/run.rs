//! run: the tool itself, under its timeout, stoppable, and unable to take the process down.

use std::any::Any;
use std::time::Duration;

use haft_contract::{ErrorKind, Source, ToolContext, ToolError, ToolOutput};
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use super::permit::Cleared;
use crate::Entry;
use crate::workers::Workers;

type Running = haft_contract::BoxFuture<'static, Result<ToolOutput, ToolError>>;

/// Runs a cleared call. Time spent waiting for a person or for a lock is not counted.
pub(crate) async fn run(
    workers: &Workers,
    _cleared: Cleared,
    entry: &Entry,
    context: ToolContext,
    start: impl FnOnce(ToolContext) -> Running + Send + 'static,
) -> Result<ToolOutput, ToolError> {
    let timeout = entry.definition().timeout;
    let cancel = context.cancellation().clone();
    if *entry.source() == Source::BuiltIn {
        let mut handle = tokio::spawn(start(context));
        // Most built-in tools are done as soon as they are let run; those need neither a timer nor a waiter.
        tokio::task::yield_now().await;
        if handle.is_finished() {
            return finished(Some(handle.await), timeout, &cancel);
        }
        let outcome = settled(&mut handle, timeout, &cancel).await;
        if outcome.is_none() {
            handle.abort();
        }
        return finished(outcome, timeout, &cancel);
    }
    // Making the future is the tool's code as well: it happens on the worker, where it may block or panic.
    let Some(mut task) = workers.start(async move { start(context).await }) else {
        return Err(ToolError::execution("No thread could be started for the tool. The machine may be out of resources; try again later."));
    };
    let outcome = settled(&mut task.handle, timeout, &cancel).await;
    if outcome.is_none() {
        task.abandon();
    }
    finished(outcome, timeout, &cancel)
}

type Joined = Result<Result<ToolOutput, ToolError>, JoinError>;

/// The outcome, or `None` when time was up or the call was cancelled.
async fn settled(
    handle: &mut tokio::task::JoinHandle<Result<ToolOutput, ToolError>>,
    timeout: Duration,
    cancel: &CancellationToken,
) -> Option<Joined> {
    tokio::select! {
        biased;
        joined = handle => Some(joined),
        () = cancel.cancelled() => None,
        () = tokio::time::sleep(timeout) => None,
    }
}

fn finished(outcome: Option<Joined>, timeout: Duration, cancel: &CancellationToken) -> Result<ToolOutput, ToolError> {
    match outcome {
        Some(Ok(result)) => result,
        Some(Err(error)) => Err(panicked(error)),
        None if cancel.is_cancelled() => Err(cancelled()),
        None => {
            // What the call left running is told to stop.
            cancel.cancel();
            Err(timed_out(timeout))
        }
    }
}

pub(crate) fn timed_out(timeout: Duration) -> ToolError {
    let seconds = if timeout.subsec_millis() == 0 { timeout.as_secs().to_string() } else { format!("{:.1}", timeout.as_secs_f64()) };
    ToolError::new(ErrorKind::Timeout, format!("Tool execution timed out after {seconds}s"))
}

pub(crate) fn cancelled() -> ToolError {
    ToolError::new(ErrorKind::Cancelled, "The call was cancelled before it finished.")
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
