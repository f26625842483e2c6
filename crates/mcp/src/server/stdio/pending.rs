//! Requests of a client that have no answer yet.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::Notify;

/// Requests that may be open at once.
const MOST: usize = 1024;

/// Why a request is not taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestRefusal {
    /// Its id belongs to another one that is still open.
    InUse,
    /// Too many are open.
    TooMany,
}

#[derive(Debug, Default)]
pub(super) struct PendingRequests {
    ids: Mutex<HashSet<RequestId>>,
    ended: Notify,
}

impl PendingRequests {
    fn lock(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, id: &RequestId) -> Result<(), RequestRefusal> {
        let mut ids = self.lock();
        if ids.contains(id) {
            return Err(RequestRefusal::InUse);
        }
        if ids.len() >= MOST {
            return Err(RequestRefusal::TooMany);
        }
        ids.insert(id.clone());
        Ok(())
    }

    pub(super) fn end(&self, id: &RequestId) {
        let mut ids = self.lock();
        ids.remove(id);
        if ids.is_empty() {
            self.ended.notify_waiters();
        }
    }

    /// Waits until none is open.
    pub(super) async fn all_ended(&self) {
        loop {
            let ended = self.ended.notified();
            if self.lock().is_empty() {
                return;
            }
            ended.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn ids_are_free_again_after_their_end() {
        let pending = PendingRequests::default();
        let id = |number| RequestId::Number(number);
        assert_eq!(pending.begin(&id(1)), Ok(()));
        assert_eq!(pending.begin(&id(1)), Err(RequestRefusal::InUse));
        pending.end(&id(1));
        pending.end(&id(1));
        assert_eq!(pending.begin(&id(1)), Ok(()));
        for number in 2..=MOST {
            assert_eq!(pending.begin(&id(i64::try_from(number).unwrap())), Ok(()));
        }
        assert_eq!(pending.begin(&id(-1)), Err(RequestRefusal::TooMany));
        for number in 1..=MOST {
            pending.end(&id(i64::try_from(number).unwrap()));
        }
        pending.all_ended().await;
    }
}
