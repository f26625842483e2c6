//! Disk work away from the runtime's threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haft_contract::ToolError;
use rustix::io::Errno;

/// Runs work that may wait for a disk.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, ToolError> + Send + 'static) -> Result<T, ToolError> {
    begin_blocking(work).await
}

/// Begins work that may wait for a disk at once, beside what the caller does before it asks for the answer.
pub(super) fn begin_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> impl Future<Output = Result<T, ToolError>> + Send {
    let task = tokio::task::spawn_blocking(work);
    async move {
        match task.await {
            Ok(answer) => answer,
            Err(error) => Err(ToolError::execution(format!("Work on a file ended before its time: {error}.")).with_source(error)),
        }
    }
}

/// Stops the work of a call whose future was dropped: it cannot be interrupted from outside.
#[derive(Debug)]
pub(super) struct Call(Arc<AtomicBool>);

/// Asked by the work between its steps.
#[derive(Debug, Clone)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Call {
    pub(super) fn begin() -> (Self, Stop) {
        let over = Arc::new(AtomicBool::new(false));
        (Self(Arc::clone(&over)), Stop(over))
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Stop {
    /// [`Errno::CANCELED`] once nobody waits for the work any more.
    pub(super) fn check(&self) -> Result<(), Errno> {
        if self.0.load(Ordering::Acquire) { Err(Errno::CANCELED) } else { Ok(()) }
    }
}
