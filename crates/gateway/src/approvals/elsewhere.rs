//! Questions of turns that other processes run: shown here, answered there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use haft_contract::ports::{ApprovalAnswer, ApprovalRequest};
use haft_engine::AnswerError;
use serde_json::{Value, json};

use super::PageApprovals;
use crate::api::ApprovalView;
use crate::error::ApiError;
use crate::remote::{RemoteMessage, RemoteTurns};

/// Questions that are shown at once.
const MOST_QUESTIONS: usize = 10_000;

/// By id. Clones share everything.
#[derive(Clone, Default)]
pub(super) struct QuestionsElsewhere(Arc<Mutex<HashMap<String, QuestionElsewhere>>>);

haft_contract::opaque_debug!(QuestionsElsewhere);

struct QuestionElsewhere {
    view: ApprovalView,
    remote: Arc<dyn RemoteTurns>,
}

impl PageApprovals {
    /// A question as pages get it, for a process that has none.
    pub fn question(&self, request: &ApprovalRequest) -> Value {
        json!(self.view(request, Some(SystemTime::now())))
    }

    pub(crate) fn asked_elsewhere(&self, view: Value, remote: Option<Arc<dyn RemoteTurns>>) {
        // One of another version that cannot be read here is answered on a server that can.
        let (Some(remote), Ok(view)) = (remote, serde_json::from_value::<ApprovalView>(view)) else { return };
        let mut questions = self.elsewhere.questions();
        if questions.len() >= MOST_QUESTIONS {
            return;
        }
        let (id, session) = (view.id.clone(), view.session.clone());
        questions.insert(id, QuestionElsewhere { view: view.clone(), remote });
        drop(questions);
        self.hub.send("approval", Some(&session), &json!({ "approval": view }));
    }

    pub(crate) fn closed_elsewhere(&self, session: &str, id: &str, answer: &str, by: &str) {
        let closed = self.elsewhere.questions().remove(id);
        if closed.is_some() {
            self.hub.send("approval_closed", Some(session), &json!({ "id": id, "session": session, "answer": answer, "by": by }));
        }
    }

    /// Closes what a process that is gone has left open: nobody waits for an answer when the turn is over.
    pub(crate) fn over_elsewhere(&self, session: &str) {
        for id in self.elsewhere.of_session(session) {
            self.closed_elsewhere(session, &id, "none", "nobody");
        }
    }
}

impl QuestionsElsewhere {
    fn of_session(&self, session: &str) -> Vec<String> {
        let questions = self.questions();
        questions.values().filter(|question| question.view.session == session).map(|question| question.view.id.clone()).collect()
    }

    pub(super) fn open(&self) -> Vec<ApprovalView> {
        let mut views: Vec<_> = self.questions().values().map(|question| question.view.clone()).collect();
        views.sort_by(|one, other| one.asked.cmp(&other.asked));
        views
    }

    pub(super) fn of_call(&self, session: &str, call_id: &str) -> Option<String> {
        let questions = self.questions();
        let found = questions.values().find(|question| question.view.session == session && question.view.call_id == call_id);
        found.map(|question| question.view.id.clone())
    }

    /// Sends an answer to the process that asks, which checks it again; `None` if none of them has this id.
    pub(super) fn answer(&self, id: &str, fingerprint: &str, answer: &ApprovalAnswer, by: &str) -> Option<Result<(), ApiError>> {
        let questions = self.questions();
        let question = questions.get(id)?;
        if question.view.fingerprint != fingerprint {
            return Some(Err(AnswerError::WrongFingerprint(id.to_owned()).into()));
        }
        let message = RemoteMessage::Answer {
            id: id.to_owned(),
            fingerprint: fingerprint.to_owned(),
            answer: answer.clone().into(),
            by: by.to_owned(),
        };
        question.remote.tell(&question.view.session, message);
        Some(Ok(()))
    }

    // Entries come and go whole, so the map is consistent after a panic elsewhere.
    fn questions(&self) -> MutexGuard<'_, HashMap<String, QuestionElsewhere>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
