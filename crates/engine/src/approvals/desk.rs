//! Questions that are answered by another way than they are asked: on a page, in a chat, by an MCP client.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::{Answer, ApprovalRequest, Approver, BoxFuture};
use tokio::sync::{broadcast, oneshot};

/// How many questions may be open at once; one more is a no.
const OPEN: usize = 1024;
/// How many closed questions are remembered, so that a second answer is told what became of the first.
const CLOSED: usize = 1024;
/// How many notices a slow listener may be behind.
const NOTICES: usize = 256;

/// Where questions lie until someone answers them. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct ApprovalDesk {
    inner: Arc<Inner>,
}

struct Inner {
    book: Mutex<Book>,
    notices: broadcast::Sender<DeskNotice>,
}

impl fmt::Debug for ApprovalDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalDesk").field("open", &self.book().open.len()).finish()
    }
}

/// What happened to a question. Whoever missed some reads [`ApprovalDesk::pending`] again.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeskNotice {
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

/// Why an answer counts for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerError {
    /// There is no question with this id.
    Unknown(String),
    /// It was answered before; the first answer counts.
    AlreadyAnswered(String),
    /// The question with this id is about something else.
    WrongFingerprint(String),
    /// Nobody waits for the answer any more.
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
                 This answer counts for nothing; if the call was not made, it can be asked for again."
            ),
        }
    }
}

impl std::error::Error for AnswerError {}

#[derive(Default)]
struct Book {
    /// In the order in which they came.
    open: Vec<OpenQuestion>,
    /// The oldest first.
    closed: VecDeque<(String, Closed)>,
}

struct OpenQuestion {
    request: ApprovalRequest,
    answer: oneshot::Sender<Answer>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Closed {
    Answered,
    Expired,
}

impl Default for ApprovalDesk {
    fn default() -> Self {
        Self { inner: Arc::new(Inner { book: Mutex::default(), notices: broadcast::Sender::new(NOTICES) }) }
    }
}

impl ApprovalDesk {
    /// A desk with nothing on it.
    pub fn new() -> Self {
        Self::default()
    }

    /// The questions that wait for an answer, oldest first.
    pub fn pending(&self) -> Vec<ApprovalRequest> {
        self.book().open.iter().map(|question| question.request.clone()).collect()
    }

    /// Hears of every question that comes and goes from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<DeskNotice> {
        self.inner.notices.subscribe()
    }

    /// Answers a question, naming its id and its fingerprint. The first answer counts; every other is told why it does not.
    pub fn answer(&self, id: &str, fingerprint: &str, answer: Answer) -> Result<(), AnswerError> {
        let mut book = self.book();
        let question = book.take(id, fingerprint)?;
        let heard = question.answer.send(answer).is_ok();
        book.close(id, if heard { Closed::Answered } else { Closed::Expired });
        drop(book);
        self.tell(DeskNotice::Settled { id: id.to_owned(), answered: heard });
        if heard { Ok(()) } else { Err(AnswerError::Expired(id.to_owned())) }
    }

    /// Puts a question on the desk, or says why not.
    fn put(&self, request: ApprovalRequest) -> Result<(Lying<'_>, oneshot::Receiver<Answer>), &'static str> {
        let (sender, answer) = oneshot::channel();
        let id = request.id.clone();
        let mut book = self.book();
        if book.knows(&id) {
            return Err("this very question was put before; call the tool again.");
        }
        if book.open.len() >= OPEN {
            return Err("too many questions wait for an answer; try again later.");
        }
        book.open.push(OpenQuestion { request, answer: sender });
        drop(book);
        self.tell(DeskNotice::Asked { id: id.clone() });
        Ok((Lying { desk: self, id }, answer))
    }

    fn tell(&self, notice: DeskNotice) {
        // That nobody listens is no fault.
        self.inner.notices.send(notice).ok();
    }

    // Questions come and go whole, so a panic elsewhere leaves the book as it should be.
    fn book(&self) -> MutexGuard<'_, Book> {
        self.inner.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Approver for ApprovalDesk {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            match self.put(request) {
                Ok((_lying, answer)) => answer.await.unwrap_or(Answer::Deny { comment: None }),
                Err(why) => Answer::Deny { comment: Some(why.to_owned()) },
            }
        })
    }

    fn one_at_a_time(&self) -> bool {
        false
    }
}

impl Book {
    /// Takes an open question off, if the answer is meant for it.
    fn take(&mut self, id: &str, fingerprint: &str) -> Result<OpenQuestion, AnswerError> {
        let Some(place) = self.open.iter().position(|question| question.request.id == id) else {
            return Err(match self.closed.iter().find(|(closed, _)| closed == id) {
                None => AnswerError::Unknown(id.to_owned()),
                Some((_, Closed::Answered)) => AnswerError::AlreadyAnswered(id.to_owned()),
                Some((_, Closed::Expired)) => AnswerError::Expired(id.to_owned()),
            });
        };
        if self.open[place].request.fingerprint != fingerprint {
            return Err(AnswerError::WrongFingerprint(id.to_owned()));
        }
        Ok(self.open.remove(place))
    }

    fn close(&mut self, id: &str, how: Closed) {
        if self.closed.len() >= CLOSED {
            self.closed.pop_front();
        }
        self.closed.push_back((id.to_owned(), how));
    }

    fn knows(&self, id: &str) -> bool {
        self.open.iter().any(|question| question.request.id == id) || self.closed.iter().any(|(closed, _)| closed == id)
    }
}

/// A question on the desk; taken off when whoever asked goes away.
struct Lying<'a> {
    desk: &'a ApprovalDesk,
    id: String,
}

impl Drop for Lying<'_> {
    fn drop(&mut self) {
        let mut book = self.desk.book();
        let Some(place) = book.open.iter().position(|question| question.request.id == self.id) else { return };
        let left = book.open.remove(place);
        book.close(&self.id, Closed::Expired);
        drop(book);
        drop(left);
        self.desk.tell(DeskNotice::Settled { id: std::mem::take(&mut self.id), answered: false });
    }
}
