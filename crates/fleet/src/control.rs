//! Words to the process that works on something now, such as a session. Nobody keeps them: who does not listen has nothing to be told.

use futures_util::StreamExt;

use crate::queue::part;
use crate::{FleetError, FleetQueue};

const CONTROL: &str = "haft.control";

/// What is said about one thing.
pub struct ControlMessages {
    messages: async_nats::Subscriber,
}

haft_contract::opaque_debug!(ControlMessages);

impl FleetQueue {
    /// Tells the process that works on this thing.
    pub async fn tell(&self, thing: &str, body: Vec<u8>) -> Result<(), FleetError> {
        self.client.publish(format!("{CONTROL}.{}", part(thing)), body.into()).await.map_err(|error| self.failed(error))?;
        self.client.flush().await.map_err(|error| self.failed(error))
    }

    /// Listens to what is said about a thing.
    pub async fn listen(&self, thing: &str) -> Result<ControlMessages, FleetError> {
        let messages = self.client.subscribe(format!("{CONTROL}.{}", part(thing))).await.map_err(|error| self.failed(error))?;
        // The server knows of it before the first word.
        self.client.flush().await.map_err(|error| self.failed(error))?;
        Ok(ControlMessages { messages })
    }
}

impl ControlMessages {
    /// The next word; `None` if there are no more.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        self.messages.next().await.map(|message| message.payload.to_vec())
    }
}
