//! What the scheduler needs of the program: something that runs jobs, and something that posts to URLs.

use haft_contract::BoxFuture;
use haft_contract::ports::{Delivered, JobRun, ScheduledJob};
use serde_json::Value;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOutcome {
    /// It has an answer.
    Ok {
        /// The text.
        answer: String,
        /// Whether it saw untrusted content.
        is_tainted: bool,
    },
    /// It has none.
    Failed {
        /// Why.
        error: String,
        /// Whether a later try may help.
        is_transient: bool,
    },
    /// The server stops. The next one continues the run.
    Interrupted,
}

/// Runs jobs in conversations.
///
/// A run is known by its id. A run that is executed again, after a kill, continues where it was: what its conversation already has is
/// not done again.
pub trait JobExecutor: Send + Sync {
    /// The conversation of a run: it is stored with the run before the run begins.
    fn session(&self, job: &ScheduledJob, run: &JobRun) -> Option<String>;
    /// Runs a job to its end.
    fn execute<'a>(&'a self, job: &'a ScheduledJob, run: &'a JobRun) -> BoxFuture<'a, RunOutcome>;
}

/// Posts results to URLs, through the guarded HTTP client.
pub trait WebhookSender: Send + Sync {
    /// Posts a body. The key is the same for each try of one delivery.
    fn post<'a>(&'a self, url: &'a str, key: &'a str, body: &'a Value) -> BoxFuture<'a, Delivered>;
}
