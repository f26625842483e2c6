//! What the user sees of a turn on a worker beside its text: the pages of all servers show its canvas, and ask it for its browser.

use std::sync::{Arc, Weak};
use std::time::Duration;

use haft_contract::ports::{BrowserScreen, BrowserScreens, CanvasCommand, CanvasPages};
use haft_contract::{BoxFuture, ErrorKind, ToolError};
use haft_gateway::{RemoteCanvas, RemoteCanvasAnswer, RemoteEvent, RemoteMessage, RemoteScreenAnswer, RemoteScreenAsk, canvas_outcome};
use haft_store::new_uuid;
use serde_json::{Value, json};
use tokio::time::{Instant, interval, timeout_at};

use super::reach::{ReplyPath, ServerReach};

/// How long pages have to say that they show what was sent.
const SEEN: Duration = Duration::from_secs(2);
/// The largest command; the queue refuses more than a million bytes.
const MOST_BYTES: usize = 900 * 1024;
/// How often it is looked whether a browser has ended.
const LOOK: Duration = Duration::from_secs(1);

/// The canvas on the pages of all servers.
pub(super) struct FleetCanvas {
    reach: ServerReach,
}

impl FleetCanvas {
    pub(super) fn new(reach: &ServerReach) -> Self {
        Self { reach: reach.clone() }
    }

    async fn tell_servers(&self, session: &str, command: CanvasCommand, patience: Duration) -> Result<Value, ToolError> {
        let needs_answer = matches!(command, CanvasCommand::Eval(_) | CanvasCommand::Snapshot { .. });
        let unknown = || ToolError::execution("A worker of this version does not know what that is.");
        let unreachable = || ToolError::execution("The servers with the pages cannot be told now. Try again later.");
        let (command, request) = (RemoteCanvas::new(command).ok_or_else(unknown)?, new_uuid().to_string());
        let body = json!({ "session": session, "events": [RemoteEvent::Canvas { request: request.clone(), command }] });
        let length = body.to_string().len();
        if length > MOST_BYTES {
            let message = format!("This is {} KB, and a turn on a worker shows {} KB at most.", length / 1024, MOST_BYTES / 1024);
            return Err(ToolError::new(ErrorKind::FileTooLarge, message));
        }
        // Before it is asked, so that no answer is missed.
        let mut answers = self.reach.listen(session).await.ok_or_else(unreachable)?;
        if !self.reach.publish(session, &body).await {
            return Err(unreachable());
        }
        let (mut until, mut refused) = (Instant::now() + if needs_answer { patience } else { SEEN }, None);
        while let Ok(Some(message)) = timeout_at(until, answers.next()).await {
            match serde_json::from_slice(&message) {
                Ok(RemoteMessage::Canvas { request: of, answer: RemoteCanvasAnswer::Answered { answer } }) if of == request => {
                    return canvas_outcome(Some(answer), needs_answer);
                }
                // One server may have what another one, which began later, has not.
                Ok(RemoteMessage::Canvas { request: of, answer: RemoteCanvasAnswer::Refused { message } }) if of == request => {
                    until = until.min(Instant::now() + SEEN);
                    refused = Some(message);
                }
                _ => {}
            }
        }
        refused.map_or_else(|| canvas_outcome(None, needs_answer), |message| Err(ToolError::execution(message)))
    }
}

impl CanvasPages for FleetCanvas {
    /// Whether one is open is known when it answers.
    fn is_open(&self) -> bool {
        true
    }

    fn perform<'a>(&'a self, session: &'a str, command: CanvasCommand, patience: Duration) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(self.tell_servers(session, command, patience))
    }
}

/// Browsers of turns on this worker, for the pages of all servers.
pub(super) struct FleetScreens {
    reach: ServerReach,
}

impl FleetScreens {
    pub(super) fn new(reach: &ServerReach) -> Self {
        Self { reach: reach.clone() }
    }
}

impl BrowserScreens for FleetScreens {
    fn started(&self, session: &str, screen: Weak<dyn BrowserScreen>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(answer_servers(self.reach.clone(), session.to_owned(), screen));
    }
}

/// Answers what servers ask of a browser, until it has ended.
async fn answer_servers(reach: ServerReach, session: String, screen: Weak<dyn BrowserScreen>) {
    let tell = async |runs| {
        let event = RemoteEvent::Browser { runs };
        // Pages that miss it show no browser, and the turn continues.
        reach.publish(&session, &json!({ "session": session, "events": [event] })).await;
    };
    let Some(mut asked) = reach.listen(&session).await else { return };
    tell(true).await;
    let mut looks = interval(LOOK);
    loop {
        let next = tokio::select! {
            _ = looks.tick() => None,
            next = asked.next_asked() => match next {
                Some(next) => Some(next),
                None => break,
            },
        };
        let Some(screen) = screen.upgrade() else { break };
        let Some((message, Some(reply))) = next else { continue };
        let Ok(RemoteMessage::Screen { ask }) = serde_json::from_slice(&message) else { continue };
        tokio::spawn(answer(screen, ask, reply));
    }
    tell(false).await;
}

async fn answer(screen: Arc<dyn BrowserScreen>, ask: RemoteScreenAsk, reply: ReplyPath) {
    reply.send(json!(RemoteScreenAnswer::ask(&*screen, ask).await)).await;
}
