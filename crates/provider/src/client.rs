//! HTTP client for providers: sends a request, retries it, and streams the answer.

mod audio;
mod body;
mod connections;
mod document;
mod embeddings;
mod endpoint;
mod failure;
mod key;
mod models;
mod options;
mod plain;
mod proxies;
mod request;
mod response;
mod retry_after;

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use self::body::{BodyReader, Deadlines, in_time};
use self::connections::HttpClients;
use self::document::WholeEvent;
use self::failure::AttemptFailure;
use self::request::PreparedRequest;
use self::response::AnswerBody;
use crate::sse::EventReader;
use crate::{Adapter, Completion, Delta, ModelReply, ModelTurn, ProviderError, ProviderErrorKind, Retry, StreamDecoder};

pub use self::audio::{Recording, SpokenRequest};
pub use self::endpoint::{Endpoint, Timeouts};
pub use self::key::ApiKey;
pub use self::options::Options;
pub use self::proxies::Proxies;

/// HTTP client for providers. Clones share their connections.
#[derive(Debug, Clone)]
pub struct ModelClient {
    options: Arc<Options>,
    clients: Arc<HttpClients>,
}

/// The inputs of every attempt at one request.
struct AttemptContext<'a> {
    request: &'a PreparedRequest,
    adapter: &'a dyn Adapter,
    turn: &'a ModelTurn<'a>,
    options: &'a Options,
}

impl ModelClient {
    /// A client; it connects on the first request.
    pub fn new(options: Options) -> Self {
        Self { options: Arc::new(options), clients: Arc::default() }
    }

    /// Sends a request and streams the answer to `each`. A failed request is retried if that can help and nothing but usage was
    /// passed on; after that, the error is [`partial`](ProviderError::partial), and the caller decides. Cancelling `cancel` drops
    /// the connection at once.
    pub async fn stream(
        &self,
        endpoint: &Endpoint,
        adapter: &dyn Adapter,
        turn: &ModelTurn<'_>,
        cancel: &CancellationToken,
        each: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Completion, ProviderError> {
        let request = PreparedRequest::new(endpoint, adapter, turn)?;
        let attempt = AttemptContext { request: &request, adapter, turn, options: &self.options };
        let mut sink = DeltaSink { each, has_output: false };
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ProviderError::new(ProviderErrorKind::Cancelled, "The request was cancelled.")),
            outcome = self.send_with_retries(&attempt, &mut sink) => outcome,
        };
        match outcome {
            Ok((reply, retries)) => Ok(Completion { reply, warnings: request.warnings, retries }),
            Err(error) => Err(error.with_partial(sink.has_output)),
        }
    }

    /// Retries until there is an answer, or a retry cannot help.
    async fn send_with_retries(&self, attempt: &AttemptContext<'_>, sink: &mut DeltaSink<'_>) -> Result<(ModelReply, u32), ProviderError> {
        let end = in_time(attempt.request.timeouts.total);
        let (mut retries, mut url) = (0, &attempt.request.url);
        loop {
            let mut failure = match self.send_once(attempt, url, end, sink).await {
                Ok(reply) => return Ok((reply, retries)),
                Err(failure) => failure,
            };
            failure.error.message = attempt.request.scrub(&failure.error.message);
            if let (true, Some(other)) = (failure.is_elsewhere, &attempt.request.other_url) {
                if url != other {
                    url = other;
                    continue;
                }
                failure::add(&mut failure.error, "It was tried with and without the version in the address.");
            }
            if failure.is_elsewhere && attempt.request.other_url.is_none() {
                let (version, url) = ("If the server has no version in its address, leave it out of base_url", url.path());
                failure::add(&mut failure.error, &format!("{version}; it was sent to '{url}'."));
            }
            if !failure.retry || sink.has_output {
                return Err(failure.error);
            }
            let wait = self.options.wait(retries, failure.error.retry_after);
            if let Some(why) = self.give_up_reason(retries, wait, end) {
                failure::add(&mut failure.error, &why);
                return Err(failure.error);
            }
            retries += 1;
            let retry = Retry { number: retries, most: self.options.retries, wait, reason: failure.error.message };
            (self.options.on_retry)(&retry);
            (sink.each)(Delta::Retry(retry));
            sleep(wait).await;
        }
    }

    /// Why there is no further retry.
    fn give_up_reason(&self, retries: u32, wait: Duration, end: Instant) -> Option<String> {
        let longest = self.options.longest_wait();
        if wait > longest {
            return Some(format!("It asks for a delay of {wait:?}, more than the limit of {longest:?}. Try again then."));
        }
        if retries >= self.options.retries {
            let times = if retries == 0 { "once".to_owned() } else { format!("{} times", retries + 1) };
            return Some(format!("It was sent {times}."));
        }
        (in_time(wait) >= end).then(|| format!("A delay of {wait:?} before the next attempt exceeds the total timeout."))
    }

    /// One attempt.
    async fn send_once(
        &self,
        attempt: &AttemptContext<'_>,
        url: &Url,
        end: Instant,
        sink: &mut DeltaSink<'_>,
    ) -> Result<ModelReply, AttemptFailure> {
        let request = attempt.request;
        let deadlines = Deadlines::new(request, end);
        let client = self.clients.get(request, &self.options)?;
        let sent = client.post(url.clone()).headers(request.headers.clone()).body(request.body.clone()).send();
        let response = timeout_at(deadlines.first_byte.min(end), sent).await;
        let response = response.map_err(|_| deadlines.timed_out(request, "did not start to answer", request.timeouts.first_byte))?;
        let response = response.map_err(|error| failure::describe(&error, request))?;
        let content_type = response::content_type(response.headers());
        let body = response::accept(response, attempt, deadlines).await?;
        let mut reading = StreamReading { decoder: attempt.adapter.decoder(attempt.turn), sink, deltas: Vec::new(), events: 0 };
        match body {
            AnswerBody::Stream(body) => reading.read(body, request, &content_type).await,
            AnswerBody::Whole(events) => reading.read_whole(&events),
        }
    }
}

/// Receiver of the deltas of an answer.
struct DeltaSink<'a> {
    each: &'a mut (dyn FnMut(Delta) + Send),
    /// Whether anything was passed on that a retry would repeat.
    has_output: bool,
}

/// A stream that is being decoded.
struct StreamReading<'a, 'b> {
    decoder: Box<dyn StreamDecoder>,
    sink: &'a mut DeltaSink<'b>,
    deltas: Vec<Delta>,
    events: usize,
}

impl StreamReading<'_, '_> {
    async fn read(
        &mut self,
        mut body: BodyReader<'_>,
        request: &PreparedRequest,
        content_type: &str,
    ) -> Result<ModelReply, AttemptFailure> {
        let mut events = EventReader::new();
        loop {
            match body.next().await {
                Ok(Some(chunk)) => events.feed(&chunk, |name, data| self.event(name, data))?,
                Ok(None) if self.events > 0 => return Ok(self.finish()?),
                Ok(None) if body.bytes == 0 => return Err(response::empty(request)),
                Ok(None) => return Err(response::without_events(request, content_type)),
                // A connection may break after the last event.
                Err(failure) => return self.finish().map_err(|_| failure),
            }
        }
    }

    fn read_whole(&mut self, events: &[WholeEvent]) -> Result<ModelReply, AttemptFailure> {
        for (name, data) in events {
            self.event(name, data)?;
        }
        Ok(self.finish()?)
    }

    fn event(&mut self, name: &str, data: &str) -> Result<(), AttemptFailure> {
        self.events += 1;
        self.decoder.event(name, data, &mut self.deltas)?;
        self.pass_on();
        Ok(())
    }

    fn finish(&mut self) -> Result<ModelReply, ProviderError> {
        let reply = self.decoder.finish(&mut self.deltas)?;
        self.pass_on();
        Ok(reply)
    }

    fn pass_on(&mut self) {
        for delta in self.deltas.drain(..) {
            self.sink.has_output |= !matches!(delta, Delta::Usage(_) | Delta::Retry(_));
            (self.sink.each)(delta);
        }
    }
}
