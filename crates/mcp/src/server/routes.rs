//! Which client request a running call belongs to, so that its progress and its questions reach that request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::ports::{MessageLevel, ProgressSink, UserMessage, UserMessages};
use haft_contract::{BoxFuture, CallInfo, Progress, ToolError};
use rmcp::model::InputResponses;
use rmcp::{Peer, RoleServer};
use tokio::sync::mpsc;

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
    messages: mpsc::Sender<CallMessage>,
    questions: Questions,
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
    pub(super) fn add(self: &Arc<Self>, call: &str, questions: Questions) -> (RouteGuard, mpsc::Receiver<CallMessage>) {
        let (messages, receiver) = mpsc::channel(QUEUE);
        self.lock().insert(call.to_owned(), CallRoute { messages, questions });
        (RouteGuard { routes: Arc::clone(self), call: call.to_owned() }, receiver)
    }

    /// How the user is asked about this call.
    pub(super) fn questions(&self, call: &str) -> Questions {
        self.lock().get(call).map_or(Questions::Nobody, |route| route.questions.clone())
    }

    fn send(&self, call: &str, message: CallMessage) {
        let route = self.lock().get(call).cloned();
        if let Some(route) = route {
            route.messages.try_send(message).ok();
        }
    }

    /// Sends a message that belongs to the session: with the messages of some call that runs.
    fn send_to_any(&self, message: CallMessage) {
        let route = self.lock().values().next().cloned();
        if let Some(route) = route {
            route.messages.try_send(message).ok();
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
        self.routes.lock().remove(&self.call);
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
