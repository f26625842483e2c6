//! Events by subject, for every server: kept for an hour, and read again from any number on.

use std::time::Duration;

use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use futures_util::StreamExt;
use tokio::time::timeout;

use crate::queue::{EVENTS, event_stream};
use crate::{FleetError, FleetQueue};

/// A reader that hears nothing for so long looks whether it should have.
const QUIET: Duration = Duration::from_secs(10);

/// Events that the queue may send before the reader asks for more. Each is half a megabyte at most, and a queue cuts off who has 64 MB
/// waiting.
const AT_ONCE: i64 = 16;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetEvent {
    /// Its number. Events of all subjects are numbered together, and later ones have greater numbers.
    pub sequence: u64,
    /// What it is about, such as `work.ID`.
    pub subject: String,
    /// What it says.
    pub body: Vec<u8>,
}

/// Events as they come.
pub struct FleetEvents {
    queue: FleetQueue,
    subject: String,
    messages: pull::Ordered,
    /// The number of the last event that was read, or after which reading begins.
    last: u64,
    /// Whether events before the first were not kept any more.
    pub has_missed: bool,
}

haft_contract::opaque_debug!(FleetEvents: queue = queue);

impl FleetQueue {
    /// Tells every server; resolves with the number of the event when it is kept.
    pub async fn publish_event(&self, subject: &str, body: Vec<u8>) -> Result<u64, FleetError> {
        let sent = self.context.publish(format!("{EVENTS}.{subject}"), body.into()).await.map_err(|error| self.failed(error))?;
        Ok(sent.await.map_err(|error| self.failed(error))?.sequence)
    }

    /// The events of a subject, which may end in `>`: those after a number, or those that come from now on.
    pub async fn events(&self, subject: &str, after: Option<u64>) -> Result<FleetEvents, FleetError> {
        let mut stream = self.stream(event_stream()).await?;
        let state = stream.info().await.map_err(|error| self.failed(error))?.state.clone();
        // A queue that lost everything counts from one again: a number of before is none of its events.
        let is_lost = after.is_some_and(|after| after > state.last_sequence);
        let last = if is_lost { 0 } else { after.unwrap_or(state.last_sequence) };
        let has_missed = is_lost || last + 1 < state.first_sequence;
        let config = pull::OrderedConfig {
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: last + 1 },
            filter_subject: format!("{EVENTS}.{subject}"),
            max_batch: AT_ONCE,
            ..pull::OrderedConfig::default()
        };
        let consumer = stream.create_consumer(config).await.map_err(|error| self.failed(error))?;
        let messages = consumer.messages().await.map_err(|error| self.failed(error))?;
        Ok(FleetEvents { queue: self.clone(), subject: subject.to_owned(), messages, last, has_missed })
    }

    /// The events of one subject that are kept, up to a number.
    pub async fn past_events(&self, subject: &str, until: u64) -> Result<Vec<FleetEvent>, FleetError> {
        let stream = self.stream(event_stream()).await?;
        let Ok(newest) = stream.get_last_raw_message_by_subject(&format!("{EVENTS}.{subject}")).await else { return Ok(Vec::new()) };
        let (mut events, mut past) = (self.events(subject, Some(0)).await?, Vec::<FleetEvent>::new());
        while past.last().is_none_or(|event| event.sequence < newest.sequence.min(until)) {
            past.push(events.next().await?);
        }
        past.retain(|event| event.sequence <= until);
        Ok(past)
    }

    async fn last_event(&self) -> Result<u64, FleetError> {
        let mut stream = self.stream(event_stream()).await?;
        Ok(stream.info().await.map_err(|error| self.failed(error))?.state.last_sequence)
    }
}

impl FleetEvents {
    /// The number of the last event that was read, or after which reading begins.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The next event. It waits until there is one.
    pub async fn next(&mut self) -> Result<FleetEvent, FleetError> {
        loop {
            let Ok(message) = timeout(QUIET, self.messages.next()).await else {
                self.resume_if_behind().await?;
                continue;
            };
            let message = message.ok_or_else(|| self.queue.failed("the events have ended"))?.map_err(|error| self.queue.failed(error))?;
            let sequence = message.info().map_err(|error| self.queue.failed(error))?.stream_sequence;
            self.last = sequence;
            let subject = message.subject.strip_prefix(EVENTS).and_then(|subject| subject.strip_prefix('.'));
            if let Some(subject) = subject {
                return Ok(FleetEvent { sequence, subject: subject.to_owned(), body: message.payload.to_vec() });
            }
        }
    }

    /// A reader that was too slow is cut off by the queue, and its consumer may wait for good without an error. So one that hears nothing
    /// while events come reads again from its number on.
    async fn resume_if_behind(&mut self) -> Result<(), FleetError> {
        let newest = self.queue.last_event().await?;
        if newest != self.last {
            let has_missed = self.has_missed;
            *self = self.queue.events(&self.subject, Some(self.last)).await?;
            self.has_missed |= has_missed;
        }
        Ok(())
    }
}
