//! Questions of calls on a worker: every server shows them, and the first answer counts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::ports::ApprovalRequest;
use haft_gateway::{ApprovalListener, PageApprovals, RemoteEvent, RemoteMessage};
use serde_json::json;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::reach::ServerReach;

/// By the id of a question: its session, and what ends the wait for an answer.
type OpenQuestions = HashMap<String, (String, CancellationToken)>;

pub(super) struct FleetQuestions {
    reach: ServerReach,
    approvals: PageApprovals,
    open: Arc<Mutex<OpenQuestions>>,
}

impl FleetQuestions {
    pub(super) fn new(reach: ServerReach, approvals: &PageApprovals) -> Self {
        Self { reach, approvals: approvals.clone(), open: Arc::default() }
    }

    // Entries come and go whole, so the map is consistent after a panic elsewhere.
    fn questions(&self) -> MutexGuard<'_, OpenQuestions> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn publish(reach: &ServerReach, session: &str, event: &RemoteEvent) {
    // A question that nobody sees is refused when its time is up.
    reach.publish(session, &json!({ "session": session, "events": [event] })).await;
}

impl ApprovalListener for FleetQuestions {
    fn opened(&self, request: &ApprovalRequest) {
        let (session, view) = (request.call.session.to_string(), self.approvals.question(request));
        let closed = CancellationToken::new();
        self.questions().insert(request.id.clone(), (session.clone(), closed.clone()));
        let (reach, approvals, asked) = (self.reach.clone(), self.approvals.clone(), request.id.clone());
        tokio::spawn(async move {
            // Before it is asked, so that no answer is missed.
            let Some(mut answers) = reach.listen(&session).await else { return };
            publish(&reach, &session, &RemoteEvent::Question { view }).await;
            loop {
                let message = tokio::select! {
                    () = closed.cancelled() => return,
                    message = answers.next() => message,
                };
                let Some(message) = message else { return };
                if let Ok(RemoteMessage::Answer { id, fingerprint, answer, by }) = serde_json::from_slice(&message)
                    && id == asked
                {
                    // One that does not fit changes nothing: the question stays open.
                    approvals.answer_as(&id, &fingerprint, answer.into(), &by).ok();
                }
            }
        });
    }

    fn closed(&self, id: &str, answer: &str, by: &str) {
        let Some((session, closed)) = self.questions().remove(id) else { return };
        closed.cancel();
        let event = RemoteEvent::QuestionClosed { id: id.to_owned(), answer: answer.to_owned(), by: by.to_owned() };
        let (reach, Ok(runtime)) = (self.reach.clone(), Handle::try_current()) else { return };
        runtime.spawn(async move { publish(&reach, &session, &event).await });
    }
}
