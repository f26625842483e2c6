//! A model over HTTP: one adapter, one client, one address.

use std::sync::Arc;

use haft_contract::BoxFuture;
use haft_provider::{
    Adapter, Anthropic, Client, Delta, Endpoint, Gemini, Model, OpenAiChat, OpenAiResponses, Protocol, ProviderError, Turn,
};
use tokio_util::sync::CancellationToken;

use crate::provider::{Answer, Provider};

/// A model of a provider that is reached over HTTP.
pub struct HttpProvider {
    model: Model,
    adapter: Arc<dyn Adapter>,
    endpoint: Endpoint,
    client: Client,
}

impl std::fmt::Debug for HttpProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpProvider").field("model", &self.model).finish_non_exhaustive()
    }
}

impl HttpProvider {
    /// A model at an address, by the protocol that it speaks.
    pub fn new(model: Model, endpoint: Endpoint, client: Client) -> Self {
        let adapter: Arc<dyn Adapter> = match model.protocol {
            Protocol::OpenAiResponses => Arc::new(OpenAiResponses),
            Protocol::Anthropic => Arc::new(Anthropic),
            Protocol::Gemini => Arc::new(Gemini),
            _ => Arc::new(OpenAiChat),
        };
        Self { model, adapter, endpoint, client }
    }
}

impl Provider for HttpProvider {
    fn model(&self) -> &Model {
        &self.model
    }

    fn answer<'a>(
        &'a self,
        turn: Turn<'a>,
        cancel: &'a CancellationToken,
        each: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Answer, ProviderError>> {
        Box::pin(async move {
            let answer = self.client.stream(&self.endpoint, &*self.adapter, &turn, cancel, each).await?;
            Ok(Answer { reply: answer.reply, warnings: answer.warnings })
        })
    }
}
