mod input;
mod keys;
mod list;
mod log;
mod params;
mod poll;
mod positions;

use haft_contract::{Dialect, Effect, Form, FormParameter, Job, JobStatus, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use serde_json::json;

use self::params::{JobAction, Params};
use self::positions::ReadPositions;
use crate::command::exit::ending;
use crate::shared::brief;

/// How many jobs a message lists.
const NAMED: usize = 20;

/// Follow and control commands that exec runs in the background. 'list' shows the jobs of this session; 'poll' returns new output, and
/// can wait for it; 'log' pages through its lines; 'write', 'submit' (with enter), 'paste' and 'send-keys' give it input; 'kill' ends it
/// with all that it started; 'clear' forgets one that has ended, 'remove' ends and forgets it.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "Processes",
    section = Runtime,
    category = System,
    timeout_secs = 130,
    rules = Exec,
    forms = FORMS,
    profiles = ["coding"],
    destructive,
    open_world
)]
pub(crate) struct Process {
    positions: ReadPositions,
}

pub(crate) const FORMS: &[Form] = &[Form::new(Dialect::OpenClaw, "process")
    .parameters(&[FormParameter::new("sessionId", "job"), FormParameter::new("timeout", "timeout_ms")])];

impl Process {
    pub(crate) fn new() -> Self {
        Self { positions: ReadPositions::default() }
    }
}

impl Tool for Process {
    type Params = Params;
    type Output = ToolOutput;

    /// The policy decided on a job when it was started. Its sandbox bounds it whatever input it gets; outside the sandbox,
    /// input can make it do anything, so that is an effect of its own.
    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        params.check()?;
        if params.action == JobAction::List {
            return Ok(Plan::nothing().list_jobs());
        }
        let (id, jobs) = (params.job()?, cx.jobs());
        let job = jobs.iter().find(|job| job.id == id).ok_or_else(|| unknown(id, &jobs))?;
        let plan = Plan::nothing().with_job(job, params.action.access());
        if !params.action.is_input() || job.host.is_sandboxed() {
            return Ok(plan);
        }
        let (command, input) = (brief(&job.command), input::summary(params));
        let why = format!("the effects of the input '{input}' on job '{id}' ({command}) outside the sandbox");
        Ok(plan.with(Effect::Unknown { why }))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if params.action == JobAction::List {
            return list::list_jobs(cx);
        }
        let id = params.job()?;
        let job = cx.process().job(id)?.ok_or_else(|| unknown(id, &[]))?;
        let output = self.acted(&params, &job, cx).await?;
        if params.action == JobAction::Kill || reports_end(&output) {
            job.acknowledge();
        }
        Ok(output)
    }
}

impl Process {
    async fn acted(&self, params: &Params, job: &dyn Job, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        match params.action {
            JobAction::Poll => Ok(poll::polled(job, params.patience(), &self.positions, cx).await),
            JobAction::Log => Ok(log::page(job, params.offset, params.limit, cx)),
            JobAction::Kill => Ok(killed(job).await),
            JobAction::Clear | JobAction::Remove => self.forget_job(params, job, cx).await,
            _ => input::send(job, params).await,
        }
    }

    async fn forget_job(&self, params: &Params, job: &dyn Job, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let status = job.status();
        if status.end.is_none() {
            if params.action == JobAction::Clear {
                let id = &status.id;
                return Err(ToolError::validation(format!("Job '{id}' still runs. End it with 'kill', or use 'remove' for both at once.")));
            }
            job.kill().await;
        }
        cx.process().forget(&status.id).await?;
        self.positions.forget(&status);
        let ended = if status.end.is_none() { " It still ran, and was ended." } else { "" };
        Ok(ToolOutput::text(format!("Forgot job '{}'.{ended}", status.id)).with_details(json!({"job": status.id})))
    }
}

/// Whether the output says that the job has ended: it may have ended since.
fn reports_end(output: &ToolOutput) -> bool {
    let state = output.details.as_ref().and_then(|details| details["status"].as_str());
    state.is_some_and(|state| state != "running")
}

fn unknown(id: &str, jobs: &[JobStatus]) -> ToolError {
    let running: Vec<&str> = jobs.iter().filter(|job| job.end.is_none()).map(|job| job.id.as_str()).collect();
    let known = match running.as_slice() {
        [] => "No job is running.".to_owned(),
        ids => format!("Running are: {}.", ids[..ids.len().min(NAMED)].join(", ")),
    };
    ToolError::validation(format!("There is no job '{}' in this session. {known} 'list' shows them all.", brief(id)))
}

async fn killed(job: &dyn Job) -> ToolOutput {
    let before = job.status();
    let text = if let Some(end) = &before.end {
        format!("Job '{}' has ended already. {}", before.id, ending(end, &before.command))
    } else {
        job.kill().await;
        format!("Ended job '{}' and all processes that it started.", before.id)
    };
    ToolOutput::text(text).with_details(json!({"job": before.id}))
}

#[cfg(test)]
mod tests;
