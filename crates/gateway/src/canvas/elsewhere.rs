//! What models of turns that other processes run do with the canvas: each server shows it, and tells what its pages answer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;

use super::PageCanvas;
use crate::remote::{RemoteCanvas, RemoteCanvasAnswer, RemoteMessage, RemoteTurns};

/// How long an answer of a page is of use.
const ANSWERS: Duration = Duration::from_secs(10);
/// Commands that are known to be done: after a break, servers are told again.
const MOST_DONE: usize = 1_000;
/// The largest answer that reaches a worker, as JSON.
const MOST_BYTES: usize = 900 * 1024;

/// The canvases of a server, for commands of other processes. Clones share everything.
#[derive(Debug, Clone)]
pub(crate) struct CanvasElsewhere {
    canvas: PageCanvas,
    done: Arc<Mutex<VecDeque<String>>>,
}

impl CanvasElsewhere {
    pub(crate) fn new(canvas: &PageCanvas) -> Self {
        Self { canvas: canvas.clone(), done: Arc::default() }
    }

    /// Does it once, in the order of the calls.
    pub(crate) fn perform(&self, session: &str, request: String, command: RemoteCanvas, remote: Option<Arc<dyn RemoteTurns>>) {
        if !self.is_new(&request) {
            return;
        }
        let tell = |remote: &dyn RemoteTurns, session: &str, answer| remote.tell(session, RemoteMessage::Canvas { request, answer });
        match (self.canvas.ask(session, command.into()), remote) {
            (Err(error), Some(remote)) => {
                tell(&*remote, session, RemoteCanvasAnswer::Refused { message: error.message().to_owned() });
            }
            (Ok(mut asked), Some(remote)) => {
                let session = session.to_owned();
                tokio::spawn(async move {
                    let Some(mut answer) = asked.answer(ANSWERS).await else { return };
                    if answer.to_string().len() > MOST_BYTES {
                        answer = json!({ "error": "it is too large for a turn on a worker: make it smaller" });
                    }
                    tell(&*remote, &session, RemoteCanvasAnswer::Answered { answer });
                });
            }
            (_, None) => {}
        }
    }

    fn is_new(&self, request: &str) -> bool {
        // Entries come and go whole, so it is consistent after a panic elsewhere.
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        if done.iter().any(|known| known == request) {
            return false;
        }
        if done.len() >= MOST_DONE {
            done.pop_front();
        }
        done.push_back(request.to_owned());
        true
    }
}
