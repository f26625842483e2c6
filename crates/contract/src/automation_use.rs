//! What a tool may do with scheduled jobs and with the server: what its plan names.

use std::time::Duration;

use serde_json::Value;

use crate::capability::{alive, unplanned};
use crate::ports::{
    Automation, AutomationStatus, ConfigPart, ConfigPreview, GatewayControl, JobDraft, JobNotice, JobRun, JobView, WakeMode,
};
use crate::{PlanContext, ToolContext, ToolError};

fn no_automation() -> ToolError {
    ToolError::execution("There are no scheduled jobs here: this program has no store for them. `haft cron` and `haft serve` have one.")
}

fn no_gateway() -> ToolError {
    ToolError::execution("No server runs this conversation. Start `haft serve` and use the tool in its page, or use `haft config`.")
}

/// Scheduled jobs, as planned.
#[derive(Debug, Clone, Copy)]
pub struct AutomationUse<'a> {
    pub(crate) cx: &'a ToolContext,
}

impl<'a> AutomationUse<'a> {
    /// The key that a plan names for changes of scheduled jobs.
    pub const KEY: &'static str = "automation.jobs";

    fn port(self) -> Result<&'a dyn Automation, ToolError> {
        alive(self.cx)?;
        self.cx.host().services().automation.as_deref().ok_or_else(no_automation)
    }
    fn changeable(self) -> Result<&'a dyn Automation, ToolError> {
        if !self.cx.plan().permits_configure(Self::KEY) {
            return Err(unplanned("change", "scheduled jobs"));
        }
        self.port()
    }

    /// What the scheduler does.
    pub async fn status(&self) -> Result<AutomationStatus, ToolError> {
        self.port()?.status().await
    }
    /// The jobs of the workspace. Names that were written after untrusted content are brought into this conversation.
    pub async fn list(&self) -> Result<Vec<JobView>, ToolError> {
        let views = self.port()?.list().await?;
        if views.iter().any(|view| view.job.is_tainted) {
            self.cx.mark_untrusted();
        }
        Ok(views)
    }
    /// One job, by id, name, or the beginning of one.
    pub async fn find(&self, job: &str) -> Result<JobView, ToolError> {
        let view = self.port()?.find(job).await?;
        if view.job.is_tainted {
            self.cx.mark_untrusted();
        }
        Ok(view)
    }
    /// The newest runs of a job, or of all. Results of runs that saw untrusted content are brought into this conversation.
    pub async fn runs(&self, job: Option<&str>, limit: usize) -> Result<Vec<JobRun>, ToolError> {
        let runs = self.port()?.runs(job, limit).await?;
        if runs.iter().any(|run| run.is_tainted && run.answer.is_some()) {
            self.cx.mark_untrusted();
        }
        Ok(runs)
    }
    /// What the user should know.
    pub async fn notices(&self, limit: usize) -> Result<Vec<JobNotice>, ToolError> {
        self.port()?.notices(limit).await
    }
    /// Adds a planned job.
    pub async fn add(&self, draft: JobDraft) -> Result<JobView, ToolError> {
        self.changeable()?.add(Some(&self.cx.call().session), draft).await
    }
    /// Changes a job, as planned. What this conversation has read counts for its runs from then on.
    pub async fn update(&self, job: &str, draft: JobDraft) -> Result<JobView, ToolError> {
        self.changeable()?.update(Some(&self.cx.call().session), job, draft).await
    }
    /// Removes a job, as planned.
    pub async fn remove(&self, job: &str) -> Result<JobView, ToolError> {
        self.changeable()?.remove(job).await
    }
    /// Runs a job now, as planned.
    pub async fn run(&self, job: &str, only_if_due: bool) -> Result<Option<JobRun>, ToolError> {
        self.changeable()?.run(job, only_if_due).await
    }
    /// Tells this conversation something later, as planned.
    pub async fn wake(&self, text: &str, mode: WakeMode) -> Result<String, ToolError> {
        self.changeable()?.wake(&self.cx.call().session, text, mode).await
    }
}

/// The server, as planned.
#[derive(Debug, Clone, Copy)]
pub struct GatewayUse<'a> {
    pub(crate) cx: &'a ToolContext,
}

impl<'a> GatewayUse<'a> {
    /// The key that a plan names for a restart.
    pub const RESTART: &'static str = "gateway.restart";

    fn port(self) -> Result<&'a dyn GatewayControl, ToolError> {
        alive(self.cx)?;
        self.cx.host().services().gateway.as_deref().ok_or_else(no_gateway)
    }

    /// Facts about the server.
    pub async fn status(&self) -> Result<Value, ToolError> {
        self.port()?.status().await
    }
    /// The settings at a path; secrets are left out, so it needs no plan.
    pub fn config(&self, path: &str) -> Result<ConfigPart, ToolError> {
        self.port()?.config(path)
    }
    /// The schema of the keys at a path.
    pub fn schema(&self, path: &str) -> Result<Value, ToolError> {
        self.port()?.schema(path)
    }
    /// Writes a planned change: every key of it must be in the plan, and one that widens must have been approved.
    pub async fn patch(&self, patch: &Value, base_hash: Option<&str>) -> Result<ConfigPreview, ToolError> {
        let port = self.port()?;
        let preview = port.preview(patch, base_hash)?;
        if let Some(key) = preview.keys.iter().find(|key| !self.cx.plan().permits_configure(&key.key)) {
            return Err(unplanned("set", &key.key));
        }
        // The file may have changed after the plan: what was shown to the user is not what would be written.
        if preview.widens() && self.cx.plan().required_approval().is_none() {
            return Err(unplanned("widen", "the configuration"));
        }
        port.apply(patch, &preview, &**self.cx.journal()).await?;
        Ok(preview)
    }
    /// Restarts the server, as planned.
    pub async fn restart(&self, reason: &str, wait: Duration) -> Result<String, ToolError> {
        if !self.cx.plan().permits_configure(Self::RESTART) {
            return Err(unplanned("restart", "the server"));
        }
        self.port()?.restart(&self.cx.call().session, reason, wait).await
    }
}

impl<'a> PlanContext<'a> {
    /// Scheduled jobs, for the checks of a plan.
    pub fn automation(&self) -> Result<&'a dyn Automation, ToolError> {
        self.services().automation.as_deref().ok_or_else(no_automation)
    }
    /// The server, for the checks of a plan.
    pub fn gateway(&self) -> Result<&'a dyn GatewayControl, ToolError> {
        self.services().gateway.as_deref().ok_or_else(no_gateway)
    }
}
