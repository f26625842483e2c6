//! Embeddings of the provider that the user names in `memory.embeddings`.

use std::time::Duration;

use haft_contract::BoxFuture;
use haft_memory::{Embedder, EmbedderError};

use super::setup::ProviderSetup;
use super::{Settings, parts};
use crate::failure::Failure;

/// How long one request may take: a search waits for it.
const PATIENCE: Duration = Duration::from_secs(4);

/// A model that turns texts into vectors. Its address is reached as it is written.
pub(crate) struct ProviderEmbedder {
    /// As `provider/model`.
    model: String,
    /// As the provider knows it.
    wire_name: String,
    setup: ProviderSetup,
}

impl ProviderEmbedder {
    /// The model that the configuration names, if it names one.
    pub(crate) fn configured(settings: &Settings) -> Option<Result<Self, Failure>> {
        let name = settings.config.memory.embeddings.clone()?;
        let found = parts(&name).and_then(|(provider, model)| Ok((model.to_owned(), ProviderSetup::new(settings, provider)?)));
        Some(found.map(|(wire_name, setup)| Self { model: name, wire_name, setup }))
    }

    async fn vectors(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedderError> {
        let failed = |failure: Failure| EmbedderError(format!("{} cannot be asked: {}", self.model, failure.message));
        let mut endpoint = self.setup.endpoint().await.map_err(failed)?;
        let timeouts = &mut endpoint.timeouts;
        (timeouts.first_byte, timeouts.idle, timeouts.total) = (PATIENCE, PATIENCE, PATIENCE);
        let client = self.setup.client().map_err(failed)?;
        let answered = client.embeddings(&endpoint, &self.setup.name, &self.wire_name, texts).await;
        answered.map_err(|error| EmbedderError(format!("{} failed: {}", self.model, error.message.trim_end_matches('.'))))
    }
}

impl Embedder for ProviderEmbedder {
    fn model(&self) -> &str {
        &self.model
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedderError>> {
        Box::pin(self.vectors(texts))
    }
}
