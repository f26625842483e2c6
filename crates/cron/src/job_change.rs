//! New jobs and changes of jobs, checked: bounds, what excludes what, and defaults.

use std::path::Path;
use std::time::{Duration, SystemTime};

use haft_contract::ports::{DeliveryMode, JobDelivery, JobDraft, JobSchedule, JobTarget, ScheduledJob};
use haft_store::new_uuid;
use haft_text::display::shorten;

use crate::occurrences::next_after;
use crate::schedule::parse_schedule;

const TASK_CHARACTERS: usize = 8000;
const NAME_CHARACTERS: usize = 100;
const DEFAULT_TIMEOUT: Duration = Duration::from_hours(1);
const LONGEST_TIMEOUT: Duration = Duration::from_hours(24);

/// Where a new job comes from.
pub(crate) struct JobOrigin<'a> {
    pub(crate) workspace: &'a Path,
    pub(crate) session: Option<&'a str>,
    pub(crate) is_tainted: bool,
}

/// A new job.
pub(crate) fn new_job(draft: JobDraft, origin: &JobOrigin<'_>, zone: &str, now: SystemTime) -> Result<ScheduledJob, String> {
    let schedule = parse_schedule(&draft.schedule, zone, now)?;
    let task = draft.task.clone().filter(|task| !task.trim().is_empty()).ok_or("say what is to be done, as 'message'")?;
    let is_once = matches!(schedule, JobSchedule::At { .. });
    let id = new_uuid().simple().to_string();
    let mut job = ScheduledJob {
        id: format!("j-{}", &id[id.len() - 8..]),
        name: short_name(&task),
        workspace: origin.workspace.to_owned(),
        next_due: next_after(&schedule, now),
        schedule,
        task,
        target: JobTarget::default(),
        session: origin.session.map(str::to_owned),
        agent: None,
        model: None,
        timeout: DEFAULT_TIMEOUT,
        delivery: JobDelivery::default(),
        missed: haft_contract::ports::MissedRuns::default(),
        overlap: haft_contract::ports::OverlapRule::default(),
        delete_after_run: is_once,
        is_tainted: origin.is_tainted,
        created: now,
        enabled: true,
        disabled_because: None,
        failures: 0,
        noticed: None,
        version: 0,
    };
    let is_silent = draft.delivery.is_none();
    apply(&mut job, draft);
    // The answer is in the conversation already.
    if is_silent && job.target == JobTarget::Main {
        job.delivery.mode = DeliveryMode::None;
    }
    check(&job)?;
    Ok(job)
}

/// The job after a change.
pub(crate) fn changed_job(job: &ScheduledJob, mut draft: JobDraft, now: SystemTime) -> Result<ScheduledJob, String> {
    let mut job = job.clone();
    if !draft.schedule.is_empty() {
        job.schedule = parse_schedule(&draft.schedule, job.schedule.zone(), now)?;
    } else if let Some(zone) = draft.schedule.zone.take() {
        job.schedule = in_zone(job.schedule, &zone, now)?;
    }
    let was_enabled = job.enabled;
    apply(&mut job, draft);
    if job.enabled && !was_enabled {
        (job.failures, job.noticed, job.disabled_because) = (0, None, None);
    }
    job.next_due = job.enabled.then(|| next_after(&job.schedule, now)).flatten();
    if job.enabled && job.next_due.is_none() {
        return Err("its time has passed; give it a new schedule with 'at', 'every' or 'cron'".into());
    }
    check(&job)?;
    Ok(job)
}

fn in_zone(schedule: JobSchedule, zone: &str, now: SystemTime) -> Result<JobSchedule, String> {
    let zone = crate::zone_named(zone)?.iana_name().unwrap_or(schedule.zone()).to_owned();
    let changed = match schedule {
        JobSchedule::At { at, .. } => JobSchedule::At { at, zone },
        JobSchedule::Every { every, anchor, .. } => JobSchedule::Every { every, anchor, zone },
        JobSchedule::Cron { expression, .. } => JobSchedule::Cron { expression, zone },
    };
    next_after(&changed, now).ok_or("it would never run in this zone")?;
    Ok(changed)
}

fn apply(job: &mut ScheduledJob, draft: JobDraft) {
    let JobDraft {
        name,
        task,
        target,
        session,
        agent,
        model,
        timeout,
        delivery,
        channel,
        to,
        missed,
        overlap,
        enabled,
        delete_after_run,
        ..
    } = draft;
    set(&mut job.name, name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()));
    set(&mut job.task, task);
    set(&mut job.target, target);
    set(&mut job.timeout, timeout);
    set(&mut job.delivery.mode, delivery);
    set(&mut job.missed, missed);
    set(&mut job.overlap, overlap);
    set(&mut job.enabled, enabled);
    set(&mut job.delete_after_run, delete_after_run);
    for (field, value) in [
        (&mut job.session, session),
        (&mut job.agent, agent),
        (&mut job.model, model),
        (&mut job.delivery.channel, channel),
        (&mut job.delivery.to, to),
    ] {
        if let Some(value) = value {
            *field = Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        }
    }
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

fn check(job: &ScheduledJob) -> Result<(), String> {
    let long = |what: &str, length: usize, most: usize| Err(format!("the {what} has {length} characters, and {most} are the most"));
    match (job.task.chars().count(), job.name.chars().count()) {
        (length, _) if length > TASK_CHARACTERS => return long("message", length, TASK_CHARACTERS),
        (_, length) if length > NAME_CHARACTERS => return long("name", length, NAME_CHARACTERS),
        _ => {}
    }
    if job.timeout < Duration::from_secs(1) || job.timeout > LONGEST_TIMEOUT {
        return Err("'timeout_seconds' is from 1 to 86400".into());
    }
    if job.target == JobTarget::Main && job.session.is_none() {
        return Err("a job with session 'main' runs in a conversation, and none is named; use session 'isolated'".into());
    }
    if job.target == JobTarget::Main && (job.agent.is_some() || job.model.is_some()) {
        return Err("'agent' and 'model' are for jobs with session 'isolated': a conversation has its own".into());
    }
    check_delivery(&job.delivery)
}

fn check_delivery(delivery: &JobDelivery) -> Result<(), String> {
    match (delivery.mode, delivery.to.as_deref()) {
        (DeliveryMode::Webhook, Some(url)) if url.starts_with("https://") || url.starts_with("http://") => Ok(()),
        (DeliveryMode::Webhook, Some(url)) => Err(format!("the webhook '{}' is not a URL with http:// or https://", shorten(url, 80))),
        (DeliveryMode::Webhook, None) => Err("delivery 'webhook' needs 'to': the URL".into()),
        (DeliveryMode::Announce, Some(_)) if delivery.channel.is_none() => {
            Err("'to' needs a 'channel'; without both, the result is announced in this conversation".into())
        }
        _ => Ok(()),
    }
}

fn short_name(task: &str) -> String {
    shorten(task.lines().next().unwrap_or_default().trim(), 60).into_owned()
}
