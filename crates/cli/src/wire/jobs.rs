//! The commands that go on after their calls, as they are remembered.

use std::path::Path;
use std::sync::Arc;

use haft_contract::{BoxFuture, JobEnd, JobRecord, JobRegistry, JobScope, ToolError};
use haft_engine::redact;
use haft_host::Jobs;

/// Where commands leave the sockets by which others reach them, in the data folder.
pub(super) const RUN: &str = "run";

/// How commands are followed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Following {
    /// Those that go on after their calls.
    pub(crate) jobs: Jobs,
    /// Whether they are waited for to their end: no later call follows them.
    pub(crate) waits: bool,
}

impl Following {
    /// They are remembered, for whoever comes later to this workspace.
    pub(super) fn remembered(registry: Arc<dyn JobRegistry>, workspace: &Path, data_folder: &Path) -> Self {
        let jobs = Jobs::remembered(Arc::new(WithoutSecrets(registry)), workspace, &data_folder.join(RUN));
        Self { jobs, waits: false }
    }
}

/// Keeps secrets out of what is remembered.
struct WithoutSecrets(Arc<dyn JobRegistry>);

impl JobRegistry for WithoutSecrets {
    fn begin(&self, record: JobRecord) -> BoxFuture<'_, Result<u64, ToolError>> {
        let line = redact(&record.line).into_owned();
        self.0.begin(JobRecord { line, ..record })
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
