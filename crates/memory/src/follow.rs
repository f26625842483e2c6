//! Keeps the index up to date between searches, in a process that runs long.

use std::sync::Arc;
use std::time::Duration;

use haft_contract::ports::Host;
use haft_contract::{PlanContext, ToolError, TreeWatch};
use tokio::time::Instant;

use crate::embeddings::add_missing;
use crate::service::{EMBEDDING_TIME, MemoryService};

/// Changes that follow each other this fast are indexed together: editors write a file in several steps.
const DEBOUNCE: Duration = Duration::from_millis(1_500);
/// After a failure, and where changes are not reported, it is looked again after this long; each search looks by itself.
const PAUSE: Duration = Duration::from_mins(1);

impl MemoryService {
    /// Indexes changes soon after they were made, so that the next search need not. It begins with the first search of the process: one
    /// that never searches does no work. It does not end by itself.
    pub async fn follow(self: Arc<Self>, host: Arc<dyn Host>) {
        self.searched.notified().await;
        loop {
            match self.catch_up(&*host).await {
                Ok(Some(watch)) => {
                    watch.wait().await;
                    tokio::time::sleep(DEBOUNCE).await;
                }
                // The next search says what is wrong.
                Ok(None) | Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Indexes all that changed, in steps between which searches have their turn. Returns the watch that tells of further changes.
    async fn catch_up(&self, host: &dyn Host) -> Result<Option<Arc<dyn TreeWatch>>, ToolError> {
        let roots = PlanContext::new(host).memory_roots()?;
        let mut left = usize::MAX;
        let watch = loop {
            let pending = self.refresh(host.files(), &roots, self.settings.indexing_time).await?.walked.pending;
            match self.watch_of(host.files(), &roots).await {
                Some((_, true)) => {}
                Some((watch, false)) => break Some(watch),
                None if pending > 0 && pending < left => left = pending,
                None => break None,
            }
        };
        if let (Some(embedder), Some(database)) = (&self.embedder, self.database().await) {
            // What a service does not give now, the next search asks for, and says why.
            let mut missing = u64::MAX;
            while let Ok(left) = add_missing(&**embedder, &database, Instant::now() + EMBEDDING_TIME).await
                && (1..missing).contains(&left)
            {
                missing = left;
            }
        }
        Ok(watch)
    }
}
