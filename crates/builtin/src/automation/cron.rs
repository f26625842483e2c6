mod draft;
mod recipient;
mod report;

use haft_contract::ports::{ChannelOffer, DeliveryMode, JobDraft, MessageChannels, WakeMode};
use haft_contract::{AutomationUse, Dialect, Form, FormParameter, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Runs that are shown, unless the call wants another number.
const DEFAULT_RUNS: u64 = 10;
const MOST_RUNS: u64 = 100;
const WAKE_CHARACTERS: usize = 2000;

/// Schedule work for later, once or again and again: reminders, reports, checks. 'add' needs a time (one of 'at', 'every', 'cron') and a
/// 'message'. Times are in the user's time zone unless 'zone' names another; the answer repeats the schedule in words with the next runs:
/// check that they are what the user meant. 'main' says the message in this conversation (for reminders); 'isolated' works on it in a
/// conversation of its own and announces the result here. Jobs run while `haft serve` runs.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "cron",
    label = "Scheduled jobs",
    section = Automation,
    category = System,
    access = WorkspaceWrite,
    timeout_secs = 60,
    rules = Configure,
    forms = FORMS,
    owner_only
)]
pub(crate) struct Cron;

const FORMS: &[Form] = &[Form::new(Dialect::OpenClaw, "cron").parameters(&[
    FormParameter::new("jobId", "id"),
    FormParameter::new("includeDisabled", "include_disabled"),
    FormParameter::new("runMode", "mode"),
])];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CronAction {
    #[default]
    List,
    Status,
    Add,
    Update,
    Remove,
    Run,
    Runs,
    Wake,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum RunMode {
    Force,
    Due,
    Now,
    NextHeartbeat,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The action: without one 'add' if there is a time, else 'list'.
    #[schemars(extend("x-choices" = {"create": "add", "delete": "remove", "cancel": "remove", "edit": "update", "trigger": "run", "history": "runs"}))]
    action: Option<CronAction>,
    /// For 'update', 'remove', 'run' and 'runs': the job, by id or name.
    #[schemars(extend("x-aliases" = ["job_id", "jobId"]))]
    id: Option<String>,
    /// A short name for the job.
    name: Option<String>,
    /// Once: '2026-12-24T18:00', 'tomorrow 9:00', '20m'.
    at: Option<String>,
    /// Again and again: '30m', '2h', '1 day'.
    #[schemars(extend("x-aliases" = ["interval"]))]
    every: Option<String>,
    /// Once, in milliseconds since 1970.
    #[schemars(extend("x-rare" = true))]
    at_ms: Option<i64>,
    /// Again and again, in milliseconds.
    #[schemars(extend("x-rare" = true))]
    every_ms: Option<u64>,
    /// A cron expression: '0 9 * * 1-5' is every weekday at 9.
    #[schemars(extend("x-aliases" = ["expr", "expression", "cron_expression"]))]
    cron: Option<String>,
    /// IANA time zone, such as 'Europe/Berlin'. Defaults to the user's.
    #[schemars(extend("x-aliases" = ["tz", "timezone", "time_zone"]))]
    zone: Option<String>,
    /// What is to be said or done then; for 'wake' the text.
    #[schemars(extend("x-verbatim" = true, "x-aliases" = ["text", "task", "prompt"]))]
    message: Option<String>,
    /// Where it runs: 'main' or 'isolated'. Defaults to 'isolated'.
    #[schemars(extend("x-aliases" = ["session_target", "sessionTarget"], "enum" = ["main", "isolated"]))]
    session: Option<String>,
    /// The agent of an isolated job.
    #[schemars(extend("x-rare" = true, "x-aliases" = ["agent_id", "agentId"]))]
    agent: Option<String>,
    /// The model of an isolated job, as provider/model.
    #[schemars(extend("x-rare" = true))]
    model: Option<String>,
    /// How long a run may take. Defaults to 3600.
    #[schemars(extend("x-rare" = true))]
    timeout_seconds: Option<u64>,
    /// What becomes of the result. Defaults to 'announce' for isolated jobs.
    #[schemars(extend("enum" = ["none", "announce", "webhook"]))]
    delivery: Option<String>,
    /// A channel for the announcement. Defaults to this conversation.
    channel: Option<String>,
    /// The recipient on the channel, or the URL of the webhook.
    #[schemars(extend("x-aliases" = ["url"]))]
    to: Option<String>,
    /// Runs that were missed while no server ran: 'skip', 'once' or 'all' (24 at most). Defaults to 'once'.
    #[schemars(extend("x-rare" = true, "enum" = ["skip", "once", "all"]))]
    missed: Option<String>,
    /// A run that is due while another works: 'skip', 'wait' or 'parallel'. Defaults to 'skip'.
    #[schemars(extend("x-rare" = true, "enum" = ["skip", "wait", "parallel"]))]
    overlap: Option<String>,
    /// Whether the job is on.
    enabled: Option<bool>,
    /// Whether the job is removed after it ran well. Defaults to true with 'at'.
    #[schemars(extend("x-rare" = true))]
    delete_after_run: Option<bool>,
    /// For 'run': 'force' (default) or 'due'. For 'wake': 'now' or 'next-heartbeat' (default).
    #[schemars(extend("x-rare" = true))]
    mode: Option<RunMode>,
    /// For 'list': also jobs that are off. Defaults to true.
    #[schemars(extend("x-rare" = true))]
    include_disabled: Option<bool>,
    /// For 'runs': at most this many, up to 100.
    #[schemars(extend("x-rare" = true))]
    limit: Option<u64>,
    /// The fields of the job as one object, in place of those above.
    #[schemars(extend("x-rare" = true))]
    job: Option<Map<String, Value>>,
    /// The same for 'update'.
    #[schemars(extend("x-rare" = true))]
    patch: Option<Map<String, Value>>,
    /// The schedule as one object.
    #[schemars(extend("x-rare" = true))]
    schedule: Option<Map<String, Value>>,
    /// The message as one object.
    #[schemars(extend("x-rare" = true))]
    payload: Option<Map<String, Value>>,
}

impl Params {
    /// A message with a time and without an action is a job: a list of the others would look as if it had been added.
    fn action(&self) -> CronAction {
        let in_milliseconds = self.at_ms.is_some() || self.every_ms.is_some();
        let has_time = self.at.is_some() || self.every.is_some() || self.cron.is_some() || self.schedule.is_some() || in_milliseconds;
        let is_job = self.job.is_some() || (has_time && (self.message.is_some() || self.payload.is_some()));
        self.action.unwrap_or(if is_job && self.id.is_none() { CronAction::Add } else { CronAction::List })
    }

    fn id(&self) -> Result<&str, ToolError> {
        let id = self.id.as_deref().map(str::trim).filter(|id| !id.is_empty());
        id.ok_or_else(|| ToolError::validation("Missing required parameter: 'id' (the id or the name of a job; 'list' shows them)"))
    }

    fn wake_text(&self) -> Result<&str, ToolError> {
        let text = self.message.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| ToolError::validation("Missing required parameter: 'message' (what to say)"))?;
        match text.chars().count() {
            length if length > WAKE_CHARACTERS => {
                Err(ToolError::validation(format!("The message has {length} characters, and {WAKE_CHARACTERS} are the most.")))
            }
            _ => Ok(text),
        }
    }
}

impl Tool for Cron {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        let automation = cx.automation()?;
        match params.action() {
            CronAction::List | CronAction::Status | CronAction::Runs => return Ok(Plan::nothing()),
            CronAction::Remove | CronAction::Run => params.id().map(|_| ())?,
            CronAction::Wake => params.wake_text().map(|_| ())?,
            CronAction::Add | CronAction::Update => {
                let offers = cx.channels().map(MessageChannels::offers).unwrap_or_default();
                let draft = recipient::resolve(draft::read(params)?, params.action() == CronAction::Update, &offers)?;
                if params.action() == CronAction::Add {
                    automation.check(&draft)?;
                } else {
                    params.id().or_else(|error| draft::has_id(params).ok_or(error))?;
                }
                return with_delivery(Plan::nothing().configure(AutomationUse::KEY), &draft, &offers, cx);
            }
        }
        Ok(Plan::nothing().configure(AutomationUse::KEY))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let automation = cx.automation();
        match params.action() {
            CronAction::Status => Ok(report::status(&automation.status().await?, &automation.notices(5).await?)),
            CronAction::List => {
                let is_served = automation.status().await?.is_running;
                Ok(report::list(automation.list().await?, params.include_disabled != Some(false), is_served))
            }
            CronAction::Add => {
                let view = automation.add(recipient::resolve(draft::read(&params)?, false, &offers(cx))?).await?;
                Ok(report::job("Added", &view, automation.status().await?.is_running))
            }
            CronAction::Update => {
                let id = params.id().or_else(|error| draft::has_id(&params).ok_or(error))?;
                let view = automation.update(id, recipient::resolve(draft::read(&params)?, true, &offers(cx))?).await?;
                Ok(report::job("Changed", &view, automation.status().await?.is_running))
            }
            CronAction::Remove => Ok(report::removed(&automation.remove(params.id()?).await?)),
            CronAction::Run => {
                let view = automation.find(params.id()?).await?;
                let run = automation.run(&view.job.id, params.mode == Some(RunMode::Due)).await?;
                Ok(report::report_run(&view, run.as_ref(), automation.status().await?.is_running))
            }
            CronAction::Runs => {
                let limit = params.limit.unwrap_or(DEFAULT_RUNS).clamp(1, MOST_RUNS);
                let runs = automation.runs(params.id.as_deref(), usize::try_from(limit).unwrap_or(10)).await?;
                // Runs outlive their job.
                let view = match &params.id {
                    Some(id) => automation.find(id).await.ok(),
                    None => None,
                };
                Ok(report::runs(view.as_ref(), &runs, &automation.status().await?.zone))
            }
            CronAction::Wake => {
                let mode = if params.mode == Some(RunMode::Now) { WakeMode::Now } else { WakeMode::NextRun };
                Ok(ToolOutput::text(automation.wake(params.wake_text()?, mode).await?))
            }
        }
    }
}

/// What the configured channels can do; nothing if there are none.
fn offers(cx: &ToolContext) -> Vec<ChannelOffer> {
    cx.channels().offers().unwrap_or_default()
}

/// Where results go is decided on when the job is made.
fn with_delivery(plan: Plan, draft: &JobDraft, offers: &[ChannelOffer], cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
    let plan = match &draft.agent {
        Some(agent) => plan.spawn(agent.as_str()),
        None => plan,
    };
    match (draft.delivery, &draft.channel, &draft.to) {
        (Some(DeliveryMode::Webhook), _, Some(url)) => Ok(plan.connect(cx.connect("POST", url)?)),
        (_, Some(channel), to) => {
            let is_outward = offers.iter().all(|offer| offer.name != *channel || offer.is_outward);
            Ok(plan.send(channel.as_str(), to.as_deref().unwrap_or_default(), is_outward))
        }
        _ => Ok(plan),
    }
}

#[cfg(test)]
mod tests;
