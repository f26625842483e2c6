//! The jobs that go on after their calls.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::Job;

/// How many are listed; the oldest that has ended gives way first.
const MOST: usize = 64;

/// Jobs that were kept, oldest first.
#[derive(Default)]
pub(super) struct Jobs(Mutex<Vec<Arc<dyn Job>>>);

impl std::fmt::Debug for Jobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Jobs").field(&self.lock().len()).finish()
    }
}

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<dyn Job>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn keep(&self, job: Arc<dyn Job>) {
        let mut jobs = self.lock();
        if jobs.len() >= MOST
            && let Some(ended) = jobs.iter().position(|job| job.status().end.is_some())
        {
            jobs.remove(ended);
        }
        jobs.push(job);
    }
    /// Whether another one has room: all that are kept still run.
    pub(super) fn is_full(&self) -> bool {
        let jobs = self.lock();
        jobs.len() >= MOST && jobs.iter().all(|job| job.status().end.is_none())
    }
    pub(super) fn of(&self, session: &str) -> Vec<Arc<dyn Job>> {
        self.lock().iter().filter(|job| job.status().session == session).cloned().collect()
    }
    pub(super) fn forget(&self, session: &str, id: &str) {
        self.lock().retain(|job| {
            let status = job.status();
            status.session != session || status.id != id
        });
    }
}
