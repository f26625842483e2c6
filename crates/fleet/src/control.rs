//! Words to the process that works on something now, such as a session. Nobody keeps them: who does not listen has nothing to be told.

use std::time::Duration;

use async_nats::Request;
use async_nats::client::RequestErrorKind;
use futures_util::StreamExt;

use crate::queue::part;
use crate::{FleetError, FleetQueue};

const CONTROL: &str = "haft.control";

/// What is said about one thing.
pub struct ControlMessages {
    messages: async_nats::Subscriber,
}

haft_contract::opaque_debug!(ControlMessages);

/// Where an answer goes.
#[derive(Debug, Clone)]
pub struct ControlReply(async_nats::Subject);

impl FleetQueue {
    /// Tells the process that works on this thing.
    pub async fn tell(&self, thing: &str, body: Vec<u8>) -> Result<(), FleetError> {
        self.client.publish(format!("{CONTROL}.{}", part(thing)), body.into()).await.map_err(|error| self.failed(error))?;
        self.client.flush().await.map_err(|error| self.failed(error))
    }

    /// The same, and waits for an answer so long; `None` if nobody answers.
    pub async fn ask(&self, thing: &str, body: Vec<u8>, patience: Duration) -> Result<Option<Vec<u8>>, FleetError> {
        let request = Request::new().payload(body.into()).timeout(Some(patience));
        match self.client.send_request(format!("{CONTROL}.{}", part(thing)), request).await {
            Ok(answer) => Ok(Some(answer.payload.to_vec())),
            Err(error) if matches!(error.kind(), RequestErrorKind::TimedOut | RequestErrorKind::NoResponders) => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Answers.
    pub async fn answer(&self, reply: ControlReply, body: Vec<u8>) -> Result<(), FleetError> {
        self.client.publish(reply.0, body.into()).await.map_err(|error| self.failed(error))?;
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
        self.next_asked().await.map(|(body, _)| body)
    }

    /// The same, and where an answer goes if one is waited for.
    pub async fn next_asked(&mut self) -> Option<(Vec<u8>, Option<ControlReply>)> {
        self.messages.next().await.map(|message| (message.payload.to_vec(), message.reply.map(ControlReply)))
    }
}
