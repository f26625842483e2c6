//! Scheduled jobs for tools, commands and the page: in the server, and in every other process of the user.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::ports::{
    Automation, AutomationStatus, Clock, JobDraft, JobNotice, JobRun, JobSchedule, JobTarget, JobView, RunState, RunTrigger, ScheduleText,
    ScheduledJob, WakeMode,
};
use haft_contract::{BoxFuture, ErrorKind, ToolError};
use haft_store::{AutomationChange, AutomationStore, SessionStore, StoreError};
use haft_text::suggest::nearest;
use jiff::tz::TimeZone;
use serde_json::json;

use crate::job_change::{JobOrigin, changed_job, new_job};
use crate::moment::show_moment;
use crate::new_runs::new_run;
use crate::occurrences::next_three;
use crate::words::{describe, schedule_json};

/// The most jobs of one folder.
const MOST_JOBS: usize = 20_000;
/// The latest that a wake-up without haste is seen.
const LATEST_WAKE: Duration = Duration::from_mins(30);
/// How long an added job is at least away.
const SOON: Duration = Duration::from_secs(1);

/// What the service works with.
pub struct ServiceParts {
    /// Jobs and runs.
    pub store: Arc<dyn AutomationStore>,
    /// Conversations, for what they have read.
    pub sessions: Arc<dyn SessionStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The folder of the jobs.
    pub workspace: PathBuf,
    /// Tells the scheduler, in whichever process, that something has changed.
    pub changed: Arc<dyn Fn() + Send + Sync>,
    /// Whether a server runs the jobs of the folder.
    pub is_served: Arc<dyn Fn() -> bool + Send + Sync>,
}

/// An [`Automation`] on a store.
pub struct CronService {
    parts: ServiceParts,
}

haft_contract::opaque_debug!(ServiceParts);
haft_contract::opaque_debug!(CronService);

impl CronService {
    /// With these parts.
    pub fn new(parts: ServiceParts) -> Self {
        Self { parts }
    }

    fn zone(&self) -> String {
        self.parts.clock.time_zone().unwrap_or_else(|| "UTC".into())
    }

    async fn view(&self, job: ScheduledJob) -> Result<JobView, ToolError> {
        let last_run = self.parts.store.runs(&self.parts.workspace, Some(&job.id), 1).await.map_err(unusable)?.pop();
        Ok(view_of(job, last_run))
    }

    async fn jobs(&self) -> Result<Vec<ScheduledJob>, ToolError> {
        self.parts.store.jobs(&self.parts.workspace).await.map_err(unusable)
    }

    /// A job by its id, its name, or the beginning of one.
    async fn find_job(&self, wanted: &str) -> Result<ScheduledJob, ToolError> {
        let (wanted, jobs) = (wanted.trim(), self.jobs().await?);
        if let Some(job) = jobs.iter().find(|job| job.id == wanted) {
            return Ok(job.clone());
        }
        let lower = wanted.to_lowercase();
        let exact: Vec<&ScheduledJob> = jobs.iter().filter(|job| job.name.to_lowercase() == lower).collect();
        let begins = |job: &&ScheduledJob| job.name.to_lowercase().starts_with(&lower) || job.id.starts_with(wanted);
        let fitting = if exact.is_empty() && !wanted.is_empty() { jobs.iter().filter(begins).collect() } else { exact };
        match fitting.as_slice() {
            [job] => Ok((*job).clone()),
            [] => {
                let near = nearest(wanted, jobs.iter().map(|job| job.name.as_str()));
                let meant = near.first().map(|near| format!(" Did you mean '{near}'?")).unwrap_or_default();
                Err(ToolError::new(
                    ErrorKind::ValidationError,
                    format!("There is no job '{wanted}'.{meant} List the jobs to see all names."),
                )
                .with_details(json!({ "missing": "job" })))
            }
            several => {
                let ids: Vec<&str> = several.iter().take(10).map(|job| job.id.as_str()).collect();
                Err(ToolError::validation(format!("'{wanted}' fits {} jobs: {}. Name one by its id.", several.len(), ids.join(", "))))
            }
        }
    }

    async fn commit(&self, change: AutomationChange) -> Result<bool, ToolError> {
        let is_done = self.parts.store.commit(&self.parts.workspace, change).await.map_err(unusable)?;
        (self.parts.changed)();
        Ok(is_done)
    }

    /// Changes a job, again if somebody else changed it meanwhile.
    async fn change(
        &self,
        wanted: &str,
        change: impl Fn(&ScheduledJob) -> Result<AutomationChange, String>,
    ) -> Result<ScheduledJob, ToolError> {
        loop {
            let job = self.find_job(wanted).await?;
            if self.commit(change(&job).map_err(wrong)?).await? {
                return Ok(job);
            }
        }
    }

    /// Whether a conversation has read untrusted content.
    async fn is_tainted(&self, session: Option<&str>) -> Result<bool, ToolError> {
        match session {
            Some(session) => match self.parts.sessions.taint(session).await {
                Ok(taint) => Ok(taint.untrusted),
                // Of a call without a conversation.
                Err(StoreError::Missing { .. }) => Ok(false),
                Err(error) => Err(unusable(error)),
            },
            None => Ok(false),
        }
    }

    async fn add_job(&self, session: Option<&str>, draft: JobDraft) -> Result<JobView, ToolError> {
        if self.parts.store.job_count(&self.parts.workspace).await.map_err(unusable)? >= MOST_JOBS {
            return Err(ToolError::validation(format!("{MOST_JOBS} jobs are the most of a folder. Remove some first.")));
        }
        let origin = JobOrigin { workspace: &self.parts.workspace, session, is_tainted: self.is_tainted(session).await? };
        let job = new_job(draft, &origin, &self.zone(), self.parts.clock.now()).map_err(wrong)?;
        if !self.commit(AutomationChange { job: Some(job.clone()), ..AutomationChange::default() }).await? {
            return Err(ToolError::execution("The job was not added, because its id is taken. Try again."));
        }
        Ok(view_of(job, None))
    }
}

impl Automation for CronService {
    fn status(&self) -> BoxFuture<'_, Result<AutomationStatus, ToolError>> {
        Box::pin(async {
            let jobs = self.jobs().await?;
            let open = self.parts.store.open_runs(&self.parts.workspace).await.map_err(unusable)?;
            let next = jobs.iter().filter(|job| job.enabled).filter_map(|job| job.next_due).min();
            let zone = self.zone();
            let shown = TimeZone::get(&zone).unwrap_or(TimeZone::UTC);
            let enabled = jobs.iter().filter(|job| job.enabled).count();
            Ok(AutomationStatus {
                is_running: (self.parts.is_served)(),
                enabled,
                disabled: jobs.len() - enabled,
                running: open.iter().filter(|(run, _)| run.state == RunState::Running).count(),
                next: next.map(|next| show_moment(next, &shown)),
                zone,
            })
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<JobView>, ToolError>> {
        Box::pin(async {
            let mut jobs = self.jobs().await?;
            let key = |job: &ScheduledJob| (!job.enabled, job.next_due.is_none(), job.next_due, job.created);
            jobs.sort_by_key(key);
            let mut views = Vec::with_capacity(jobs.len());
            // The newest runs of very many jobs would be as many questions.
            let with_runs = jobs.len() <= 200;
            for job in jobs {
                views.push(if with_runs { self.view(job).await? } else { view_of(job, None) });
            }
            Ok(views)
        })
    }

    fn find<'a>(&'a self, job: &'a str) -> BoxFuture<'a, Result<JobView, ToolError>> {
        Box::pin(async move { self.view(self.find_job(job).await?).await })
    }

    fn check(&self, draft: &JobDraft) -> Result<String, ToolError> {
        let origin = JobOrigin { workspace: &self.parts.workspace, session: Some("here"), is_tainted: false };
        let job = new_job(draft.clone(), &origin, &self.zone(), self.parts.clock.now()).map_err(wrong)?;
        Ok(describe(&job.schedule))
    }

    fn add<'a>(&'a self, session: Option<&'a str>, draft: JobDraft) -> BoxFuture<'a, Result<JobView, ToolError>> {
        Box::pin(self.add_job(session, draft))
    }

    fn update<'a>(&'a self, session: Option<&'a str>, job: &'a str, draft: JobDraft) -> BoxFuture<'a, Result<JobView, ToolError>> {
        Box::pin(async move {
            if draft == JobDraft::default() {
                return Err(ToolError::validation("Say what changes: a time, 'message', 'enabled' or another field of the job."));
            }
            let (now, is_tainted) = (self.parts.clock.now(), self.is_tainted(session).await?);
            let change = |job: &ScheduledJob| {
                let mut changed = changed_job(job, draft.clone(), now)?;
                // What a conversation writes after untrusted content stays untrusted, also in a job that another has made.
                changed.is_tainted |= is_tainted;
                Ok(AutomationChange { job: Some(changed), ..AutomationChange::default() })
            };
            let id = self.change(job, change).await?.id;
            self.find(&id).await
        })
    }

    fn remove<'a>(&'a self, job: &'a str) -> BoxFuture<'a, Result<JobView, ToolError>> {
        Box::pin(async move {
            let view = self.find(job).await?;
            let change = |job: &ScheduledJob| Ok(AutomationChange { removed: Some(job.id.clone()), ..AutomationChange::default() });
            self.change(&view.job.id, change).await?;
            Ok(view)
        })
    }

    fn run<'a>(&'a self, job: &'a str, only_if_due: bool) -> BoxFuture<'a, Result<Option<JobRun>, ToolError>> {
        Box::pin(async move {
            let (job, now) = (self.find_job(job).await?, self.parts.clock.now());
            if only_if_due && !(job.enabled && job.next_due.is_some_and(|due| due <= now)) {
                return Ok(None);
            }
            let open = self.parts.store.open_runs(&self.parts.workspace).await.map_err(unusable)?;
            if open.iter().any(|(run, _)| run.job == job.id && run.state == RunState::Waiting) {
                return Err(ToolError::validation(format!("A run of '{}' waits already. 'runs' shows it.", job.name)));
            }
            let run = new_run(&job, now, RunTrigger::Manual);
            self.commit(AutomationChange { runs: vec![run.clone()], ..AutomationChange::default() }).await?;
            Ok(Some(run))
        })
    }

    fn runs<'a>(&'a self, job: Option<&'a str>, limit: usize) -> BoxFuture<'a, Result<Vec<JobRun>, ToolError>> {
        Box::pin(async move {
            let id = match job {
                // Runs outlive their job.
                Some(job) => Some(self.find_job(job).await.map_or_else(|_| job.to_owned(), |job| job.id)),
                None => None,
            };
            let runs = self.parts.store.runs(&self.parts.workspace, id.as_deref(), limit).await.map_err(unusable)?;
            match job {
                Some(job) if runs.is_empty() => self.find_job(job).await.map(|_| runs),
                _ => Ok(runs),
            }
        })
    }

    fn notices(&self, limit: usize) -> BoxFuture<'_, Result<Vec<JobNotice>, ToolError>> {
        Box::pin(async move { self.parts.store.notices(&self.parts.workspace, limit).await.map_err(unusable) })
    }

    fn wake<'a>(&'a self, session: &'a str, text: &'a str, mode: WakeMode) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move {
            let now = self.parts.clock.now();
            let next = self.parts.store.next_due(&self.parts.workspace).await.map_err(unusable)?;
            let at = match mode {
                WakeMode::Now => now + SOON,
                WakeMode::NextRun => next.unwrap_or(now + LATEST_WAKE).clamp(now + SOON, now + LATEST_WAKE),
            };
            let zone = self.zone();
            let moment = jiff::Timestamp::try_from(at).map_err(|error| ToolError::execution(error.to_string()))?;
            let schedule = ScheduleText { at: Some(moment.to_string()), ..ScheduleText::default() };
            let draft = JobDraft { schedule, task: Some(text.to_owned()), target: Some(JobTarget::Main), ..JobDraft::default() };
            let view = self.add_job(Some(session), draft).await?;
            let shown = show_moment(at, &TimeZone::get(&zone).unwrap_or(TimeZone::UTC));
            let unless = if (self.parts.is_served)() { "" } else { " No server runs now: it waits until the user starts `haft serve`." };
            Ok(format!("This conversation gets the text at {shown} ({}).{unless}", view.job.id))
        })
    }
}

fn view_of(job: ScheduledJob, last_run: Option<JobRun>) -> JobView {
    let words = describe(&job.schedule);
    let next = job.next_due.filter(|_| job.enabled);
    let next_runs = match &job.schedule {
        JobSchedule::At { at, .. } if next.is_some_and(|next| next != *at) => next_three(&job.schedule, next).into_iter().take(1).collect(),
        schedule => next_three(schedule, next),
    };
    JobView { words, schedule: schedule_json(&job.schedule), next_runs, last_run, job }
}

#[expect(clippy::needless_pass_by_value, reason = "it is for map_err")]
fn wrong(why: String) -> ToolError {
    let mut characters = why.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    ToolError::validation(format!("{first}{}.", characters.as_str()))
}

#[expect(clippy::needless_pass_by_value, reason = "it is for map_err")]
fn unusable(error: StoreError) -> ToolError {
    ToolError::execution(format!("Scheduled jobs cannot be used: {error}."))
}
