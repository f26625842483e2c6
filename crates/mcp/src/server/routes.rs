//! Which client request a running call belongs to, so that its progress and its questions reach that request.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::ports::{MessageLevel, ProgressSink, UserMessage, UserMessages};
use haft_contract::{BoxFuture, CallInfo, Progress, ToolError};
use rmcp::model::InputResponses;
use rmcp::{Peer, RoleServer};
use tokio::sync::Notify;

use super::input_required::QuestionSender;

/// Messages of a call that wait for the client. More are dropped: progress is no record.
const QUEUE: usize = 64;

/// A message of a running call.
#[derive(Debug)]
pub(super) enum CallMessage {
    Progress(Progress),
    Notice(UserMessage),
}

/// How the user is asked about a call.
#[derive(Clone)]
pub(super) enum Questions {
    /// By a request to the client.
    Elicit(Peer<RoleServer>),
    /// By the result of the request, which the client then repeats with the answer; it may have sent some answers ahead.
    InputRequired(QuestionSender, InputResponses),
    /// The client cannot ask.
    Nobody,
}

#[derive(Clone)]
struct CallRoute {
    messages: Arc<MessageQueue>,
    questions: Questions,
}

/// What a call has said and the client has not heard. Most calls say nothing, and this is small where they do not.
#[derive(Default)]
struct MessageQueue {
    state: Mutex<QueuedMessages>,
    changed: Notify,
}

#[derive(Default)]
struct QueuedMessages {
    waiting: VecDeque<CallMessage>,
    has_ended: bool,
}

impl MessageQueue {
    fn lock(&self) -> MutexGuard<'_, QueuedMessages> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, message: CallMessage) {
        let mut state = self.lock();
        if state.waiting.len() < QUEUE && !state.has_ended {
            state.waiting.push_back(message);
            drop(state);
            self.changed.notify_one();
        }
    }

    fn end(&self) {
        self.lock().has_ended = true;
        self.changed.notify_one();
    }
}

/// The messages of a call, for the one that sends them on.
pub(super) struct CallMessages(Arc<MessageQueue>);

impl CallMessages {
    /// The next message; `None` when the call has ended and all were taken.
    pub(super) async fn next(&self) -> Option<CallMessage> {
        loop {
            {
                let mut state = self.0.lock();
                match state.waiting.pop_front() {
                    None if !state.has_ended => {}
                    message => return message,
                }
            }
            self.0.changed.notified().await;
        }
    }

    /// Whether none waits.
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().waiting.is_empty()
    }
}

/// The running calls of a client.
#[derive(Default)]
pub(super) struct CallRoutes {
    routes: Mutex<HashMap<String, CallRoute>>,
}

impl CallRoutes {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, CallRoute>> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a call, until the guard is dropped.
    pub(super) fn add(self: &Arc<Self>, call: &str, questions: Questions) -> (RouteGuard, CallMessages) {
        let messages = Arc::new(MessageQueue::default());
        self.lock().insert(call.to_owned(), CallRoute { messages: Arc::clone(&messages), questions });
        (RouteGuard { routes: Arc::clone(self), call: call.to_owned() }, CallMessages(messages))
    }

    /// How the user is asked about this call.
    pub(super) fn questions(&self, call: &str) -> Questions {
        self.lock().get(call).map_or(Questions::Nobody, |route| route.questions.clone())
    }

    fn send(&self, call: &str, message: CallMessage) {
        let route = self.lock().get(call).cloned();
        if let Some(route) = route {
            route.messages.push(message);
        }
    }

    /// Sends a message that belongs to the session: with the messages of some call that runs.
    fn send_to_any(&self, message: CallMessage) {
        let route = self.lock().values().next().cloned();
        if let Some(route) = route {
            route.messages.push(message);
        }
    }
}

/// Removes a call when it has ended.
pub(super) struct RouteGuard {
    routes: Arc<CallRoutes>,
    call: String,
}

impl Drop for RouteGuard {
    fn drop(&mut self) {
        let ended = self.routes.lock().remove(&self.call);
        if let Some(route) = ended {
            route.messages.end();
        }
    }
}

impl ProgressSink for CallRoutes {
    fn progress(&self, call: &CallInfo, progress: Progress) {
        self.send(&call.id, CallMessage::Progress(progress));
    }
}

impl UserMessages for CallRoutes {
    fn show<'a>(&'a self, message: &'a UserMessage) -> BoxFuture<'a, Result<(), ToolError>> {
        self.send_to_any(CallMessage::Notice(message.clone()));
        Box::pin(std::future::ready(Ok(())))
    }
}

/// The protocol's level of a message to the user.
pub(super) fn level_of(message: &UserMessage) -> super::log::LogSeverity {
    match message.level {
        MessageLevel::Info => super::log::LogSeverity::Info,
        MessageLevel::Warning => super::log::LogSeverity::Warning,
        MessageLevel::Question => super::log::LogSeverity::Notice,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn notice(text: &str) -> CallMessage {
        CallMessage::Progress(Progress::message(text))
    }

    fn text(message: Option<CallMessage>) -> Option<String> {
        match message? {
            CallMessage::Notice(notice) => Some(notice.message),
            CallMessage::Progress(progress) => Some(progress.message),
        }
    }

    #[tokio::test]
    async fn messages_come_in_order_and_end_with_their_call() {
        let routes = Arc::new(CallRoutes::default());
        let (route, messages) = routes.add("a", Questions::Nobody);
        assert!(messages.is_empty() && messages.next().now_or_never().is_none());
        routes.send("a", notice("one"));
        routes.send("b", notice("of another"));
        routes.send_to_any(notice("two"));
        assert!(!messages.is_empty());
        let waiting =
            async { [text(messages.next().await), text(messages.next().await), text(messages.next().await), text(messages.next().await)] };
        let ending = async {
            tokio::task::yield_now().await;
            routes.send("a", notice("three"));
            drop(route);
            routes.send("a", notice("late"));
        };
        let (heard, ()) = tokio::join!(waiting, ending);
        assert_eq!(heard, [Some("one".to_owned()), Some("two".to_owned()), Some("three".to_owned()), None]);
    }

    #[tokio::test]
    async fn messages_that_nobody_takes_are_bounded() {
        let routes = Arc::new(CallRoutes::default());
        let (route, messages) = routes.add("a", Questions::Nobody);
        (0..2 * QUEUE).for_each(|number| routes.send("a", notice(&number.to_string())));
        drop(route);
        let mut heard = 0;
        while messages.next().await.is_some() {
            heard += 1;
        }
        assert_eq!(heard, QUEUE);
    }
}
