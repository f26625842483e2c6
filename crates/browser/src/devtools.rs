//! The protocol of the debugging pipe: messages in JSON, each ended by a zero byte, in both directions.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};

/// The longest message that is read: a picture of a whole page is the longest that is asked for.
const LONGEST_MESSAGE: usize = 64 << 20;
/// Messages that wait to be written.
const QUEUE: usize = 1024;
const CHUNK: usize = 256 << 10;

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DevToolsError {
    /// The browser has ended, or does not read.
    Closed,
    /// It refused.
    Refused(String),
}

type Reply = Result<Box<RawValue>, DevToolsError>;
type Pending = Mutex<HashMap<u64, oneshot::Sender<Reply>>>;

/// An event of a session, or of the browser itself.
pub(crate) struct DevToolsEvent<'a> {
    pub(crate) method: &'a str,
    /// The session of a page or frame.
    pub(crate) session: Option<&'a str>,
    pub(crate) params: Value,
}

/// Gets every event, in order, before the next message is read.
pub(crate) trait EventHandler: Send + Sync {
    fn event(&self, devtools: &DevTools, event: DevToolsEvent<'_>);
    /// Whether the parameters of this event are used at all.
    fn wants(&self, method: &str) -> bool;
    /// The browser has ended.
    fn closed(&self);
}

/// The connection to a browser.
#[derive(Debug)]
pub(crate) struct DevTools {
    outgoing: mpsc::Sender<Vec<u8>>,
    pending: Pending,
    next: AtomicU64,
    closed: AtomicBool,
}

#[derive(Deserialize)]
struct Incoming<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, rename = "sessionId")]
    session: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<RefusedRequest>,
}

#[derive(Deserialize)]
struct RefusedRequest {
    message: String,
    data: Option<String>,
}

/// A request that was sent.
#[derive(Debug)]
pub(crate) struct PendingReply(oneshot::Receiver<Reply>);

impl PendingReply {
    pub(crate) async fn raw(self) -> Reply {
        self.0.await.unwrap_or(Err(DevToolsError::Closed))
    }
    pub(crate) async fn value(self) -> Result<Value, DevToolsError> {
        let raw = self.raw().await?;
        serde_json::from_str(raw.get()).map_err(|error| DevToolsError::Refused(format!("its answer cannot be parsed: {error}")))
    }
}

impl DevTools {
    /// Connects to the pipes of a browser.
    pub(crate) fn connect(
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
        handler: Arc<dyn EventHandler>,
    ) -> Arc<Self> {
        let (outgoing, queue) = mpsc::channel(QUEUE);
        let devtools = Arc::new(Self { outgoing, pending: Mutex::default(), next: AtomicU64::new(1), closed: AtomicBool::new(false) });
        tokio::spawn(write(queue, input));
        let reader = Arc::downgrade(&devtools);
        tokio::spawn(async move {
            let mut output = BufReader::with_capacity(CHUNK, output);
            let mut message = Vec::new();
            while read_message(&mut output, &mut message).await.is_ok() {
                let Some(devtools) = reader.upgrade() else { return };
                devtools.receive(&message, &*handler);
                if message.capacity() > CHUNK {
                    message = Vec::new();
                }
            }
            handler.closed();
            if let Some(devtools) = reader.upgrade() {
                devtools.close();
            }
        });
        devtools
    }

    /// Sends a request; the answer need not be waited for.
    pub(crate) fn send(&self, session: Option<&str>, method: &str, params: Value) -> PendingReply {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.pending().insert(id, sender);
        let mut message = Map::new();
        message.insert("id".to_owned(), id.into());
        message.insert("method".to_owned(), method.into());
        message.insert("params".to_owned(), params);
        message.extend(session.map(|session| ("sessionId".to_owned(), session.into())));
        let mut bytes = Value::Object(message).to_string().into_bytes();
        bytes.push(0);
        if self.closed.load(Ordering::Acquire) || self.outgoing.try_send(bytes).is_err() {
            // Its receiver reports that the browser has ended.
            self.pending().remove(&id);
        }
        PendingReply(receiver)
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn call(&self, session: Option<&str>, method: &str, params: Value) -> Result<Value, DevToolsError> {
        self.send(session, method, params).value().await
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    fn receive(&self, message: &[u8], handler: &dyn EventHandler) {
        // What cannot be parsed is of no request that we know.
        let Ok(incoming) = serde_json::from_slice::<Incoming<'_>>(message) else { return };
        match (incoming.id, &incoming.method) {
            (Some(id), _) => {
                let Some(waiting) = self.pending().remove(&id) else { return };
                let reply = match incoming.error {
                    Some(RefusedRequest { message, data }) => {
                        Err(DevToolsError::Refused(data.map_or(message.clone(), |data| format!("{message}: {data}"))))
                    }
                    None => Ok(incoming.result.map_or_else(empty, ToOwned::to_owned)),
                };
                // Nobody may wait for it.
                waiting.send(reply).ok();
            }
            (None, Some(method)) if handler.wants(method) => {
                let params = incoming.params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default();
                handler.event(self, DevToolsEvent { method, session: incoming.session.as_deref(), params });
            }
            _ => {}
        }
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.pending().clear();
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Reply>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn empty() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_default()
}

async fn write(mut queue: mpsc::Receiver<Vec<u8>>, mut input: impl AsyncWrite + Unpin) {
    while let Some(message) = queue.recv().await {
        if input.write_all(&message).await.is_err() {
            return;
        }
        if queue.is_empty() && input.flush().await.is_err() {
            return;
        }
    }
}

/// Reads one message, without the zero byte that ends it.
async fn read_message(output: &mut (impl AsyncBufReadExt + Unpin), message: &mut Vec<u8>) -> io::Result<()> {
    message.clear();
    loop {
        let piece = output.fill_buf().await?;
        if piece.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let end = piece.iter().position(|byte| *byte == 0);
        let length = end.unwrap_or(piece.len());
        if message.len() + length > LONGEST_MESSAGE {
            return Err(io::Error::other("a message of the browser is too long"));
        }
        message.extend_from_slice(&piece[..length]);
        output.consume(end.map_or(length, |end| end + 1));
        if end.is_some() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Default)]
    struct Recorder(Mutex<Vec<String>>);

    impl EventHandler for Recorder {
        fn event(&self, _: &DevTools, event: DevToolsEvent<'_>) {
            self.0.lock().unwrap().push(format!("{} {:?} {}", event.method, event.session, event.params));
        }
        fn wants(&self, method: &str) -> bool {
            method != "Unwanted"
        }
        fn closed(&self) {
            self.0.lock().unwrap().push("closed".into());
        }
    }

    #[tokio::test]
    async fn requests_get_their_answers_and_events_come_in_order() {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(ours);
        let recorder = Arc::new(Recorder::default());
        let devtools = DevTools::connect(writer, reader, Arc::clone(&recorder) as _);
        let (first, second) = (devtools.send(None, "A", json!({})), devtools.send(Some("s"), "B", json!({"x": "é"})));
        let (mut from, mut to) = tokio::io::split(theirs);
        let mut sent = BufReader::new(&mut from);
        let mut message = Vec::new();
        let mut requests = Vec::new();
        for _ in 0..2 {
            read_message(&mut sent, &mut message).await.unwrap();
            requests.push(String::from_utf8(message.clone()).unwrap());
        }
        assert_eq!(requests, [r#"{"id":1,"method":"A","params":{}}"#, r#"{"id":2,"method":"B","params":{"x":"é"},"sessionId":"s"}"#]);
        let answers = "{\"method\":\"E\",\"sessionId\":\"s\",\"params\":{\"a\":1}}\0{\"id\":2,\"error\":{\"message\":\"no\",\"data\":\"why\"}}\0\
                       broken\0{\"method\":\"Unwanted\"}\0{\"id\":9,\"result\":{}}\0{\"id\":1,\"result\":{\"ok\":true}}\0";
        // In pieces, as a pipe may hand them over.
        for piece in answers.as_bytes().chunks(7) {
            to.write_all(piece).await.unwrap();
        }
        assert_eq!(second.value().await, Err(DevToolsError::Refused("no: why".into())));
        assert_eq!(first.value().await, Ok(json!({"ok": true})));
        let waiting = devtools.send(None, "C", json!({}));
        drop(sent);
        drop((to, from));
        assert_eq!(waiting.value().await, Err(DevToolsError::Closed));
        assert_eq!(devtools.call(None, "D", json!({})).await, Err(DevToolsError::Closed));
        assert!(devtools.is_closed());
        assert_eq!(*recorder.0.lock().unwrap(), ["E Some(\"s\") {\"a\":1}", "closed"]);
    }

    #[tokio::test]
    async fn message_beyond_the_limit_ends_the_connection() {
        let mut endless = BufReader::with_capacity(CHUNK, tokio::io::repeat(b'x'));
        let mut message = Vec::new();
        assert!(read_message(&mut endless, &mut message).await.is_err());
        assert!(message.len() <= LONGEST_MESSAGE);
    }
}
