//! Questions of calls on a worker: every server shows them, and the first answer counts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::ports::ApprovalRequest;
use haft_fleet::{FleetQueue, subject_of_session};
use haft_gateway::{ApprovalListener, PageApprovals, RemoteEvent, RemoteMessage};
use serde_json::json;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

/// By the id of a question: its session, and what ends the wait for an answer.
type OpenQuestions = HashMap<String, (String, CancellationToken)>;

pub(super) struct FleetQuestions {
    queue: FleetQueue,
    approvals: PageApprovals,
    open: Arc<Mutex<OpenQuestions>>,
}

impl FleetQuestions {
    pub(super) fn new(queue: FleetQueue, approvals: &PageApprovals) -> Self {
        Self { queue, approvals: approvals.clone(), open: Arc::default() }
    }

    // Entries come and go whole, so the map is consistent after a panic elsewhere.
    fn questions(&self) -> MutexGuard<'_, OpenQuestions> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn publish(queue: &FleetQueue, session: &str, event: &RemoteEvent) {
    let body = json!({ "session": session, "events": [event] }).to_string().into_bytes();
    // A question that nobody sees is refused when its time is up.
    queue.publish_event(&subject_of_session(session), body).await.ok();
}

impl ApprovalListener for FleetQuestions {
    fn opened(&self, request: &ApprovalRequest) {
        let (session, view) = (request.call.session.to_string(), self.approvals.question(request));
        let closed = CancellationToken::new();
        self.questions().insert(request.id.clone(), (session.clone(), closed.clone()));
        let (queue, approvals, asked) = (self.queue.clone(), self.approvals.clone(), request.id.clone());
        tokio::spawn(async move {
            // Before it is asked, so that no answer is missed.
            let Ok(mut answers) = queue.listen(&session).await else { return };
            publish(&queue, &session, &RemoteEvent::Question { view }).await;
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
        let (queue, Ok(runtime)) = (self.queue.clone(), Handle::try_current()) else { return };
        runtime.spawn(async move { publish(&queue, &session, &event).await });
    }
}
