//! Disk work off the runtime's threads.

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::StoreError;

/// Runs blocking work where it delays no other task; in place if there is no runtime.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, StoreError> + Send + 'static) -> Result<T, StoreError> {
    let Ok(runtime) = Handle::try_current() else { return work() };
    match runtime.spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(error) => Err(StoreError::Closed(format!("its work was stopped: {error}"))),
    }
}

/// Work that continues while its caller does something else.
pub(super) enum Begun<T> {
    Running(JoinHandle<Result<T, StoreError>>),
    /// It was done in place, for want of a runtime.
    Done(Result<T, StoreError>),
}

impl<T: Send + 'static> Begun<T> {
    /// Begins blocking work where it delays no other task. It is done even if nobody waits for its end.
    pub(super) fn begin(work: impl FnOnce() -> Result<T, StoreError> + Send + 'static) -> Self {
        match Handle::try_current() {
            Ok(runtime) => Self::Running(runtime.spawn_blocking(work)),
            Err(_) => Self::Done(work()),
        }
    }

    /// Waits for its end.
    pub(super) async fn end(&mut self) -> Result<T, StoreError> {
        let ended = |error| StoreError::Closed(format!("its work was stopped: {error}"));
        match self {
            Self::Running(running) => running.await.map_err(ended)?,
            Self::Done(done) => std::mem::replace(done, Err(StoreError::Closed("it was waited for before".into()))),
        }
    }
}
