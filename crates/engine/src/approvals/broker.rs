//! Questions that are answered elsewhere than they are asked: on a web page, in a chat, by an MCP client.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::{
    BoxFuture,
    ports::{ApprovalAnswer, ApprovalRequest, Approver},
};
use tokio::sync::{broadcast, oneshot};

/// How many questions may be open at once; one more is denied.
const MAX_OPEN: usize = 1024;
/// How many closed questions are remembered, so that a second answer is told what became of the first.
const MAX_CLOSED: usize = 1024;
/// How many notices a slow listener may be behind.
const NOTICE_BUFFER: usize = 256;

/// Holds questions until someone answers them. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct ApprovalBroker {
    inner: Arc<ApprovalState>,
}

struct ApprovalState {
    queue: Mutex<QuestionQueue>,
    notices: broadcast::Sender<ApprovalNotice>,
}

impl fmt::Debug for ApprovalBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalBroker").field("open", &self.queue().open.len()).finish()
    }
}

/// A change to a question. A subscriber that missed some reads [`ApprovalBroker::pending`] again.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApprovalNotice {
    /// It can be answered.
    Asked {
        /// Which.
        id: String,
    },
    /// It can no longer be answered.
    Settled {
        /// Which.
        id: String,
        /// Whether it was answered here; else its time was up, its call ended, or it was answered elsewhere.
        answered: bool,
    },
}

/// Why an answer was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerError {
    /// There is no question with this id.
    Unknown(String),
    /// It was answered before; the first answer counts.
    AlreadyAnswered(String),
    /// The question with this id is about something else.
    WrongFingerprint(String),
    /// The call no longer waits for the answer.
    Expired(String),
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(id) => write!(f, "There is no question '{id}'. List the open questions, and answer one of them."),
            Self::AlreadyAnswered(id) => {
                write!(f, "The question '{id}' was answered before, and the first answer counts. Nothing was changed; see the history.")
            }
            Self::WrongFingerprint(id) => write!(
                f,
                "The question '{id}' is about another call than the one this answer was given for. It is still open: read it again."
            ),
            Self::Expired(id) => write!(
                f,
                "The question '{id}' is no longer open: its time was up, its call ended, or it was answered elsewhere. \
                 If the call was not made, it can be asked for again."
            ),
        }
    }
}

impl std::error::Error for AnswerError {}

#[derive(Default)]
struct QuestionQueue {
    /// In order of arrival.
    open: Vec<OpenQuestion>,
    /// The oldest first.
    closed: VecDeque<(String, QuestionEnd)>,
}

struct OpenQuestion {
    request: ApprovalRequest,
    answer: oneshot::Sender<ApprovalAnswer>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum QuestionEnd {
    Answered,
    Expired,
}

impl Default for ApprovalBroker {
    fn default() -> Self {
        Self { inner: Arc::new(ApprovalState { queue: Mutex::default(), notices: broadcast::Sender::new(NOTICE_BUFFER) }) }
    }
}

impl ApprovalBroker {
    /// A broker without questions.
    pub fn new() -> Self {
        Self::default()
    }

    /// The questions that wait for an answer, oldest first.
    pub fn pending(&self) -> Vec<ApprovalRequest> {
        self.queue().open.iter().map(|question| question.request.clone()).collect()
    }

    /// Notices of all questions from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<ApprovalNotice> {
        self.inner.notices.subscribe()
    }

    /// Answers a question by its id and fingerprint. The first answer counts; every other is an error.
    pub fn answer(&self, id: &str, fingerprint: &str, answer: ApprovalAnswer) -> Result<(), AnswerError> {
        let mut queue = self.queue();
        let question = queue.take(id, fingerprint)?;
        let delivered = question.answer.send(answer).is_ok();
        queue.close(id, if delivered { QuestionEnd::Answered } else { QuestionEnd::Expired });
        drop(queue);
        self.notify(ApprovalNotice::Settled { id: id.to_owned(), answered: delivered });
        if delivered { Ok(()) } else { Err(AnswerError::Expired(id.to_owned())) }
    }

    /// Opens a question, or says why not.
    fn open(&self, request: ApprovalRequest) -> Result<(QuestionGuard<'_>, oneshot::Receiver<ApprovalAnswer>), &'static str> {
        let (sender, answer) = oneshot::channel();
        let id = request.id.clone();
        let mut queue = self.queue();
        if queue.knows(&id) {
            return Err("this question was asked before; call the tool again.");
        }
        if queue.open.len() >= MAX_OPEN {
            return Err("too many questions wait for an answer; try again later.");
        }
        queue.open.push(OpenQuestion { request, answer: sender });
        drop(queue);
        self.notify(ApprovalNotice::Asked { id: id.clone() });
        Ok((QuestionGuard { broker: self, id }, answer))
    }

    fn notify(&self, notice: ApprovalNotice) {
        // Without subscribers there is nothing to do.
        self.inner.notices.send(notice).ok();
    }

    // Questions come and go whole, so the queue is consistent after a panic elsewhere.
    fn queue(&self) -> MutexGuard<'_, QuestionQueue> {
        self.inner.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Approver for ApprovalBroker {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move {
            match self.open(request) {
                Ok((_guard, answer)) => answer.await.unwrap_or(ApprovalAnswer::Deny { comment: None }),
                Err(why) => ApprovalAnswer::Deny { comment: Some(why.to_owned()) },
            }
        })
    }

    fn one_at_a_time(&self) -> bool {
        false
    }
}

impl QuestionQueue {
    /// Removes an open question, if the answer is meant for it.
    fn take(&mut self, id: &str, fingerprint: &str) -> Result<OpenQuestion, AnswerError> {
        let Some(index) = self.open.iter().position(|question| question.request.id == id) else {
            return Err(match self.closed.iter().find(|(closed, _)| closed == id) {
                None => AnswerError::Unknown(id.to_owned()),
                Some((_, QuestionEnd::Answered)) => AnswerError::AlreadyAnswered(id.to_owned()),
                Some((_, QuestionEnd::Expired)) => AnswerError::Expired(id.to_owned()),
            });
        };
        if self.open[index].request.fingerprint != fingerprint {
            return Err(AnswerError::WrongFingerprint(id.to_owned()));
        }
        Ok(self.open.remove(index))
    }

    fn close(&mut self, id: &str, how: QuestionEnd) {
        if self.closed.len() >= MAX_CLOSED {
            self.closed.pop_front();
        }
        self.closed.push_back((id.to_owned(), how));
    }

    fn knows(&self, id: &str) -> bool {
        self.open.iter().any(|question| question.request.id == id) || self.closed.iter().any(|(closed, _)| closed == id)
    }
}

/// An open question; closed when its call no longer waits.
struct QuestionGuard<'a> {
    broker: &'a ApprovalBroker,
    id: String,
}

impl Drop for QuestionGuard<'_> {
    fn drop(&mut self) {
        let mut queue = self.broker.queue();
        let Some(index) = queue.open.iter().position(|question| question.request.id == self.id) else { return };
        let left = queue.open.remove(index);
        queue.close(&self.id, QuestionEnd::Expired);
        drop(queue);
        drop(left);
        self.broker.notify(ApprovalNotice::Settled { id: std::mem::take(&mut self.id), answered: false });
    }
}
