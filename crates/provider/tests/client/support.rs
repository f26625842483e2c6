//! One request and everything that came of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_provider::{
    ApiKey, Completion, Delta, Endpoint, Message, Model, ModelClient, ModelTurn, Options, Protocol, ProviderError, ProviderErrorKind,
};
use tokio_util::sync::CancellationToken;

use crate::plain::Plain;
use crate::server::{Act, Script, Server};

/// Outcome of a request.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) answer: Result<Completion, ProviderError>,
    pub(crate) deltas: Vec<Delta>,
    /// Delays before the retries.
    pub(crate) waits: Vec<Duration>,
}

pub(crate) const KEY: &str = "sk-plain-0123456789";

pub(crate) fn milliseconds(number: u64) -> Duration {
    Duration::from_millis(number)
}

/// Options with which a retry costs nothing.
pub(crate) fn quick(retries: u32) -> Options {
    let mut options = Options::default();
    options.retries = retries;
    options.base_delay = milliseconds(2);
    options.max_delay = milliseconds(8);
    options.jitter = Arc::new(|| 1.0);
    options
}

pub(crate) fn endpoint(url: impl Into<String>) -> Endpoint {
    let mut endpoint = Endpoint::new(url);
    endpoint.key = Some(ApiKey::new(KEY));
    endpoint
}

pub(crate) async fn ask(options: Options, endpoint: &Endpoint) -> Outcome {
    ask_until(options, endpoint, &CancellationToken::new()).await
}

pub(crate) async fn ask_until(mut options: Options, endpoint: &Endpoint, cancel: &CancellationToken) -> Outcome {
    let waits = Arc::new(Mutex::new(Vec::new()));
    let (log, told) = (Arc::clone(&waits), Arc::clone(&options.on_retry));
    options.on_retry = Arc::new(move |retry| {
        log.lock().unwrap().push(retry.wait);
        assert_eq!(retry.number as usize, log.lock().unwrap().len());
        told(retry);
    });
    let mut deltas = Vec::new();
    let answer = send(&ModelClient::new(options), endpoint, cancel, &mut |delta| {
        if !matches!(delta, Delta::Retry(_)) {
            deltas.push(delta);
        }
    })
    .await;
    let waits = waits.lock().unwrap().clone();
    Outcome { answer, deltas, waits }
}

pub(crate) async fn send(
    client: &ModelClient,
    endpoint: &Endpoint,
    cancel: &CancellationToken,
    each: &mut (dyn FnMut(Delta) + Send),
) -> Result<Completion, ProviderError> {
    let model = Model::new("acme", Protocol::OpenAi, "small");
    let messages = [Message::user("hello")];
    let turn = ModelTurn { model: &model, system: "be brief", messages: &messages, tools: &[] };
    client.stream(endpoint, &Plain, &turn, cancel, each).await
}

/// A request to a server with these scripts.
pub(crate) async fn play(scripts: Vec<Script>, options: Options) -> (Outcome, Server) {
    let server = Server::playing(scripts).await;
    let outcome = ask(options, &endpoint(server.url())).await;
    (outcome, server)
}

impl Outcome {
    /// The error's kind and words, where there was one.
    pub(crate) fn error(&self) -> (ProviderErrorKind, &str) {
        let error = self.answer.as_ref().unwrap_err();
        (error.kind, &error.message)
    }
    pub(crate) fn retries(&self) -> u32 {
        self.answer.as_ref().unwrap().retries
    }
}

pub(crate) fn say(text: impl AsRef<[u8]>) -> Act {
    Act::Say(text.as_ref().to_vec())
}

/// A complete response: status line, headers and body; then the connection is closed.
pub(crate) fn answer(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Script {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 {status} Whatever\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
    vec![Act::Read, say(head), say(body)]
}

/// A stream in one piece.
pub(crate) fn stream(body: &str) -> Script {
    answer(200, "content-type: text/event-stream; charset=utf-8\r\n", body)
}

/// The head of a stream that is sent in pieces.
pub(crate) const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";

pub(crate) fn chunk(text: &str) -> Act {
    say(format!("{:x}\r\n{text}\r\n", text.len()))
}

pub(crate) const HELLO: &str = "event: text\ndata: Hello\n\n";
pub(crate) const WHOLE: &str = "event: text\ndata: Hello\n\nevent: end\ndata:\n\n";
