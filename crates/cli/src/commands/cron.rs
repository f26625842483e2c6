//! `haft cron`: lists, adds, shows, runs, pauses, resumes and removes scheduled jobs.

use std::time::{Duration, SystemTime};

use haft_contract::ports::{Automation, DeliveryState, JobDraft, JobRun, JobView, MessageChannels, RunState, ScheduleText};
use haft_contract::{ErrorKind, ToolError};
use haft_text::display;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::arguments::{AddJobArgs, Common, CronCommand};
use crate::commands::block_on;
use crate::failure::{Exit, Failure};
use crate::output::{CAUTION, DIM, GOOD, Output, STRONG, note, warn};
use crate::table::{ColumnFit, Table, TableCell};
use crate::text_builder::TextBuilder;
use crate::wire::Wire;

/// Runs that `show` lists.
const SHOWN_RUNS: usize = 10;
const SHOWN_NOTICES: usize = 3;

pub(crate) fn run(common: &Common, command: &CronCommand, output: &Output) -> Result<Exit, Failure> {
    let wire = Wire::new(common, output)?;
    let automation = wire.automation();
    let jobs = &*automation;
    block_on(async {
        match command {
            CronCommand::List => list(jobs, output).await,
            CronCommand::Add(request) => {
                let session = match &request.session {
                    Some(id) => Some(wire.conversation_store()?.sessions().open(id).await?.id),
                    None => None,
                };
                let view = jobs
                    .add(session.as_deref(), draft(request, recipient(&wire, request)?, common.agent.as_deref()))
                    .await
                    .map_err(failed)?;
                changed(jobs, "added", &view, output).await
            }
            CronCommand::Show { job } => show(jobs, job, output).await,
            CronCommand::Run { job } => run_now(jobs, job, output).await,
            CronCommand::Pause { job } => changed(jobs, "paused", &switch(jobs, job, false).await?, output).await,
            CronCommand::Resume { job } => changed(jobs, "resumed", &switch(jobs, job, true).await?, output).await,
            CronCommand::Remove { job } => {
                let view = jobs.remove(job).await.map_err(failed)?;
                output.show(|| job_json(&view), || format!("removed {} ({})\n", display::escape_line(&view.job.name), view.job.id))
            }
            CronCommand::Runs { job, limit } => runs(jobs, job.as_deref(), usize::try_from(*limit).unwrap_or(20), output).await,
        }
    })
}

#[expect(clippy::needless_pass_by_value, reason = "it is for map_err")]
fn failed(error: ToolError) -> Failure {
    if error.kind() == ErrorKind::ValidationError {
        return Failure::usage(error.message().trim_end_matches('.').to_owned());
    }
    Failure::failed(error.kind().as_str(), error.message().trim_end_matches('.').to_owned())
}

/// Who gets the result: the recipient that is named, or the channel's own.
fn recipient(wire: &Wire, request: &AddJobArgs) -> Result<Option<String>, Failure> {
    let Some(name) = &request.channel else { return Ok(request.to.clone()) };
    let offers = wire.channels().offers();
    let Some(offer) = offers.into_iter().find(|offer| offer.name == *name) else {
        return Err(Failure::usage(format!("no channel '{}' can send", display::escape_line(name)))
            .help("`haft channels list` shows the channels, and what each lacks"));
    };
    let to = request.to.clone().or(offer.default_to);
    to.map(Some).ok_or_else(|| {
        Failure::usage(format!("the recipient is missing: the channel '{name}' has none of its own")).help("name it with --to")
    })
}

/// `--agent` names who works on it.
fn draft(request: &AddJobArgs, to: Option<String>, agent: Option<&str>) -> JobDraft {
    let schedule = ScheduleText {
        at: request.at.clone(),
        every: request.every.clone(),
        anchor: None,
        cron: request.cron.clone(),
        zone: request.zone.clone(),
    };
    JobDraft {
        name: request.name.clone(),
        schedule,
        task: Some(request.message.clone()),
        target: Some(request.target()),
        agent: agent.map(str::to_owned),
        model: request.model.clone(),
        timeout: request.timeout.map(Duration::from_secs),
        delivery: request.delivery,
        channel: request.channel.clone(),
        to,
        missed: request.missed,
        overlap: request.overlap,
        ..JobDraft::default()
    }
}

async fn switch(jobs: &dyn Automation, job: &str, enabled: bool) -> Result<JobView, Failure> {
    jobs.update(None, job, JobDraft { enabled: Some(enabled), ..JobDraft::default() }).await.map_err(failed)
}

/// Says so where nothing runs the jobs.
async fn warn_without_server(jobs: &dyn Automation) -> Result<(), Failure> {
    if !jobs.status().await.map_err(failed)?.is_running {
        note("no server runs here now: `haft serve` runs the jobs of this folder");
    }
    Ok(())
}

async fn changed(jobs: &dyn Automation, what: &str, view: &JobView, output: &Output) -> Result<Exit, Failure> {
    warn_without_server(jobs).await?;
    output.show(
        || job_json(view),
        || {
            let mut page = TextBuilder::default();
            page.line(format_args!("{what} {} ({}): {}", display::escape_line(&view.job.name), view.job.id, view.words));
            for at in &view.next_runs {
                page.line(format_args!("  {at}"));
            }
            page.finish()
        },
    )
}

async fn list(jobs: &dyn Automation, output: &Output) -> Result<Exit, Failure> {
    let views = jobs.list().await.map_err(failed)?;
    for notice in jobs.notices(SHOWN_NOTICES).await.map_err(failed)?.iter().rev() {
        warn(notice.text.trim_end_matches('.'));
    }
    if views.is_empty() {
        note("no job is scheduled: `haft cron add MESSAGE --cron '0 9 * * 1-5'` adds one");
    } else {
        warn_without_server(jobs).await?;
    }
    let columns =
        [("ID", ColumnFit::Keep), ("NAME", ColumnFit::Cut), ("WHEN", ColumnFit::Cut), ("NEXT", ColumnFit::Keep), ("LAST", ColumnFit::Cut)];
    let mut table = Table::new(&columns);
    for view in &views {
        let next = next_text(view);
        let last = view.last_run.as_ref().map(last_text).unwrap_or_default();
        let style = if view.job.enabled { GOOD } else { DIM };
        table.row(vec![
            TableCell::new(&view.job.id),
            TableCell::new(&view.job.name),
            TableCell::new(&view.words),
            TableCell::styled(&next, style),
            TableCell::new(&last),
        ]);
    }
    output.show(|| views.iter().map(job_json).collect::<Vec<_>>(), || table.render(output.width))
}

/// What became of a run, and of its result if that is another matter.
fn last_text(run: &JobRun) -> String {
    match run.delivery {
        _ if run.state == RunState::Skipped => run.state.to_string(),
        DeliveryState::NotDelivered => format!("{}, not delivered", run.state),
        DeliveryState::Unknown => format!("{}, delivery unknown", run.state),
        DeliveryState::Pending | DeliveryState::Sending => format!("{}, not delivered yet", run.state),
        DeliveryState::Delivered | DeliveryState::NotRequested => run.state.to_string(),
    }
}

fn next_text(view: &JobView) -> String {
    match (view.job.enabled, view.next_runs.first(), &view.job.disabled_because) {
        (true, Some(next), _) => next.clone(),
        (true, None, _) => "-".into(),
        (false, _, Some(_)) => "off (failed)".into(),
        (false, ..) => "off".into(),
    }
}

async fn show(jobs: &dyn Automation, job: &str, output: &Output) -> Result<Exit, Failure> {
    let view = jobs.find(job).await.map_err(failed)?;
    let runs = jobs.runs(Some(&view.job.id), SHOWN_RUNS).await.map_err(failed)?;
    output.show(
        || {
            let mut value = job_json(&view);
            value["runs"] = runs.iter().map(run_json).collect();
            value
        },
        || page(&view, &runs),
    )
}

fn page(view: &JobView, runs: &[JobRun]) -> String {
    let (job, mut page) = (&view.job, TextBuilder::default());
    page.line(format_args!("{STRONG}{}{STRONG:#} ({})", display::escape_line(&job.name), job.id));
    page.line(format_args!("  when      {}", view.words));
    if let Some(why) = &job.disabled_because {
        page.line(format_args!("  off       {CAUTION}{}{CAUTION:#}", display::escape_line(why)));
    } else if !job.enabled {
        page.line(format_args!("  off"));
    }
    for (index, at) in view.next_runs.iter().enumerate() {
        page.line(format_args!("  {}{at}", if index == 0 { "next      " } else { "          " }));
    }
    page.line(format_args!("  does      {}", display::escape_line(&job.task)));
    let by = job.delivery.channel.as_deref().map(|channel| format!(" by {channel}")).unwrap_or_default();
    let to = job.delivery.to.as_deref().map(|to| format!("{by} to {to}")).unwrap_or(by);
    page.line(format_args!("  where     {}; delivery {}{}", job.target, job.delivery.mode, display::escape_line(&to)));
    let (agent, model) = (job.agent.as_deref().unwrap_or("main"), job.model.as_deref());
    let model = model.map(|model| format!("; model {model}")).unwrap_or_default();
    page.line(format_args!("  with      agent {}{}", display::escape_line(agent), display::escape_line(&model)));
    page.line(format_args!("  policies  missed = {}, overlap = {}", job.missed, job.overlap));
    if job.failures > 0 {
        page.line(format_args!("  failures  {} in a row", job.failures));
    }
    let zone = TimeZone::get(job.schedule.zone()).unwrap_or(TimeZone::UTC);
    for run in runs {
        page.line(format_args!("  run       {}", display::escape_line(&haft_cron::run_line(run, &zone))));
    }
    page.finish()
}

async fn run_now(jobs: &dyn Automation, job: &str, output: &Output) -> Result<Exit, Failure> {
    let run = jobs.run(job, false).await.map_err(failed)?;
    let is_served = jobs.status().await.map_err(failed)?.is_running;
    let Some(run) = run else { return Ok(Exit::Success) };
    let what = if is_served { "runs now" } else { "waits for a server: `haft serve` runs it" };
    output.show(
        || run_json(&run),
        || format!("{} {what}; `haft cron runs {}` shows what becomes of it\n", display::escape_line(&run.name), run.job),
    )
}

async fn runs(jobs: &dyn Automation, job: Option<&str>, limit: usize, output: &Output) -> Result<Exit, Failure> {
    let runs = jobs.runs(job, limit).await.map_err(failed)?;
    if runs.is_empty() {
        note("nothing has run yet");
    }
    let zone = jobs.status().await.map_err(failed)?.zone;
    let zone = TimeZone::get(&zone).unwrap_or(TimeZone::UTC);
    output.show(
        || runs.iter().map(run_json).collect::<Vec<_>>(),
        || {
            let mut page = TextBuilder::default();
            for run in &runs {
                page.line(format_args!("{}", display::escape_line(&haft_cron::run_line(run, &zone))));
            }
            page.finish()
        },
    )
}

fn job_json(view: &JobView) -> Value {
    let job = &view.job;
    json!({
        "id": job.id, "name": job.name, "schedule": view.schedule, "words": view.words, "next_runs": view.next_runs, "message": job.task,
        "target": job.target, "session": job.session, "agent": job.agent, "model": job.model, "delivery": job.delivery,
        "missed": job.missed, "overlap": job.overlap, "enabled": job.enabled, "disabled_because": job.disabled_because,
        "failures": job.failures, "last_run": view.last_run.as_ref().map(run_json),
    })
}

fn run_json(run: &JobRun) -> Value {
    let took = run.started.zip(run.ended).and_then(|(started, ended)| ended.duration_since(started).ok());
    let at = |moment: SystemTime| haft_cron::rfc_3339(moment, &TimeZone::system());
    json!({
        "id": run.id, "job": run.job, "name": run.name, "trigger": run.trigger, "state": run.state, "attempts": run.attempts,
        "session": run.session, "error": run.error, "answer": run.answer, "delivery": run.delivery, "delivery_note": run.delivery_note,
        "due": at(run.due), "started": run.started.and_then(at), "ended": run.ended.and_then(at),
        "duration_ms": took.map(|took| took.as_secs_f64() * 1000.0),
    })
}
