//! Events by subject, for every server: kept for an hour, and read again from any number on.

use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use futures_util::StreamExt;

use crate::queue::{EVENTS, event_stream};
use crate::{FleetError, FleetQueue};

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
    messages: pull::Ordered,
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
        let first = stream.info().await.map_err(|error| self.failed(error))?.state.first_sequence;
        let deliver_policy = after.map_or(DeliverPolicy::New, |after| DeliverPolicy::ByStartSequence { start_sequence: after + 1 });
        let config =
            pull::OrderedConfig { deliver_policy, filter_subject: format!("{EVENTS}.{subject}"), ..pull::OrderedConfig::default() };
        let consumer = stream.create_consumer(config).await.map_err(|error| self.failed(error))?;
        let messages = consumer.messages().await.map_err(|error| self.failed(error))?;
        Ok(FleetEvents { queue: self.clone(), messages, has_missed: after.is_some_and(|after| after + 1 < first) })
    }
}

impl FleetEvents {
    /// The next event. It waits until there is one.
    pub async fn next(&mut self) -> Result<FleetEvent, FleetError> {
        loop {
            let Some(message) = self.messages.next().await else { return Err(self.queue.failed("the events have ended")) };
            let message = message.map_err(|error| self.queue.failed(error))?;
            let sequence = message.info().map_err(|error| self.queue.failed(error))?.stream_sequence;
            let subject = message.subject.strip_prefix(EVENTS).and_then(|subject| subject.strip_prefix('.'));
            if let Some(subject) = subject {
                return Ok(FleetEvent { sequence, subject: subject.to_owned(), body: message.payload.to_vec() });
            }
        }
    }
}
