//! run: the tool itself, under its timeout, stoppable, and unable to take the process down.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use haft_contract::{BoxFuture, Effect, ErrorKind, Plan, ToolContext, ToolError, ToolOutput, ToolSource};
use tokio::task::{JoinError, JoinHandle};

use super::permit::PermittedCall;
use crate::ToolEntry;
use crate::stop::{StopSignal, within};
use crate::workers::Workers;

/// How long a tool that changes files may take to end when it is stopped: a write that has begun is finished first, so that what is
/// rolled back afterwards stays so.
const END_GRACE: Duration = Duration::from_secs(1);

/// Runs a permitted call. Time spent waiting for an approval, a lock or a thread is not counted. Dropping it stops the tool.
pub(crate) async fn run(
    workers: &Workers,
    cleared: PermittedCall,
    entry: &ToolEntry,
    context: impl FnOnce(Plan) -> ToolContext,
    stop: &StopSignal,
) -> Result<ToolOutput, ToolError> {
    let (plan, start) = cleared.into_prepared().into_parts();
    let changes = plan.changes_something();
    let time = RunTime { timeout: entry.definition().timeout, grace: end_grace(&plan) };
    let context = context(plan);
    let ended = if *entry.source() == ToolSource::BuiltIn {
        here(start(context), time, stop).await
    } else {
        // Making the future is the tool's code as well: it happens on the worker, where it may block or panic.
        Box::pin(on_worker(workers, async move { DropCaught(Some(start(context))).await }, time, stop)).await
    };
    ended.map_err(|error| if changes && error.kind() == ErrorKind::Cancelled { interrupted() } else { error })?
}

/// How long a tool may run, and how long it may take to end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunTime {
    pub(crate) timeout: Duration,
    pub(crate) grace: Duration,
}

/// Commands end with their call; what they change is recorded by their job.
fn end_grace(plan: &Plan) -> Duration {
    let changes_files = plan.effects().iter().any(|effect| matches!(effect, Effect::Write(_) | Effect::Delete(_)));
    if changes_files && plan.planned_command().is_none() { END_GRACE } else { Duration::ZERO }
}

/// On the caller's runtime. Most built-in tools are done at their first step: those need neither a task nor a timer. The rest is a task
/// of its own, so that it is answered at its timeout.
async fn here<T: Send + 'static>(work: BoxFuture<'static, T>, time: RunTime, stop: &StopSignal) -> Result<T, ToolError> {
    let mut work = DropCaught(Some(work));
    let first = poll_fn(|context| Poll::Ready(catch_unwind(AssertUnwindSafe(|| Pin::new(&mut work).poll(context))))).await;
    match first {
        Ok(Poll::Ready(outcome)) => Ok(outcome),
        Ok(Poll::Pending) => {
            let mut task = AbortOnDrop(tokio::spawn(work));
            Box::pin(finish_within(&mut task.0, time, stop)).await?.map_err(panicked)
        }
        Err(payload) => {
            catch_unwind(AssertUnwindSafe(|| drop(work))).ok();
            Err(panic_error(&*payload))
        }
    }
}

/// On a thread that may block.
pub(crate) async fn on_worker<T: Send + 'static>(
    workers: &Workers,
    work: impl Future<Output = T> + Send + 'static,
    time: RunTime,
    stop: &StopSignal,
) -> Result<T, ToolError> {
    let Some(mut task) = workers.start(work) else {
        return Err(ToolError::execution("No thread is free for the tool: the machine is out of resources. Try again later."));
    };
    // A thread may not be free at once; the wait is bounded by the tool's own timeout.
    if stop.unless(within(time.timeout, task.wait_for_start())).await?.is_none() {
        return Err(not_begun(time.timeout));
    }
    let outcome = finish_within(task.outcome(), time, stop).await?;
    outcome.map_err(|payload| panic_error(&*payload))
}

/// The outcome, unless time is up or the call is to end first. Then the tool is told, and has a moment to end.
async fn finish_within<T>(outcome: impl Future<Output = T>, time: RunTime, stop: &StopSignal) -> Result<T, ToolError> {
    let mut outcome = std::pin::pin!(outcome);
    let why = match stop.unless(within(time.timeout, outcome.as_mut())).await {
        Ok(Some(outcome)) => return Ok(outcome),
        Ok(None) => timed_out(time.timeout),
        Err(cancelled) => cancelled,
    };
    if !time.grace.is_zero() {
        stop.token().cancel();
        within(time.grace, outcome).await;
    }
    Err(why)
}

/// A task that is aborted with its waiter.
pub(crate) struct AbortOnDrop<T>(pub(crate) JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A tool whose outcome counts, whatever happens while the rest of it is dropped.
struct DropCaught<T>(Option<BoxFuture<'static, T>>);

impl<T> Future for DropCaught<T> {
    type Output = T;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // It is never polled again after its end.
        let Some(future) = self.0.as_mut() else { return Poll::Pending };
        let outcome = std::task::ready!(future.as_mut().poll(context));
        let future = self.0.take();
        catch_unwind(AssertUnwindSafe(|| drop(future))).ok();
        Poll::Ready(outcome)
    }
}

fn seconds(time: Duration) -> String {
    if time.subsec_millis() == 0 { time.as_secs().to_string() } else { format!("{:.1}", time.as_secs_f64()) }
}

pub(crate) fn timed_out(timeout: Duration) -> ToolError {
    ToolError::new(ErrorKind::Timeout, format!("Tool execution timed out after {}s", seconds(timeout)))
}

/// A call whose tool was never taken up.
fn not_begun(timeout: Duration) -> ToolError {
    let message =
        format!("The tool did not run: no thread for it was free within {}s. Nothing was done; try again later.", seconds(timeout));
    ToolError::new(ErrorKind::Timeout, message)
}

pub(crate) fn cancelled() -> ToolError {
    ToolError::new(ErrorKind::Cancelled, "The call was cancelled before it finished.")
}

/// A call that was stopped while it ran, and that had something to change.
fn interrupted() -> ToolError {
    ToolError::new(ErrorKind::Cancelled, "The call was cancelled while it ran. It may have had effects: check before you repeat it.")
}

fn panicked(error: JoinError) -> ToolError {
    match error.try_into_panic() {
        Ok(payload) => panic_error(&*payload),
        Err(_) => cancelled(),
    }
}

pub(crate) fn panic_error(payload: &(dyn Any + Send)) -> ToolError {
    let message = payload.downcast_ref::<&str>().map(|text| (*text).to_owned()).or_else(|| payload.downcast_ref::<String>().cloned());
    ToolError::execution(format!("Tool execution failed: {}", message.as_deref().unwrap_or("Unknown error")))
}
