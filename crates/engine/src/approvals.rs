//! Approvals: when a question is asked, who answers it, and what the answer allows.
//!
//! A question carries the fingerprint of exactly this call, and the rules that "session" and "always" would add: exact, never a
//! shell or an interpreter. The broker is for answers that arrive from elsewhere: by id and fingerprint, the first wins, a replay is
//! refused. "Always" is saved in the user's own configuration.

mod ask;
mod broker;
mod callback;
mod past;

use std::fmt;
use std::sync::Arc;

use futures_util::future::select_all;
use haft_contract::BoxFuture;
use haft_contract::ports::{ApprovalAnswer, ApprovalRequest, Approver};
use tokio::sync::{Mutex, MutexGuard, watch};

pub(crate) use self::ask::{ApprovalOutcome, ApprovalStep, no_approver, other_asks};
pub use self::broker::{AnswerError, ApprovalBroker, ApprovalNotice};
pub use self::callback::CallbackApprover;
pub(crate) use self::past::PastCalls;
pub use self::past::covers_past_call;

/// Asks several approvers at once: the first answer counts, and the other questions are withdrawn.
pub struct FirstOf(pub Vec<Arc<dyn Approver>>);

impl fmt::Debug for FirstOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FirstOf").field(&self.0.len()).finish()
    }
}

impl Approver for FirstOf {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        let able = self.0.iter().filter(|approver| approver.can_ask());
        let asked: Vec<_> = able.map(|approver| approver.ask(request.clone())).collect();
        if asked.is_empty() {
            let comment = Some("no one can approve here. Do without it, or tell the user what you need it for.".to_owned());
            return Box::pin(async { ApprovalAnswer::Deny { comment } });
        }
        Box::pin(async { select_all(asked).await.0 })
    }

    fn can_ask(&self) -> bool {
        self.0.iter().any(|approver| approver.can_ask())
    }

    fn one_at_a_time(&self) -> bool {
        self.0.iter().any(|approver| approver.one_at_a_time())
    }
}

/// The questions of a session: whose turn it is to ask, and notice of everything that is allowed meanwhile.
#[derive(Debug, Default)]
pub(crate) struct QuestionTurns {
    turn: Mutex<()>,
    granted: watch::Sender<()>,
}

impl QuestionTurns {
    /// Waits until no other question of the session is open, in order of arrival.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }
    /// Changes with everything that is allowed for the session from now on.
    pub(crate) fn granted(&self) -> watch::Receiver<()> {
        self.granted.subscribe()
    }
    /// Announces that something was allowed for the session.
    pub(crate) fn notify_granted(&self) {
        self.granted.send_replace(());
    }
}
