//! Embeddings: vectors of texts, from a service that the user names. Without one, or while it fails, full text is searched alone.

use std::sync::Arc;

use haft_contract::BoxFuture;
use haft_store::{MemoryStore, StoreError};
use tokio::time::{Instant, timeout_at};

use crate::vectors::normalized;

/// Texts of one request.
const BATCH: usize = 64;

/// Why there are no embeddings, as a sentence without its full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbedderError(pub String);

/// A service that turns texts into vectors.
pub trait Embedder: Send + Sync {
    /// The model, as `provider/model`: vectors of different models are not compared.
    fn model(&self) -> &str;
    /// The vectors of texts, in order. It ends in bounded time.
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedderError>>;
}

/// Vectors of length 1, as many as texts and all of one dimension.
pub(crate) async fn vectors_of(embedder: &dyn Embedder, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedderError> {
    let wrong = |what: String| EmbedderError(format!("{} {what}", embedder.model()));
    let vectors = if texts.is_empty() { Vec::new() } else { embedder.embed(texts).await? };
    if vectors.len() != texts.len() {
        return Err(wrong(format!("answered with {} vectors for {} texts", vectors.len(), texts.len())));
    }
    let normal: Option<Vec<Vec<f32>>> = vectors.into_iter().map(normalized).collect();
    let normal = normal.ok_or_else(|| wrong("answered with a vector that is zero or not a number".to_owned()))?;
    let dimension = normal.first().map_or(0, Vec::len);
    if normal.iter().any(|vector| vector.len() != dimension) {
        return Err(wrong("answered with vectors of different dimensions".to_owned()));
    }
    Ok(normal)
}

/// Adds the vectors that are missing, until the deadline. Returns how many are still missing.
pub(crate) async fn add_missing(embedder: &dyn Embedder, database: &Arc<dyn MemoryStore>, deadline: Instant) -> Result<u64, EmbedderError> {
    loop {
        let (reading, model) = (Arc::clone(database), embedder.model().to_owned());
        let Some(missing) = in_store(move || reading.missing_vectors(&model, BATCH)).await? else { return Ok(0) };
        let texts: Vec<String> = missing.tasks.iter().map(|task| task.text.clone()).collect();
        let vectors = match timeout_at(deadline, vectors_of(embedder, &texts)).await {
            Ok(vectors) => vectors?,
            Err(_) => break,
        };
        let rows: Vec<_> = missing.tasks.into_iter().map(|task| task.digest).zip(vectors).collect();
        let (writing, model) = (Arc::clone(database), embedder.model().to_owned());
        in_store(move || writing.put_vectors(&model, &rows, missing.up_to)).await?;
        if missing.is_last {
            return Ok(0);
        }
        if Instant::now() >= deadline {
            break;
        }
    }
    let (counting, model) = (Arc::clone(database), embedder.model().to_owned());
    in_store(move || counting.count_missing(&model)).await
}

/// Works with the index on a thread of its own.
pub(crate) fn in_store<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> BoxFuture<'static, Result<T, EmbedderError>> {
    let task = tokio::task::spawn_blocking(work);
    Box::pin(async {
        let done = task.await.map_err(|_| EmbedderError("the work was stopped".to_owned()))?;
        done.map_err(|error| EmbedderError(error.to_string()))
    })
}
