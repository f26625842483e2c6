//! The events of the server: one bounded log, and streams that read it at their own pace.
//!
//! A stream is a position in the log, not a queue: a thousand streams share every event, and one that does not read costs nothing. Who
//! falls behind the oldest event is disconnected, and learns on the next connection that it has to load the state again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::{Bytes, BytesMut};
use serde::Serialize;
use serde_json::json;
use tokio::sync::watch;

/// Events that are kept for streams that reconnect.
const MOST_EVENTS: usize = 8_192;
/// Bytes that they have together at most.
const MOST_BYTES: usize = 16 << 20;
/// Events that a stream takes at once.
const BATCH: usize = 64;
/// Bytes that it takes at once; a larger event comes alone, and streams share it.
const BATCH_BYTES: usize = 64 << 10;

/// The log of events. Cheap to clone; clones share everything.
#[derive(Debug, Clone)]
pub(crate) struct EventHub(Arc<HubState>);

#[derive(Debug)]
struct HubState {
    log: Mutex<EventLog>,
    newest: watch::Sender<u64>,
}

#[derive(Debug)]
struct EventLog {
    /// Without gaps: the number of the first, and then one more each.
    first: u64,
    events: VecDeque<LoggedEvent>,
    bytes: usize,
}

#[derive(Debug)]
struct LoggedEvent {
    session: Option<Arc<str>>,
    /// As it is sent.
    frame: Bytes,
}

impl Default for EventHub {
    /// Numbers continue after those of an earlier process: they begin with the time in microseconds, and no server sends a million events a
    /// second for long.
    fn default() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let first = u64::try_from(since.as_micros()).unwrap_or(1);
        let log = EventLog { first, events: VecDeque::new(), bytes: 0 };
        Self(Arc::new(HubState { log: Mutex::new(log), newest: watch::Sender::new(first - 1) }))
    }
}

impl EventHub {
    /// Sends an event to every stream.
    pub(crate) fn send(&self, name: &str, session: Option<&str>, data: &impl Serialize) {
        // What we send is made of strings and fixed keys, so this does not fail; an event less is better than a panic.
        let Ok(data) = serde_json::to_string(data) else { return };
        let mut log = self.log();
        let number = log.first + log.events.len() as u64;
        let frame = Bytes::from(format!("id: {number}\nevent: {name}\ndata: {data}\n\n"));
        log.bytes += frame.len();
        log.events.push_back(LoggedEvent { session: session.map(Arc::from), frame });
        while log.events.len() > MOST_EVENTS || (log.bytes > MOST_BYTES && log.events.len() > 1) {
            let Some(oldest) = log.events.pop_front() else { break };
            log.bytes -= oldest.frame.len();
            log.first += 1;
        }
        // Under the lock, so that it never goes back: a page that loads the state with an older number would apply an event twice.
        self.0.newest.send_replace(number);
        drop(log);
    }

    /// The number of the newest event.
    pub(crate) fn newest(&self) -> u64 {
        *self.0.newest.borrow()
    }

    /// A stream of the events after this number, or of those from now on.
    pub(crate) fn stream(&self, after: Option<u64>, session: Option<String>) -> EventStream {
        let log = self.log();
        let next = log.first + log.events.len() as u64;
        let (position, is_reset) = match after {
            None => (next, false),
            Some(after) if after.saturating_add(1) >= log.first && after < next => (after + 1, false),
            // Too old, or of a server whose clock was ahead.
            Some(_) => (next, true),
        };
        drop(log);
        let first = if is_reset { Some(event("reset", &json!({ "seq": next - 1 }))) } else { None };
        EventStream { hub: self.clone(), newest: self.0.newest.subscribe(), position, session, first }
    }

    fn log(&self) -> MutexGuard<'_, EventLog> {
        self.0.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An event without a number: it is about the stream itself.
pub(crate) fn event(name: &str, data: &serde_json::Value) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

/// What a stream gets next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StreamPart {
    Events(Bytes),
    /// Events were dropped that this stream had not read.
    Behind,
}

/// A position in the log.
#[derive(Debug)]
pub(crate) struct EventStream {
    hub: EventHub,
    newest: watch::Receiver<u64>,
    position: u64,
    session: Option<String>,
    first: Option<Bytes>,
}

impl EventStream {
    /// Waits for the next events.
    pub(crate) async fn next(&mut self) -> StreamPart {
        if let Some(first) = self.first.take() {
            return StreamPart::Events(first);
        }
        loop {
            self.newest.mark_unchanged();
            if let Some(part) = self.read() {
                return part;
            }
            if self.newest.changed().await.is_err() {
                return StreamPart::Behind;
            }
        }
    }

    /// The events that are there.
    fn read(&mut self) -> Option<StreamPart> {
        let log = self.hub.log();
        let Some(skipped) = self.position.checked_sub(log.first) else { return Some(StreamPart::Behind) };
        let mut batch = EventBatch::default();
        for event in log.events.iter().skip(usize::try_from(skipped).unwrap_or(usize::MAX)) {
            let is_wanted = match (&self.session, &event.session) {
                (Some(wanted), Some(session)) => **wanted == **session,
                (Some(_), None) => false,
                (None, _) => true,
            };
            if is_wanted && !batch.take(&event.frame) {
                break;
            }
            self.position += 1;
        }
        drop(log);
        batch.into_bytes().map(StreamPart::Events)
    }
}

/// Frames that are sent at once. One alone is not copied: a thousand streams share it.
#[derive(Debug, Default)]
struct EventBatch {
    first: Option<Bytes>,
    joined: BytesMut,
    count: usize,
}

impl EventBatch {
    /// Adds a frame; `false` if it has to wait for the next batch.
    fn take(&mut self, frame: &Bytes) -> bool {
        let bytes = self.first.as_ref().map_or(0, |first| first.len().max(self.joined.len()));
        if self.count == BATCH || (self.count > 0 && bytes + frame.len() > BATCH_BYTES) {
            return false;
        }
        match &self.first {
            None => self.first = Some(frame.clone()),
            Some(first) => {
                if self.joined.is_empty() {
                    self.joined.extend_from_slice(first);
                }
                self.joined.extend_from_slice(frame);
            }
        }
        self.count += 1;
        true
    }

    fn into_bytes(self) -> Option<Bytes> {
        if self.joined.is_empty() { self.first } else { Some(self.joined.freeze()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn text(stream: &mut EventStream) -> String {
        match stream.next().await {
            StreamPart::Events(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            StreamPart::Behind => "behind".into(),
        }
    }

    #[tokio::test]
    async fn stream_resumes_after_a_number_and_is_reset_when_it_cannot() {
        let hub = EventHub::default();
        let start = hub.newest();
        hub.send("a", Some("s1"), &json!({"n": 1}));
        hub.send("b", Some("s2"), &json!({"n": 2}));
        let frame = |number: u64, name: &str, n: u32| format!("id: {number}\nevent: {name}\ndata: {{\"n\":{n}}}\n\n");
        let both = frame(start + 1, "a", 1) + &frame(start + 2, "b", 2);
        assert_eq!(text(&mut hub.stream(Some(start), None)).await, both);
        assert_eq!(text(&mut hub.stream(Some(start + 1), None)).await, frame(start + 2, "b", 2));
        assert_eq!(text(&mut hub.stream(Some(start), Some("s2".into()))).await, frame(start + 2, "b", 2));
        for unknown in [0, start - 1, start + 3, u64::MAX - 1] {
            let reset = text(&mut hub.stream(Some(unknown), None)).await;
            assert_eq!(reset, format!("event: reset\ndata: {{\"seq\":{}}}\n\n", start + 2), "{unknown}");
        }
        let mut live = hub.stream(None, None);
        let (next, ()) = tokio::join!(text(&mut live), async { hub.send("c", None, &json!({"n": 3})) });
        assert_eq!(next, frame(start + 3, "c", 3));
    }

    #[tokio::test]
    async fn reader_that_falls_behind_is_dropped_and_memory_stays_bounded() {
        let hub = EventHub::default();
        let mut slow = hub.stream(None, None);
        for n in 0..MOST_EVENTS + 10 {
            hub.send("a", None, &json!({ "n": n }));
        }
        assert_eq!(text(&mut slow).await, "behind");
        assert_eq!(hub.log().events.len(), MOST_EVENTS);
        let large = "x".repeat(1 << 20);
        let mut reader = hub.stream(None, None);
        (0..14).for_each(|_| hub.send("a", None, &large));
        // Large events come one by one, and are not copied for each reader.
        let StreamPart::Events(bytes) = reader.next().await else { panic!("the reader is behind") };
        assert!(bytes.len() < 2 << 20);
        assert!(hub.log().events.iter().any(|event| event.frame.as_ptr() == bytes.as_ptr()));
        (0..40).for_each(|_| hub.send("a", None, &large));
        assert!(hub.log().bytes <= MOST_BYTES);
    }
}
