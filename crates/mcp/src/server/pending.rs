//! Requests of a client that have no answer yet.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::ErrorData;
use rmcp::model::RequestId;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Requests that may be open at once.
const MOST: usize = 1024;
/// Cancelled requests whose ids are remembered.
const MOST_CANCELLED: usize = 1024;

/// Why a request is not taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestRefusal {
    /// Its id belongs to another one that is still open.
    InUse,
    /// Too many are open.
    TooMany,
}

impl RequestRefusal {
    /// What the client is told, under which id: one that is in use names another request.
    pub(super) fn answer(&self, id: &RequestId) -> (Option<RequestId>, ErrorData) {
        match self {
            Self::InUse => {
                let text = format!("The id {id} belongs to another request, which runs or was cancelled: use a new one.");
                (None, ErrorData::invalid_request(text, None))
            }
            Self::TooMany => {
                let error = ErrorData::internal_error("Too many requests are open: wait for answers first.", None);
                (Some(id.clone()), error)
            }
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct PendingRequests {
    ids: Mutex<RequestIds>,
    ended: Notify,
}

/// A request that is open until this is dropped.
#[derive(Debug)]
pub(super) struct OpenRequest {
    requests: Arc<PendingRequests>,
    id: RequestId,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.requests.end(&self.id);
    }
}

#[derive(Debug, Default)]
struct RequestIds {
    /// Each with what cancels it, where the SDK does not.
    open: HashMap<RequestId, Option<CancellationToken>>,
    /// A cancelled call may end later: under the same id its result would answer another request.
    cancelled: VecDeque<RequestId>,
}

impl PendingRequests {
    fn lock(&self) -> MutexGuard<'_, RequestIds> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a request; the token, where there is one, is cancelled with it.
    pub(super) fn begin(&self, id: &RequestId, cancel: Option<&CancellationToken>) -> Result<(), RequestRefusal> {
        let mut ids = self.lock();
        if ids.open.contains_key(id) || ids.cancelled.contains(id) {
            return Err(RequestRefusal::InUse);
        }
        if ids.open.len() >= MOST {
            return Err(RequestRefusal::TooMany);
        }
        ids.open.insert(id.clone(), cancel.cloned());
        Ok(())
    }

    /// The same, until the guard is dropped.
    pub(super) fn open(self: &Arc<Self>, id: RequestId) -> Result<OpenRequest, RequestRefusal> {
        self.begin(&id, None)?;
        Ok(OpenRequest { requests: Arc::clone(self), id })
    }

    /// Ends a request that gets no answer; unless it had one already.
    pub(super) fn cancel(&self, id: &RequestId) {
        let mut ids = self.lock();
        let Some(request) = ids.open.remove(id) else { return };
        if ids.cancelled.len() >= MOST_CANCELLED {
            ids.cancelled.pop_front();
        }
        ids.cancelled.push_back(id.clone());
        self.notify(&ids);
        drop(ids);
        request.iter().for_each(CancellationToken::cancel);
    }

    pub(super) fn end(&self, id: &RequestId) {
        self.end_with(id, || ());
    }

    /// Ends a request and hands its answer over, in one step: neither can its id be in use after that, nor is all ended before. A
    /// request that was cancelled gets no answer.
    pub(super) fn end_with(&self, id: &RequestId, answer: impl FnOnce()) {
        let mut ids = self.lock();
        if ids.open.remove(id).is_some() {
            answer();
        }
        self.notify(&ids);
    }

    fn notify(&self, ids: &RequestIds) {
        if ids.open.is_empty() {
            self.ended.notify_waiters();
        }
    }

    /// Waits until none is open.
    pub(super) async fn all_ended(&self) {
        loop {
            let ended = self.ended.notified();
            if self.lock().open.is_empty() {
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
        assert_eq!(pending.begin(&id(1), None), Ok(()));
        assert_eq!(pending.begin(&id(1), None), Err(RequestRefusal::InUse));
        pending.end(&id(1));
        pending.end(&id(1));
        assert_eq!(pending.begin(&id(1), None), Ok(()));
        for number in 2..=MOST {
            assert_eq!(pending.begin(&id(i64::try_from(number).unwrap()), None), Ok(()));
        }
        assert_eq!(pending.begin(&id(-1), None), Err(RequestRefusal::TooMany));
        for number in 1..=MOST {
            pending.end(&id(i64::try_from(number).unwrap()));
        }
        pending.all_ended().await;
    }

    #[test]
    fn id_of_a_cancelled_request_is_not_free_again() {
        let (pending, id) = (PendingRequests::default(), RequestId::Number(1));
        // One that has ended cannot be cancelled any more.
        pending.cancel(&id);
        assert_eq!(pending.begin(&id, None), Ok(()));
        pending.cancel(&id);
        assert_eq!(pending.begin(&id, None), Err(RequestRefusal::InUse));
        for number in 2..1000 + i64::try_from(MOST_CANCELLED).unwrap() {
            pending.begin(&RequestId::Number(number), None).unwrap();
            pending.cancel(&RequestId::Number(number));
        }
        assert_eq!(pending.lock().cancelled.len(), MOST_CANCELLED);
    }

    #[test]
    fn cancelled_request_is_told_and_gets_no_answer() {
        let (pending, id, cancel) = (PendingRequests::default(), RequestId::Number(1), CancellationToken::new());
        pending.begin(&id, Some(&cancel)).unwrap();
        pending.cancel(&id);
        assert!(cancel.is_cancelled());
        pending.end_with(&id, || panic!("an answer"));
        let (other, mut answers) = (RequestId::Number(2), 0);
        pending.begin(&other, None).unwrap();
        pending.end_with(&other, || answers += 1);
        pending.end_with(&other, || answers += 1);
        assert_eq!(answers, 1);
    }
}
