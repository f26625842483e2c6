//! What a call answers: the schedule in words, the next runs, and what is true about each run.

use haft_contract::ToolOutput;
use haft_contract::ports::{AutomationStatus, DeliveryState, JobNotice, JobRun, JobView, RunState};
use haft_text::display::shorten;
use haft_text::numbers::count;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

/// Jobs that one list shows.
const MOST_SHOWN: usize = 100;
const NOT_SERVED: &str = "No server runs now, so nothing runs until the user starts `haft serve`.";

pub(super) fn job(verb: &str, view: &JobView, is_served: bool) -> ToolOutput {
    let server = if is_served { String::new() } else { format!(" {NOT_SERVED}") };
    ToolOutput::text(format!("{verb} {}.{server}", scheduled(view))).with_details(details(view))
}

/// A job with its schedule in words and its next runs, which every answer repeats.
fn scheduled(view: &JobView) -> String {
    let runs = match (view.job.enabled, view.next_runs.as_slice(), &view.job.disabled_because) {
        (true, [], _) => "No more runs".to_owned(),
        (true, runs, _) => format!("Next runs: {}", runs.join("; ")),
        (false, _, Some(why)) => format!("It is off: {}", why.trim_end_matches('.')),
        (false, ..) => "It is off, so it does not run".to_owned(),
    };
    format!("'{}' ({}): {}. {runs}", view.job.name, view.job.id, view.words)
}

pub(super) fn list(mut views: Vec<JobView>, with_disabled: bool, is_served: bool) -> ToolOutput {
    views.retain(|view| with_disabled || view.job.enabled);
    let mut lines: Vec<String> = views.iter().take(MOST_SHOWN).map(line).collect();
    let left = views.len().saturating_sub(MOST_SHOWN);
    if left > 0 {
        lines.push(format!("({} more)", count(left, "job")));
    }
    if lines.is_empty() {
        lines.push("No job is scheduled.".into());
    }
    if !is_served {
        lines.push(NOT_SERVED.into());
    }
    let rows: Vec<Value> = views.iter().take(MOST_SHOWN).map(details).collect();
    ToolOutput::text(lines.join("\n")).with_details(json!({ "jobs": rows, "total": views.len(), "served": is_served }))
}

fn line(view: &JobView) -> String {
    let last = view.last_run.as_ref().map(|run| format!(". Last run: {}", state(run))).unwrap_or_default();
    format!("{}{last}", scheduled(view))
}

pub(super) fn removed(view: &JobView) -> ToolOutput {
    let (name, id) = (&view.job.name, &view.job.id);
    ToolOutput::text(format!("Removed '{name}' ({id}), whose schedule was: {}. Its runs stay in the list of runs.", view.words))
        .with_details(details(view))
}

pub(super) fn report_run(view: &JobView, run: Option<&JobRun>, is_served: bool) -> ToolOutput {
    let Some(run) = run else {
        let text = format!("The job is not due, so it does not run now. {}.", scheduled(view));
        return ToolOutput::text(text).with_details(json!({ "run": null, "job": details(view) }));
    };
    let when = if is_served { "It begins at once; 'runs' shows what becomes of it." } else { NOT_SERVED };
    let text = format!("Run {} is asked for. {when} {}.", run.id, scheduled(view));
    ToolOutput::text(text).with_details(json!({ "run": run_details(run), "job": details(view) }))
}

/// Runs, of one job or of all, in the zone of the user.
pub(super) fn runs(view: Option<&JobView>, runs: &[JobRun], zone: &str) -> ToolOutput {
    let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
    let mut lines: Vec<String> = runs.iter().map(|run| run_text(run, &zone)).collect();
    if lines.is_empty() {
        lines.push("Nothing has run yet.".into());
    }
    lines.extend(view.map(|view| format!("{}.", scheduled(view))));
    ToolOutput::text(lines.join("\n")).with_details(json!({ "runs": runs.iter().map(run_details).collect::<Vec<_>>() }))
}

pub(super) fn status(status: &AutomationStatus, notices: &[JobNotice]) -> ToolOutput {
    let server = if status.is_running { "A server runs the jobs." } else { NOT_SERVED };
    let next = status.next.as_deref().map(|next| format!(" Next run: {next}.")).unwrap_or_default();
    let told: String = notices.iter().flat_map(|notice| ["\n- ", &notice.text]).collect();
    let text = format!(
        "{server} {} on, {} off, {} running. Times are in {}.{next}{told}",
        count(status.enabled, "job"),
        status.disabled,
        status.running,
        status.zone
    );
    let details = json!({
        "served": status.is_running, "enabled": status.enabled, "disabled": status.disabled, "running": status.running,
        "next": status.next, "zone": status.zone, "notices": notices.iter().map(|notice| &notice.text).collect::<Vec<_>>(),
    });
    ToolOutput::text(text).with_details(details)
}

fn state(run: &JobRun) -> String {
    let delivery = match run.delivery {
        DeliveryState::NotRequested => String::new(),
        state => format!(", {}", state.as_str().replace('_', " ")),
    };
    let error = run.error.as_deref().map(|error| format!(" ({})", shorten(error, 120))).unwrap_or_default();
    format!("{}{error}{delivery}", run.state)
}

fn run_text(run: &JobRun, zone: &TimeZone) -> String {
    let due = jiff::Timestamp::try_from(run.due).map(|at| at.to_zoned(zone.clone()).strftime("%a %Y-%m-%d %H:%M %Z").to_string());
    let due = due.unwrap_or_default();
    let answer = run.answer.as_deref().filter(|answer| !answer.is_empty() && run.state == RunState::Ok);
    let answer = answer.map(|answer| format!(": {}", shorten(answer.lines().next().unwrap_or_default(), 160))).unwrap_or_default();
    format!("{due} '{}' {}{answer}", run.name, state(run))
}

fn details(view: &JobView) -> Value {
    let job = &view.job;
    json!({
        "id": job.id, "name": job.name, "schedule": view.schedule, "words": view.words, "next_runs": view.next_runs,
        "message": job.task, "session": job.target, "delivery": job.delivery, "missed": job.missed, "overlap": job.overlap,
        "enabled": job.enabled, "disabled_because": job.disabled_because, "failures": job.failures,
        "delete_after_run": job.delete_after_run, "last_run": view.last_run.as_ref().map(run_details),
    })
}

fn run_details(run: &JobRun) -> Value {
    json!({
        "id": run.id, "job": run.job, "name": run.name, "trigger": run.trigger, "state": run.state, "error": run.error,
        "attempts": run.attempts, "session": run.session, "delivery": run.delivery, "delivery_note": run.delivery_note,
    })
}
