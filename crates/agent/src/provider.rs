//! Whoever answers turns.

use haft_contract::BoxFuture;
use haft_provider::{Delta, Model, ProviderError, Reply, Turn};
use tokio_util::sync::CancellationToken;

/// A whole answer, and what a person should know of how it came about.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// What the model said.
    pub reply: Reply,
    /// Tools that were left out, pictures that could not be sent.
    pub warnings: Vec<String>,
}

impl Answer {
    /// An answer with nothing to say about it.
    pub fn new(reply: Reply) -> Self {
        Self { reply, warnings: Vec::new() }
    }
}

/// Answers turns: a model over HTTP, or one that is built in.
pub trait Provider: Send + Sync {
    /// The model that answers.
    fn model(&self) -> &Model;
    /// Answers one turn; what arrives is handed out at once.
    fn answer<'a>(
        &'a self,
        turn: Turn<'a>,
        cancel: &'a CancellationToken,
        each: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Answer, ProviderError>>;
}
