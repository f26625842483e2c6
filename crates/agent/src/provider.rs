//! The source of model answers.

use haft_contract::BoxFuture;
use haft_provider::{Completion, Delta, Model, ModelTurn, ProviderError};
#[cfg(feature = "http")]
use haft_provider::{Endpoint, ModelClient};
use tokio_util::sync::CancellationToken;

/// Answers turns: a model over HTTP, or the demo model.
pub trait Provider: Send + Sync {
    /// The model that answers.
    fn model(&self) -> &Model;
    /// Answers one turn and streams the answer to `each`.
    fn answer<'a>(
        &'a self,
        turn: ModelTurn<'a>,
        cancel: &'a CancellationToken,
        each: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Completion, ProviderError>>;
}

/// A model of a provider over HTTP.
#[cfg(feature = "http")]
pub struct HttpProvider {
    model: Model,
    endpoint: Endpoint,
    client: ModelClient,
}

#[cfg(feature = "http")]
haft_contract::opaque_debug!(HttpProvider: model = model);

#[cfg(feature = "http")]
impl HttpProvider {
    /// A model at an endpoint.
    pub fn new(model: Model, endpoint: Endpoint, client: ModelClient) -> Self {
        Self { model, endpoint, client }
    }
}

#[cfg(feature = "http")]
impl Provider for HttpProvider {
    fn model(&self) -> &Model {
        &self.model
    }

    fn answer<'a>(
        &'a self,
        turn: ModelTurn<'a>,
        cancel: &'a CancellationToken,
        each: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Completion, ProviderError>> {
        let adapter = self.model.protocol.adapter();
        Box::pin(async move { self.client.stream(&self.endpoint, adapter, &turn, cancel, each).await })
    }
}
