//! Disk work off the runtime's threads.

use tokio::runtime::Handle;

use crate::StoreError;

/// Runs blocking work where it delays no other task; in place if there is no runtime.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, StoreError> + Send + 'static) -> Result<T, StoreError> {
    let Ok(runtime) = Handle::try_current() else { return work() };
    match runtime.spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(error) => Err(StoreError::Closed(format!("its work was stopped: {error}"))),
    }
}
