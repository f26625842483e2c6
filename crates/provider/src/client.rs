//! HTTP to a provider: one request, sent as often as it takes, and the answer as it streams in.

mod answer;
mod connections;
mod endpoint;
mod failure;
mod key;
mod listing;
mod options;
mod pieces;
mod proxies;
mod request;
mod retry_after;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use self::connections::Connections;
use self::failure::Failure;
use self::pieces::{Deadlines, Pieces, in_time};
use self::request::Request;
use crate::sse::Events;
use crate::{Adapter, Decoder, Delta, ProviderError, Reply, Trouble, Turn};

pub use self::endpoint::{Endpoint, Timeouts};
pub use self::key::Key;
pub use self::options::{Options, Retry};
pub use self::proxies::Proxies;

/// A whole answer, and what it took.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// What the model said.
    pub reply: Reply,
    /// What a person should know of the request: tools that were left out, pictures that could not be sent.
    pub warnings: Vec<String>,
    /// How often the request was sent again.
    pub retries: u32,
}

/// Talks to providers. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    options: Arc<Options>,
    connections: Arc<Connections>,
}

/// What every try has in common.
struct Attempt<'a> {
    request: &'a Request,
    adapter: &'a dyn Adapter,
    turn: &'a Turn<'a>,
    options: &'a Options,
}

impl Client {
    /// A client; it connects to nothing before the first request.
    pub fn new(options: Options) -> Self {
        Self { options: Arc::new(options), connections: Arc::default() }
    }

    /// Sends a turn and hands out the answer piece by piece. A request that fails is sent again if that may help and nothing
    /// but usage was handed out; after that, an error is [`partial`](ProviderError::partial), and what to do is the caller's
    /// decision. When `cancel` is cancelled, the connection is dropped at once.
    pub async fn stream(
        &self,
        endpoint: &Endpoint,
        adapter: &dyn Adapter,
        turn: &Turn<'_>,
        cancel: &CancellationToken,
        each: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, ProviderError> {
        let request = Request::new(endpoint, adapter, turn)?;
        let attempt = Attempt { request: &request, adapter, turn, options: &self.options };
        let mut sink = Sink { each, begun: false };
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ProviderError::new(Trouble::Cancelled, "The request was cancelled.")),
            outcome = self.persist(&attempt, &mut sink) => outcome,
        };
        match outcome {
            Ok((reply, retries)) => Ok(Answer { reply, warnings: request.warnings, retries }),
            Err(error) => Err(error.with_partial(sink.begun)),
        }
    }

    /// Tries until there is an answer, or no hope of one.
    async fn persist(&self, attempt: &Attempt<'_>, sink: &mut Sink<'_>) -> Result<(Reply, u32), ProviderError> {
        let end = in_time(attempt.request.timeouts.total);
        let mut retries = 0;
        loop {
            let mut failure = match self.exchange(attempt, end, sink).await {
                Ok(reply) => return Ok((reply, retries)),
                Err(failure) => failure,
            };
            failure.error.message = attempt.request.scrub(&failure.error.message);
            if !failure.again || sink.begun {
                return Err(failure.error);
            }
            let wait = self.options.wait(retries, failure.error.retry_after);
            if let Some(why) = self.hopeless(retries, wait, end) {
                failure::add(&mut failure.error, &why);
                return Err(failure.error);
            }
            retries += 1;
            (self.options.on_retry)(&Retry { number: retries, wait, error: &failure.error });
            sleep(wait).await;
        }
    }

    /// Why no further try is made.
    fn hopeless(&self, retries: u32, wait: Duration, end: Instant) -> Option<String> {
        let longest = self.options.longest_wait();
        if wait > longest {
            return Some(format!("It asks to wait {wait:?}, and at most {longest:?} is waited: try again then."));
        }
        if retries >= self.options.retries {
            let times = if retries == 0 { "once".to_owned() } else { format!("{} times", retries + 1) };
            return Some(format!("It was sent {times}."));
        }
        (in_time(wait) >= end).then(|| format!("To wait {wait:?} for the next try would take longer than the whole request may."))
    }

    /// One try.
    async fn exchange(&self, attempt: &Attempt<'_>, end: Instant, sink: &mut Sink<'_>) -> Result<Reply, Failure> {
        let request = attempt.request;
        let deadlines = Deadlines::new(request, end);
        let client = self.connections.to(request, &self.options)?;
        let sent = client.post(request.url.clone()).headers(request.headers.clone()).body(request.body.clone()).send();
        let response = timeout_at(deadlines.first_byte.min(end), sent).await;
        let response = response.map_err(|_| deadlines.late(request, "did not begin to answer", request.timeouts.first_byte))?;
        let response = response.map_err(|error| failure::describe(&error, request))?;
        let kind = answer::content_type(response.headers());
        let pieces = answer::accept(response, attempt, deadlines).await?;
        let mut reading = Reading { decoder: attempt.adapter.decoder(attempt.turn), sink, deltas: Vec::new(), events: 0 };
        reading.whole(pieces, request, &kind).await
    }
}

/// Who gets the pieces of an answer.
struct Sink<'a> {
    each: &'a mut (dyn FnMut(Delta) + Send),
    /// Whether anything was handed out that another try would say again.
    begun: bool,
}

/// A stream that is being read.
struct Reading<'a, 'b> {
    decoder: Box<dyn Decoder>,
    sink: &'a mut Sink<'b>,
    deltas: Vec<Delta>,
    events: usize,
}

impl Reading<'_, '_> {
    async fn whole(&mut self, mut pieces: Pieces<'_>, request: &Request, kind: &str) -> Result<Reply, Failure> {
        let mut events = Events::new();
        loop {
            match pieces.next().await {
                Ok(Some(piece)) => events.feed(&piece, |name, data| self.event(name, data))?,
                Ok(None) if self.events > 0 => return Ok(self.finish()?),
                Ok(None) if pieces.bytes == 0 => return Err(answer::empty(request)),
                Ok(None) => return Err(answer::without_events(request, kind)),
                // A connection may break behind the last event, when all was said.
                Err(failure) => return self.finish().map_err(|_| failure),
            }
        }
    }

    fn event(&mut self, name: &str, data: &str) -> Result<(), Failure> {
        self.events += 1;
        self.decoder.event(name, data, &mut self.deltas)?;
        self.hand_out();
        Ok(())
    }

    fn finish(&mut self) -> Result<Reply, ProviderError> {
        let reply = self.decoder.finish(&mut self.deltas)?;
        self.hand_out();
        Ok(reply)
    }

    fn hand_out(&mut self) {
        for delta in self.deltas.drain(..) {
            self.sink.begun |= !matches!(delta, Delta::Usage(_));
            (self.sink.each)(delta);
        }
    }
}
