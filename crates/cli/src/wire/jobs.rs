//! Background jobs of commands, and their registry.

use std::path::Path;
use std::sync::Arc;

use haft_contract::{
    BoxFuture, JobEnd, ToolError,
    ports::{JobRecord, JobRegistry, JobScope},
};
use haft_jobs::Jobs;
use haft_redact::redact;

/// The folder for sockets of running commands, in the data folder.
pub(super) const RUN: &str = "run";

/// How the jobs of commands are listed and waited for.
#[derive(Debug, Clone, Default)]
pub(crate) struct JobSettings {
    /// The list of background jobs.
    pub(crate) jobs: Jobs,
    /// Whether a call waits for the exit of its command by default, because no later call follows it.
    pub(crate) wait_for_exit: bool,
}

impl JobSettings {
    /// Background jobs are in this registry, for later processes in this workspace.
    pub(super) fn with_registry(registry: Arc<dyn JobRegistry>, workspace: &Path, data_folder: &Path) -> Self {
        let jobs = Jobs::with_registry(Arc::new(RedactingRegistry(registry)), workspace, &data_folder.join(RUN));
        Self { jobs, wait_for_exit: false }
    }
}

/// A registry whose commands have their secrets redacted.
struct RedactingRegistry(Arc<dyn JobRegistry>);

impl JobRegistry for RedactingRegistry {
    fn begin(&self, record: JobRecord) -> BoxFuture<'_, Result<u64, ToolError>> {
        let command = redact(&record.command).into_owned();
        self.0.begin(JobRecord { command, ..record })
    }
    fn end(&self, number: u64, end: JobEnd, bytes: u64) -> BoxFuture<'_, Result<(), ToolError>> {
        self.0.end(number, end, bytes)
    }
    fn list(&self, scope: JobScope) -> BoxFuture<'_, Result<Vec<JobRecord>, ToolError>> {
        self.0.list(scope)
    }
    fn forget(&self, number: u64) -> BoxFuture<'_, Result<(), ToolError>> {
        self.0.forget(number)
    }
}
