//! Scheduled jobs: listed with a timeline of their runs, added, changed, run and removed.

use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use haft_contract::ToolError;
use haft_contract::ports::{DeliveryMode, JobDraft, JobNotice, JobRun, JobTarget, JobView, MissedRuns, OverlapRule, ScheduleText};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Answer;
use crate::app::App;
use crate::auth::{Scope, SignedIn};
use crate::body::Body;
use crate::error::ApiError;
use crate::render;
use crate::time::timestamp;

/// Runs and notices that the place shows.
const MOST_RUNS: usize = 200;
const MOST_NOTICES: usize = 20;
/// Jobs that the place shows.
const MOST_JOBS: usize = 500;

/// A job, or what is to change of one.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct JobRequest {
    /// Its name.
    name: Option<String>,
    /// A moment.
    at: Option<String>,
    /// An interval.
    every: Option<String>,
    /// A cron expression.
    cron: Option<String>,
    /// Its time zone; the user's, if absent.
    zone: Option<String>,
    /// What is to be done.
    message: Option<String>,
    /// `main` or `isolated`.
    target: Option<String>,
    /// The session of a job with `main`.
    session: Option<String>,
    /// The agent of an isolated job.
    agent: Option<String>,
    /// The model of an isolated job.
    model: Option<String>,
    /// How long a run may take.
    timeout_seconds: Option<u64>,
    /// `none`, `announce` or `webhook`.
    delivery: Option<String>,
    /// The channel of an announcement.
    channel: Option<String>,
    /// The recipient on the channel, or the URL.
    to: Option<String>,
    /// `skip`, `once` or `all`.
    missed: Option<String>,
    /// `skip`, `wait` or `parallel`.
    overlap: Option<String>,
    /// Whether it is on.
    enabled: Option<bool>,
}

impl JobRequest {
    fn draft(self) -> Result<JobDraft, ApiError> {
        Ok(JobDraft {
            name: self.name,
            schedule: ScheduleText { at: self.at, every: self.every, anchor: None, cron: self.cron, zone: self.zone },
            task: self.message,
            target: parse_name::<JobTarget>(self.target)?,
            session: self.session,
            agent: self.agent,
            model: self.model,
            timeout: self.timeout_seconds.map(Duration::from_secs),
            delivery: parse_name::<DeliveryMode>(self.delivery)?,
            channel: self.channel,
            to: self.to,
            missed: parse_name::<MissedRuns>(self.missed)?,
            overlap: parse_name::<OverlapRule>(self.overlap)?,
            enabled: self.enabled,
            delete_after_run: None,
        })
    }
}

fn parse_name<T: std::str::FromStr<Err = String>>(name: Option<String>) -> Result<Option<T>, ApiError> {
    name.map(|name| name.parse()).transpose().map_err(|error: String| ApiError::bad_request(format!("{error}.")))
}

pub(super) async fn list(State(app): State<App>, token: SignedIn) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    app.answers.answer("automation".into(), app.file_stamp(), overview(&app)).await
}

async fn overview(app: &App) -> Result<Value, ApiError> {
    let automation = app.backend.automation()?;
    let status = automation.status().await.map_err(refused)?;
    let views = automation.list().await.map_err(refused)?;
    let runs = automation.runs(None, MOST_RUNS).await.map_err(refused)?;
    let notices = automation.notices(MOST_NOTICES).await.map_err(refused)?;
    let jobs: Vec<Value> = views.iter().take(MOST_JOBS).map(job_json).collect();
    Ok(json!({
        "running": status.is_running, "zone": status.zone, "next": status.next, "total": views.len(), "jobs": jobs,
        "runs": runs.iter().map(run_json).collect::<Vec<_>>(), "notices": notices.iter().map(notice_json).collect::<Vec<_>>(),
    }))
}

pub(super) async fn one(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Answer<Value> {
    token.need(Scope::View)?;
    let automation = app.backend.automation()?;
    let mut job = job_json(&automation.find(&id).await.map_err(refused)?);
    let runs = automation.runs(Some(&id), MOST_RUNS).await.map_err(refused)?;
    job["runs"] = runs.iter().map(run_json).collect();
    Ok(Json(job))
}

pub(super) async fn add(State(app): State<App>, token: SignedIn, Body(request): Body<JobRequest>) -> Answer<Value> {
    token.need(Scope::Admin)?;
    let session = request.session.clone();
    let view = app.backend.automation()?.add(session.as_deref(), request.draft()?).await.map_err(refused)?;
    app.changed("automation");
    Ok(Json(job_json(&view)))
}

pub(super) async fn change(
    State(app): State<App>,
    token: SignedIn,
    Path(id): Path<String>,
    Body(request): Body<JobRequest>,
) -> Answer<Value> {
    token.need(Scope::Admin)?;
    let view = app.backend.automation()?.update(None, &id, request.draft()?).await.map_err(refused)?;
    app.changed("automation");
    Ok(Json(job_json(&view)))
}

pub(super) async fn remove(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Answer<Value> {
    token.need(Scope::Admin)?;
    app.backend.automation()?.remove(&id).await.map_err(refused)?;
    app.changed("automation");
    Ok(Json(json!({})))
}

pub(super) async fn run(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Answer<Value> {
    token.need(Scope::Admin)?;
    let run = app.backend.automation()?.run(&id, false).await.map_err(refused)?;
    app.changed("automation");
    Ok(Json(json!({ "run": run.as_ref().map(run_json) })))
}

#[expect(clippy::needless_pass_by_value, reason = "it is for map_err")]
fn refused(error: ToolError) -> ApiError {
    let is_missing = error.details().is_some_and(|details| details.get("missing").is_some());
    let new = if is_missing { ApiError::not_found } else { ApiError::bad_request };
    new(error.message().to_owned())
}

fn job_json(view: &JobView) -> Value {
    let job = &view.job;
    json!({
        "id": job.id, "name": job.name, "words": view.words, "schedule": view.schedule, "next_runs": view.next_runs,
        "next": job.next_due.filter(|_| job.enabled).and_then(timestamp), "message": job.task, "target": job.target, "session": job.session,
        "delivery": job.delivery, "missed": job.missed, "overlap": job.overlap, "enabled": job.enabled,
        "disabled_because": job.disabled_because, "failures": job.failures, "last_run": view.last_run.as_ref().map(run_json),
    })
}

fn run_json(run: &JobRun) -> Value {
    json!({
        "id": run.id, "job": run.job, "name": run.name, "due": timestamp(run.due), "started": run.started.and_then(timestamp),
        "ended": run.ended.and_then(timestamp), "trigger": run.trigger, "state": run.state, "attempts": run.attempts,
        "session": run.session, "error": run.error, "answer": run.answer,
        "answer_html": run.answer.as_deref().map(render::markdown), "delivery": run.delivery, "delivery_note": run.delivery_note,
    })
}

fn notice_json(notice: &JobNotice) -> Value {
    json!({ "job": notice.job, "name": notice.name, "run": notice.run, "at": timestamp(notice.at), "text": notice.text })
}
