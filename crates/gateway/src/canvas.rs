//! The canvas of each session: what an agent shows in a frame of the page, and what the page answers.
//!
//! The frame has an opaque origin and no network. Its document is served under a path that nobody can guess, with a policy of its own; the
//! page and the frame speak by messages, and the page believes nothing that the frame says.

mod elsewhere;
mod frame;
mod versions;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_contract::ports::{CanvasCommand, CanvasDocument, CanvasPages};
use haft_contract::{BoxFuture, ErrorKind, ToolError};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Value, json};
use tokio::sync::oneshot;

pub(crate) use self::elsewhere::CanvasElsewhere;
pub(crate) use self::frame::{POLICY, document};
use self::versions::{CanvasVersion, CanvasVersions};
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
    is_shown: bool,
    versions: CanvasVersions,
    used: u64,
}

impl SessionCanvas {
    /// What the page needs to show it.
    fn view(&self) -> Value {
        let (CanvasVersion { key, source, messages, .. }, (first, last)) = (&self.versions.shown, self.versions.range());
        json!({"shown": self.is_shown, "key": key, "source": source, "messages": messages, "first": first, "last": last})
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
        let found = book.canvases.values().filter(|_| !key.is_empty()).find_map(|canvas| canvas.versions.html(key));
        found.map(str::to_owned)
    }

    /// A version of the canvas of a session, with its source; `None` if it is not kept.
    pub(crate) fn version(&self, session: &str, number: usize) -> Option<Result<Value, ToolError>> {
        self.book().canvases.get_mut(session)?.versions.view(number)
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
    fn ask(&self, session: &str, command: CanvasCommand) -> Result<CanvasRequest, ToolError> {
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
        Ok(CanvasRequest { canvas: self.clone(), number, answered })
    }
}

/// A question to the pages. Dropped, nobody waits for it any more.
struct CanvasRequest {
    canvas: PageCanvas,
    number: u64,
    answered: oneshot::Receiver<Value>,
}

impl CanvasRequest {
    async fn answer(&mut self, patience: Duration) -> Option<Value> {
        tokio::time::timeout(patience, &mut self.answered).await.ok()?.ok()
    }
}

impl Drop for CanvasRequest {
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
                    let next = CanvasVersion { key: new_key()?, source: Some(source), html, ..CanvasVersion::default() };
                    canvas.versions.replace(next);
                } else if canvas.versions.shown.key.is_empty() {
                    canvas.versions.shown.key = new_key()?;
                }
                Ok(with(canvas.view(), "show"))
            }
            CanvasCommand::Hide => {
                canvas.is_shown = false;
                Ok(json!({"op": "hide"}))
            }
            CanvasCommand::Reset => {
                let CanvasVersion { key, source, html, .. } = &canvas.versions.shown;
                // The frame stays; of a document there is nothing to take away.
                let next = CanvasVersion { key: key.clone(), source: source.clone(), html: html.clone(), ..CanvasVersion::default() };
                if source.is_none() {
                    canvas.versions.replace(next);
                }
                let (first, last) = canvas.versions.range();
                Ok(json!({"op": "reset", "first": first, "last": last}))
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
    let shown = &canvas.versions.shown;
    if shown.messages.len() + messages.len() > MOST_MESSAGES || shown.bytes + bytes > MOST_BYTES {
        return Err(ToolError::new(
            ErrorKind::ValidationError,
            "The canvas is full: use the action 'a2ui_reset', and push what is to be seen.",
        ));
    }
    let is_new = shown.source.is_some() || shown.key.is_empty();
    if is_new {
        canvas.versions.replace(CanvasVersion { key: new_key()?, ..CanvasVersion::default() });
    }
    canvas.versions.shown.bytes += bytes;
    canvas.versions.shown.messages.extend(messages.iter().cloned());
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
            canvas_outcome(answer, needs_answer)
        })
    }
}

/// What an answer of a page means for the call; `None` if no page has answered in time.
pub fn canvas_outcome(answer: Option<Value>, needs_answer: bool) -> Result<Value, ToolError> {
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

    #[test]
    fn versions_are_kept_within_bounds_under_paths_that_end_when_they_are_looked_at_again() {
        let canvas = canvas();
        let push = |number: usize| CanvasCommand::Push(vec![json!({"deleteSurface": {"surfaceId": number}})]);
        for command in [document("<p>1</p>"), push(2), CanvasCommand::Reset, push(3), document("<p>4</p>")] {
            canvas.ask("s", command).unwrap();
        }
        let view = canvas.view("s");
        assert_eq!((&view["first"], &view["last"], &view["source"]), (&json!(1), &json!(4), &json!("a.html")));
        let version = |number| canvas.version("s", number).map(Result::unwrap);
        let [one, two, three, four] = [1, 2, 3, 4].map(|number| version(number).unwrap());
        assert_eq!(
            (&two["messages"][0]["deleteSurface"]["surfaceId"], &three["messages"][0]["deleteSurface"]["surfaceId"]),
            (&json!(2), &json!(3))
        );
        assert!(one["source_html"].as_str().unwrap().contains("&lt;") && !one["source_html"].as_str().unwrap().contains("<p>"), "{one}");
        assert_eq!((&four["key"], canvas.view("s")["key"].as_str()), (&view["key"], four["key"].as_str()), "what is shown keeps its path");
        let key = one["key"].as_str().unwrap();
        assert_eq!(canvas.html(key).as_deref(), Some("<p>1</p>"));
        version(1);
        assert_eq!(canvas.html(key), None, "a path is for one look");
        assert!(version(0).is_none() && version(5).is_none() && canvas.version("other", 1).is_none());
        // Neither many nor large ones fill the memory.
        for _ in 0..30 {
            canvas.ask("s", document("x")).unwrap();
        }
        assert_eq!((&canvas.view("s")["first"], &canvas.view("s")["last"]), (&json!(15), &json!(34)));
        let large = "x".repeat(900 * 1024);
        for _ in 0..5 {
            canvas.ask("s", document(&large)).unwrap();
        }
        assert_eq!((&canvas.view("s")["first"], &canvas.view("s")["last"]), (&json!(37), &json!(39)));
        assert!(version(36).is_none() && version(37).is_some());
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
