//! Scheduled jobs as rows. A job is changed by its version, a run belongs to the process whose presence it names.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use haft_contract::BoxFuture;
use haft_contract::ports::{DeliveryState, JobNotice, JobRun, RunState, RunTrigger, ScheduledJob};
use serde::Serialize;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::database::Database;
use super::failure::Failure;
use super::link::{Columns, Link, Text, all, execute, row};
use super::presence::Presences;
use crate::backend::sqlite::{KEPT_NOTICES, KEPT_RUNS, KEPT_RUNS_OF_ALL};
use crate::backend::values::{bytes, integer, nanoseconds_since_1970};
use crate::backend::write::{AutomationWrite, StoreChange};
use crate::{AutomationChange, AutomationStore, RunOwner, StoreError};

const UPDATE_JOB: &str = "UPDATE automation_jobs SET next_due = $2, version = $3 + 1, body = $4 WHERE id = $1 AND version = $3";
const INSERT_JOB: &str =
    "INSERT INTO automation_jobs (id, workspace, next_due, version, body) VALUES ($1, $2, $3, 1, $4) ON CONFLICT DO NOTHING";
/// Nothing if there is such a run, or one for this time.
const ADD_RUN: &str = "INSERT INTO automation_runs (id, job, workspace, scheduled, is_open, delivery_due, presence, body) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";
const CHANGE_RUN: &str = "UPDATE automation_runs SET is_open = $2, delivery_due = $3, presence = $4, body = $5 WHERE id = $1";
const FORGET_RUNS: &str = "DELETE FROM automation_runs WHERE job = $1 AND NOT is_open AND sequence <= \
     (SELECT sequence FROM automation_runs WHERE job = $1 ORDER BY sequence DESC LIMIT 1 OFFSET $2)";
const FORGET_RUNS_OF_ALL: &str = "DELETE FROM automation_runs WHERE md5(workspace) = md5($1::bytea) AND workspace = $1 AND NOT is_open \
     AND sequence <= (SELECT sequence FROM automation_runs WHERE md5(workspace) = md5($1::bytea) AND workspace = $1 \
     ORDER BY sequence DESC LIMIT 1 OFFSET $2)";
const ADD_NOTICE: &str = "INSERT INTO automation_notices (workspace, job, name, run, at, text) VALUES ($1, $2, $3, $4, $5, $6)";
const FORGET_NOTICES: &str = "DELETE FROM automation_notices WHERE md5(workspace) = md5($1::bytea) AND workspace = $1 AND sequence <= \
     (SELECT sequence FROM automation_notices WHERE md5(workspace) = md5($1::bytea) AND workspace = $1 ORDER BY sequence DESC LIMIT 1 OFFSET $2)";
const NEXT_DUE: &str = "SELECT min(due) FROM (SELECT min(next_due) AS due FROM automation_jobs WHERE md5(workspace) = md5($1::bytea) \
     AND workspace = $1 AND next_due IS NOT NULL UNION ALL SELECT min(delivery_due) FROM automation_runs \
     WHERE md5(workspace) = md5($1::bytea) AND workspace = $1 AND delivery_due IS NOT NULL) AS times";
const IN_FOLDER: &str = "md5(workspace) = md5($1::bytea) AND workspace = $1";

/// An [`AutomationStore`] on the server of a [`PostgresLog`](crate::PostgresLog), which makes it.
#[derive(Debug, Clone)]
pub struct PostgresAutomation {
    database: Arc<Database>,
}

impl PostgresAutomation {
    pub(super) fn new(database: Arc<Database>) -> Self {
        Self { database }
    }

    async fn write(&self, write: AutomationWrite) -> Result<bool, StoreError> {
        self.database.write(StoreChange::Automation(Box::new(write))).await.map(|changed| changed == 1)
    }
}

impl AutomationStore for PostgresAutomation {
    fn commit<'a>(&'a self, workspace: &'a Path, change: AutomationChange) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let presence = self.database.presences().announce().await?;
            self.write(AutomationWrite::Commit { workspace: workspace.to_owned(), change: Box::new(change), presence }).await
        })
    }

    fn take_run<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let presence = self.database.presences().announce().await?;
            self.write(AutomationWrite::Take { run: run.to_owned(), presence }).await
        })
    }

    fn job<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ScheduledJob>, StoreError>> {
        Box::pin(self.database.read(id.to_owned(), |link, id| {
            Box::pin(async move {
                let sql = "SELECT body, version FROM automation_jobs WHERE id = $1";
                row(link, sql, &[&Text(id)]).await?.as_ref().map(job).transpose()
            })
        }))
    }

    fn jobs<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<Vec<ScheduledJob>, StoreError>> {
        Box::pin(self.database.read(workspace.to_owned(), |link, workspace| {
            Box::pin(async move {
                let sql = format!("SELECT body, version FROM automation_jobs WHERE {IN_FOLDER}");
                all(link, &sql, &[&bytes(workspace)], job).await
            })
        }))
    }

    fn due_jobs<'a>(&'a self, workspace: &'a Path, now: SystemTime, limit: usize) -> BoxFuture<'a, Result<Vec<ScheduledJob>, StoreError>> {
        let about = (workspace.to_owned(), nanoseconds_since_1970(now), integer(limit));
        Box::pin(self.database.read(about, |link, (workspace, now, limit)| {
            Box::pin(async move {
                let sql =
                    format!("SELECT body, version FROM automation_jobs WHERE {IN_FOLDER} AND next_due <= $2 ORDER BY next_due LIMIT $3");
                all(link, &sql, &[&bytes(workspace), now, limit], job).await
            })
        }))
    }

    fn next_due<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<Option<SystemTime>, StoreError>> {
        Box::pin(self.database.read(workspace.to_owned(), |link, workspace| {
            Box::pin(async move { row(link, NEXT_DUE, &[&bytes(workspace)]).await?.map_or(Ok(None), |row| row.maybe_time(0)) })
        }))
    }

    fn runs<'a>(&'a self, workspace: &'a Path, job: Option<&'a str>, limit: usize) -> BoxFuture<'a, Result<Vec<JobRun>, StoreError>> {
        let about = (workspace.to_owned(), job.map(str::to_owned), integer(limit));
        Box::pin(self.database.read(about, |link, (workspace, job, limit)| {
            Box::pin(async move {
                let of = |condition: &str| format!("SELECT body FROM automation_runs WHERE {condition} ORDER BY sequence DESC LIMIT $2");
                if let Some(job) = job {
                    return all(link, &of("job = $1"), &[&Text(job), limit], |row| row.json(0)).await;
                }
                all(link, &of(IN_FOLDER), &[&bytes(workspace), limit], |row| row.json(0)).await
            })
        }))
    }

    fn open_runs<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<Vec<(JobRun, RunOwner)>, StoreError>> {
        let about = (workspace.to_owned(), Arc::clone(self.database.presences()));
        Box::pin(self.database.read(about, |link, (workspace, presences)| Box::pin(open_runs(link, workspace, presences))))
    }

    fn notices<'a>(&'a self, workspace: &'a Path, limit: usize) -> BoxFuture<'a, Result<Vec<JobNotice>, StoreError>> {
        Box::pin(self.database.read((workspace.to_owned(), integer(limit)), |link, (workspace, limit)| {
            Box::pin(async move {
                let sql =
                    format!("SELECT job, name, run, at, text FROM automation_notices WHERE {IN_FOLDER} ORDER BY sequence DESC LIMIT $2");
                all(link, &sql, &[&bytes(workspace), limit], notice).await
            })
        }))
    }
}

/// 1 if the change was made, and otherwise nothing of it.
pub(super) async fn apply(link: &Link, write: &AutomationWrite, presences: &Presences) -> Result<u64, Failure> {
    match write {
        AutomationWrite::Commit { workspace, change, presence } => {
            link.batch_execute("SAVEPOINT automation").await?;
            let made = commit(link, workspace, change, presence).await?;
            link.batch_execute(if made { "RELEASE automation" } else { "ROLLBACK TO automation" }).await?;
            Ok(u64::from(made))
        }
        AutomationWrite::Take { run, presence } => take(link, presences, run, presence).await.map(u64::from),
    }
}

async fn commit(link: &Link, workspace: &Path, change: &AutomationChange, presence: &str) -> Result<bool, Failure> {
    if let Some(id) = &change.removed {
        execute(link, "DELETE FROM automation_jobs WHERE id = $1", &[&Text(id)]).await?;
    }
    if let Some(job) = &change.job
        && put_job(link, workspace, job).await? == 0
    {
        return Ok(false);
    }
    for run in &change.runs {
        // Otherwise another process has a run for this time.
        if !put_run(link, workspace, run, presence).await? {
            return Ok(false);
        }
    }
    for notice in &change.notices {
        let JobNotice { job, name, run, at, text } = notice;
        let (run, at) = (run.as_deref().map(Text), nanoseconds_since_1970(*at));
        execute(link, ADD_NOTICE, &[&bytes(workspace), &Text(job), &Text(name), &run, &at, &Text(text)]).await?;
    }
    if !change.notices.is_empty() {
        execute(link, FORGET_NOTICES, &[&bytes(workspace), &i64::from(KEPT_NOTICES)]).await?;
    }
    Ok(true)
}

async fn put_job(link: &Link, workspace: &Path, job: &ScheduledJob) -> Result<u64, Failure> {
    let due = job.next_due.filter(|_| job.enabled).map(nanoseconds_since_1970);
    let body = json(job)?;
    match job.version {
        0 => execute(link, INSERT_JOB, &[&Text(&job.id), &bytes(workspace), &due, &Text(&body)]).await,
        version => execute(link, UPDATE_JOB, &[&Text(&job.id), &due, &integer(version), &Text(&body)]).await,
    }
}

/// Says whether it could be put.
async fn put_run(link: &Link, workspace: &Path, run: &JobRun, presence: &str) -> Result<bool, Failure> {
    let scheduled = (run.trigger != RunTrigger::Manual).then(|| nanoseconds_since_1970(run.due));
    let is_open = !run.state.is_final() || matches!(run.delivery, DeliveryState::Pending | DeliveryState::Sending);
    let presence = (is_open && run.state != RunState::Waiting).then_some(Text(presence));
    let delivery_due = run.delivery_due.filter(|_| run.delivery == DeliveryState::Pending).map(nanoseconds_since_1970);
    let (id, body) = (Text(&run.id), json(run)?);
    let body = Text(&body);
    let new: [&(dyn ToSql + Sync); 8] = [&id, &Text(&run.job), &bytes(workspace), &scheduled, &is_open, &delivery_due, &presence, &body];
    let is_put = execute(link, ADD_RUN, &new).await? == 1
        || execute(link, CHANGE_RUN, &[&id, &is_open, &delivery_due, &presence, &body]).await? == 1;
    if is_put && !is_open {
        execute(link, FORGET_RUNS, &[&Text(&run.job), &i64::from(KEPT_RUNS)]).await?;
        execute(link, FORGET_RUNS_OF_ALL, &[&bytes(workspace), &i64::from(KEPT_RUNS_OF_ALL)]).await?;
    }
    Ok(is_put)
}

async fn take(link: &Link, presences: &Presences, run: &str, presence: &str) -> Result<bool, Failure> {
    let sql = "SELECT presence FROM automation_runs WHERE id = $1 AND is_open FOR UPDATE";
    let Some(found) = row(link, sql, &[&Text(run)]).await? else { return Ok(false) };
    if owner(link, presences, found.maybe_text(0)?.as_deref()).await? != RunOwner::Nobody {
        return Ok(false);
    }
    Ok(execute(link, "UPDATE automation_runs SET presence = $2 WHERE id = $1", &[&Text(run), &Text(presence)]).await? == 1)
}

async fn owner(link: &Link, presences: &Presences, presence: Option<&str>) -> Result<RunOwner, Failure> {
    match presence {
        None => Ok(RunOwner::Nobody),
        Some(id) if presences.is_mine(id) => Ok(RunOwner::Mine),
        Some(id) => Ok(if presences.is_alive(link, id).await? { RunOwner::Other } else { RunOwner::Nobody }),
    }
}

async fn open_runs(link: &Link, workspace: &Path, presences: &Presences) -> Result<Vec<(JobRun, RunOwner)>, Failure> {
    let sql = format!("SELECT body, presence FROM automation_runs WHERE {IN_FOLDER} AND is_open ORDER BY sequence");
    let mut runs = Vec::new();
    for (run, presence) in all(link, &sql, &[&bytes(workspace)], |row| Ok((row.json(0)?, row.maybe_text(1)?))).await? {
        runs.push((run, owner(link, presences, presence.as_deref()).await?));
    }
    Ok(runs)
}

fn job(row: &Row) -> Result<ScheduledJob, Failure> {
    Ok(ScheduledJob { version: row.number(1)?, ..row.json(0)? })
}

fn notice(row: &Row) -> Result<JobNotice, Failure> {
    Ok(JobNotice { job: row.text(0)?, name: row.text(1)?, run: row.maybe_text(2)?, at: row.time(3)?, text: row.text(4)? })
}

fn json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::unreadable("a scheduled job", error))
}
