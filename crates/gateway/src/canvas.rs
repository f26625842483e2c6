//! The canvas of each session: what an agent shows in a frame of the page, and what the page answers.
//!
//! The frame has an opaque origin and no network. Its document is served under a path that nobody can guess, with a policy of its own; the
//! page and the frame speak by messages, and the page believes nothing that the frame says.

mod frame;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_contract::ports::{CanvasCommand, CanvasDocument, CanvasPages};
use haft_contract::{BoxFuture, ErrorKind, ToolError};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Value, json};
use tokio::sync::oneshot;

pub(crate) use self::frame::{POLICY, document};
use crate::approvals::PageApprovals;
use crate::hub::EventHub;

/// Canvases that are kept; of more, the ones that were used longest ago go.
const MOST_CANVASES: usize = 64;
/// What may be pushed to one canvas before it is reset.
const MOST_MESSAGES: usize = 2_000;
const MOST_BYTES: usize = 1 << 20;
/// How long a page has to say that it shows what was sent.
const SEEN: Duration = Duration::from_millis(1_500);

/// The canvases of a server. Cheap to clone; clones share everything.
#[derive(Debug, Clone)]
pub struct PageCanvas {
    hub: EventHub,
    pages: Arc<AtomicUsize>,
    state: Arc<Mutex<CanvasBook>>,
}

#[derive(Debug, Default)]
struct CanvasBook {
    canvases: HashMap<String, SessionCanvas>,
    waiting: HashMap<u64, oneshot::Sender<Value>>,
    next: u64,
}

/// The canvas of one session.
#[derive(Debug, Clone, Default)]
struct SessionCanvas {
    key: String,
    is_shown: bool,
    /// Where the document is from; none is an interface in A2UI.
    source: Option<String>,
    html: String,
    messages: Vec<Value>,
    bytes: usize,
    used: u64,
}

impl SessionCanvas {
    /// What the page needs to show it.
    fn view(&self) -> Value {
        json!({"shown": self.is_shown, "key": self.key, "source": self.source, "messages": self.messages})
    }
}

/// A page that is open, as long as it has a stream of events.
#[derive(Debug)]
pub(crate) struct OpenPage(Arc<AtomicUsize>);

impl Drop for OpenPage {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl PageCanvas {
    /// The canvases on the pages that have these questions.
    pub fn new(approvals: &PageApprovals) -> Self {
        Self { hub: approvals.hub.clone(), pages: Arc::default(), state: Arc::default() }
    }

    /// Counts a page until it is dropped.
    pub(crate) fn opened(&self) -> OpenPage {
        self.pages.fetch_add(1, Ordering::Relaxed);
        OpenPage(Arc::clone(&self.pages))
    }

    /// The canvas of a session, for the page.
    pub(crate) fn view(&self, session: &str) -> Value {
        self.book().canvases.get(session).map_or_else(|| json!({"shown": false}), SessionCanvas::view)
    }

    /// The document under a key.
    pub(crate) fn html(&self, key: &str) -> Option<String> {
        let book = self.book();
        let found = book.canvases.values().find(|canvas| !key.is_empty() && canvas.key == key);
        found.map(|canvas| canvas.html.clone())
    }

    /// Whether a session shows a canvas.
    pub(crate) fn is_shown(&self, session: &str) -> bool {
        self.book().canvases.get(session).is_some_and(|canvas| canvas.is_shown)
    }

    /// An answer of a page; the first one counts.
    pub(crate) fn answer(&self, request: u64, answer: Value) -> bool {
        let waiting = self.book().waiting.remove(&request);
        waiting.is_some_and(|waiting| waiting.send(answer).is_ok())
    }

    fn book(&self) -> MutexGuard<'_, CanvasBook> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the canvas of a session, and asks the pages; returns the request that they answer.
    fn ask(&self, session: &str, command: CanvasCommand) -> Result<CanvasRequest<'_>, ToolError> {
        let mut book = self.book();
        let event = book.apply(session, command)?;
        book.next += 1;
        let number = book.next;
        let (answer, answered) = oneshot::channel();
        book.waiting.insert(number, answer);
        drop(book);
        let mut event = event;
        (event["session"], event["request"]) = (json!(session), json!(number));
        self.hub.send("canvas", Some(session), &event);
        Ok(CanvasRequest { canvas: self, number, answered })
    }
}

/// A question to the pages. Dropped, nobody waits for it any more.
struct CanvasRequest<'a> {
    canvas: &'a PageCanvas,
    number: u64,
    answered: oneshot::Receiver<Value>,
}

impl CanvasRequest<'_> {
    async fn answer(&mut self, patience: Duration) -> Option<Value> {
        tokio::time::timeout(patience, &mut self.answered).await.ok()?.ok()
    }
}

impl Drop for CanvasRequest<'_> {
    fn drop(&mut self) {
        self.canvas.book().waiting.remove(&self.number);
    }
}

impl CanvasBook {
    /// The canvas of a session, made if there is none.
    fn canvas(&mut self, session: &str) -> &mut SessionCanvas {
        self.next += 1;
        let now = self.next;
        if !self.canvases.contains_key(session) && self.canvases.len() >= MOST_CANVASES {
            let oldest = self.canvases.iter().min_by_key(|(_, canvas)| canvas.used).map(|(session, _)| session.clone());
            oldest.map(|session| self.canvases.remove(&session));
        }
        let canvas = self.canvases.entry(session.to_owned()).or_default();
        canvas.used = now;
        canvas
    }

    /// Changes the canvas as a command says; returns the event for the pages.
    fn apply(&mut self, session: &str, command: CanvasCommand) -> Result<Value, ToolError> {
        let canvas = self.canvas(session);
        match command {
            CanvasCommand::Present(document) => {
                canvas.is_shown = true;
                if let Some(CanvasDocument { source, html }) = document {
                    (canvas.source, canvas.html, canvas.key) = (Some(source), html, new_key()?);
                    (canvas.messages, canvas.bytes) = (Vec::new(), 0);
                } else if canvas.key.is_empty() {
                    canvas.key = new_key()?;
                }
                Ok(with(canvas.view(), "show"))
            }
            CanvasCommand::Hide => {
                canvas.is_shown = false;
                Ok(json!({"op": "hide"}))
            }
            CanvasCommand::Reset => {
                (canvas.messages, canvas.bytes) = (Vec::new(), 0);
                Ok(json!({"op": "reset"}))
            }
            CanvasCommand::Push(messages) => push(canvas, &messages),
            CanvasCommand::Eval(code) => needs_frame(canvas).map(|()| json!({"op": "eval", "code": code})),
            CanvasCommand::Snapshot { mime, max_width, quality } => {
                needs_frame(canvas)?;
                Ok(json!({"op": "snapshot", "mime": mime, "max_width": max_width, "quality": quality}))
            }
            _ => Err(ToolError::execution("This server does not know what that is.")),
        }
    }
}

fn with(mut event: Value, operation: &str) -> Value {
    event["op"] = json!(operation);
    event
}

fn needs_frame(canvas: &SessionCanvas) -> Result<(), ToolError> {
    if canvas.is_shown { Ok(()) } else { Err(ToolError::execution("The canvas is not shown. Show it with the action 'present' first.")) }
}

/// Adds messages. A canvas that showed a document shows the interface from now on.
fn push(canvas: &mut SessionCanvas, messages: &[Value]) -> Result<Value, ToolError> {
    let bytes: usize = messages.iter().map(|message| message.to_string().len()).sum();
    if canvas.messages.len() + messages.len() > MOST_MESSAGES || canvas.bytes + bytes > MOST_BYTES {
        return Err(ToolError::new(
            ErrorKind::ValidationError,
            "The canvas is full: use the action 'a2ui_reset', and push what is to be seen.",
        ));
    }
    let is_new = canvas.source.is_some() || canvas.key.is_empty();
    if is_new {
        (canvas.source, canvas.html, canvas.key) = (None, String::new(), new_key()?);
    }
    canvas.bytes += bytes;
    canvas.messages.extend(messages.iter().cloned());
    if is_new || !canvas.is_shown {
        canvas.is_shown = true;
        return Ok(with(canvas.view(), "show"));
    }
    Ok(json!({"op": "push", "messages": messages}))
}

/// A path that nobody can guess.
fn new_key() -> Result<String, ToolError> {
    let mut key = [0; 16];
    SystemRandom::new().fill(&mut key).map_err(|_| ToolError::execution("The machine has no random numbers."))?;
    Ok(haft_text::hex::encode(key))
}

impl CanvasPages for PageCanvas {
    fn is_open(&self) -> bool {
        self.pages.load(Ordering::Relaxed) > 0
    }

    fn perform<'a>(&'a self, session: &'a str, command: CanvasCommand, patience: Duration) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let needs_answer = matches!(command, CanvasCommand::Eval(_) | CanvasCommand::Snapshot { .. });
            let mut request = self.ask(session, command)?;
            let answer = request.answer(if needs_answer { patience } else { SEEN }).await;
            match answer {
                Some(answer) => match answer["error"].as_str() {
                    Some(error) => Err(ToolError::execution(format!("The canvas answered with an error: {error}"))),
                    None => Ok(answer),
                },
                None if needs_answer => {
                    let message = "No page answered in time: the user has this session not open, or the document is busy. Ask the user to \
                                   open this session on the page.";
                    Err(ToolError::new(ErrorKind::Timeout, message))
                }
                None => Ok(json!({"note": "The user does not look at this session now, and sees it when they open it."})),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canvas() -> PageCanvas {
        PageCanvas::new(&PageApprovals::new("/w".into(), None))
    }

    fn document(html: &str) -> CanvasCommand {
        CanvasCommand::Present(Some(CanvasDocument { source: "a.html".into(), html: html.into() }))
    }

    #[tokio::test]
    async fn documents_have_keys_of_their_own_and_interfaces_take_their_place() {
        let canvas = canvas();
        assert_eq!((canvas.is_open(), canvas.view("s")), (false, json!({"shown": false})));
        let page = canvas.opened();
        assert!(canvas.is_open());
        let noted = canvas.perform("s", document("<p>1</p>"), Duration::ZERO).await.unwrap();
        assert!(noted["note"].is_string());
        let first = canvas.view("s")["key"].as_str().unwrap().to_owned();
        assert_eq!((first.len(), canvas.html(&first).as_deref(), canvas.html(""), canvas.html("x")), (32, Some("<p>1</p>"), None, None));
        canvas.ask("s", document("<p>2</p>")).unwrap();
        assert_eq!(canvas.html(&first), None, "the old document is gone");
        let message = json!({"deleteSurface": {"surfaceId": "m"}});
        canvas.ask("s", CanvasCommand::Push(vec![message.clone()])).unwrap();
        let view = canvas.view("s");
        assert_eq!(
            (&view["source"], &view["messages"], canvas.html(view["key"].as_str().unwrap())),
            (&Value::Null, &json!([message]), Some(String::new()))
        );
        canvas.ask("s", CanvasCommand::Hide).unwrap();
        assert!(!canvas.is_shown("s"));
        let hidden = canvas.perform("s", CanvasCommand::Eval("1".into()), Duration::ZERO).await.unwrap_err();
        assert_eq!(hidden.message(), "The canvas is not shown. Show it with the action 'present' first.");
        drop(page);
        assert!(!canvas.is_open());
    }

    #[tokio::test]
    async fn first_answer_counts_and_nobody_waits_for_ever() {
        let canvas = canvas();
        canvas.ask("s", document("x")).unwrap();
        let mut request = canvas.ask("s", CanvasCommand::Eval("6 * 7".into())).unwrap();
        let number = request.number;
        assert!(canvas.answer(number, json!({"value": "42"})));
        assert!(!canvas.answer(number, json!({"value": "43"})), "a second page is too late");
        assert_eq!(request.answer(Duration::from_secs(1)).await, Some(json!({"value": "42"})));
        drop(request);
        let silent = canvas.perform("s", CanvasCommand::Eval("1".into()), Duration::from_millis(10)).await.unwrap_err();
        assert_eq!(silent.kind(), ErrorKind::Timeout);
        assert_eq!(canvas.book().waiting.len(), 0);
    }

    #[test]
    fn canvases_and_messages_are_bounded() {
        let canvas = canvas();
        for number in 0..MOST_CANVASES + 3 {
            canvas.ask(&number.to_string(), document("x")).unwrap();
        }
        let count = canvas.book().canvases.len();
        assert_eq!((count, canvas.is_shown("0"), canvas.is_shown("10")), (MOST_CANVASES, false, true));
        let large = json!({"dataModelUpdate": {"surfaceId": "m", "contents": "x".repeat(400 * 1024)}});
        canvas.ask("s", CanvasCommand::Push(vec![large.clone(), large.clone()])).unwrap();
        let full = canvas.ask("s", CanvasCommand::Push(vec![large.clone()])).err().unwrap();
        assert_eq!(full.message(), "The canvas is full: use the action 'a2ui_reset', and push what is to be seen.");
        canvas.ask("s", CanvasCommand::Reset).unwrap();
        assert!(canvas.ask("s", CanvasCommand::Push(vec![large])).is_ok());
    }
}
