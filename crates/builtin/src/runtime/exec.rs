mod follow;
mod params;
mod report;

use std::sync::Arc;

use haft_contract::{
    Dialect, Effect, Form, FormParameter, Job, JobOptions, Line, LineRequest, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput,
    Unit,
};
use haft_macros::ToolMeta;

use self::params::Params;
use self::report::Report;

/// Columns and rows of a terminal.
const TERMINAL: (u16, u16) = (120, 30);

/// Run a line of shell, such as 'cargo test' or 'ls | wc -l', in the workspace. It runs behind walls as a rule: it can change
/// files of the workspace, and reach only the hosts in 'allow_host'. Returns what it wrote, to standard output and standard
/// error alike, and its exit code; of more than 30 KB the beginning and the end, with all of it kept in a file. What takes
/// longer than 10 seconds goes on in the background: follow it with process. Each line starts a new shell; no directory or
/// variable outlives it. Not for reading, searching or changing files, for which there are tools.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "Run command",
    section = Runtime,
    category = System,
    access = FullAccess,
    timeout_secs = 1800,
    aliases = ["bash"],
    forms = FORMS,
    profiles = ["coding"],
    destructive,
    open_world
)]
pub(crate) struct Exec;

const FORMS: &[Form] = &[
    Form::new(Dialect::Claw, "bash").parameters(&[
        FormParameter::new("timeout", "timeout")
            .unit(Unit::Milliseconds)
            .description("When to end it, in milliseconds. Defaults to 1800000, or to never for what goes to the background."),
        FormParameter::new("run_in_background", "background"),
        FormParameter::new("dangerouslyDisableSandbox", "dangerously_disable_sandbox"),
        FormParameter::new("namespaceRestrictions", "namespace_restrictions"),
        FormParameter::new("isolateNetwork", "isolate_network"),
        FormParameter::new("filesystemMode", "filesystem_mode"),
        FormParameter::new("allowedMounts", "allowed_mounts"),
    ]),
    Form::new(Dialect::OpenClaw, "exec").parameters(&[FormParameter::new("yieldMs", "yield_ms")]),
];

impl Tool for Exec {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        params.check()?;
        let request = params.request()?;
        let line = cx.line(&request)?;
        let asks = params.asks(&line).or_else(|| leaves_walls(&request, &line, cx));
        let plan = asks.map_or_else(Plan::nothing, |why| Plan::nothing().with(Effect::Unknown { why }));
        Ok(plan.line(line))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (job, remarks) = started(&params, cx).await?;
        let mut report = Report::new(&params, cx);
        report.remarks.extend(remarks);
        let has_ended =
            if params.in_background() { job.status().end.is_some() } else { follow::to_its_end(&*job, params.patience(), cx).await? };
        if has_ended {
            return report.ended(&*job);
        }
        cx.process().keep(Arc::clone(&job));
        Ok(report.running(&*job))
    }
}

/// What the configuration keeps behind walls runs in front of them only if a person says so, whatever the access level.
fn leaves_walls(request: &LineRequest, line: &Line, cx: &PlanContext<'_>) -> Option<String> {
    let host = request.host.filter(|_| !line.shell().host.is_walled())?;
    let configured = cx.line(&LineRequest { host: None, ..request.clone() });
    let is_free_anyway = configured.is_ok_and(|line| !line.shell().host.is_walled());
    (!is_free_anyway).then(|| format!("the call wants to run outside the sandbox (host={})", host.as_str()))
}

/// Starts the line, and says what it goes without. A full disk does not keep it from running, since running something may be
/// what frees it.
async fn started(params: &Params, cx: &ToolContext) -> Result<(Arc<dyn Job>, Vec<String>), ToolError> {
    let mut remarks = Vec::new();
    let unspilled = |error: ToolError| remarks.push(format!("All of the output could not be kept: {}", error.message()));
    let options = JobOptions {
        timeout: params.timeout()?,
        terminal: params.wants_terminal().then_some(TERMINAL),
        input: params.wants_terminal() || params.in_background(),
        spill: cx.spills().create("txt").await.map_err(unspilled).ok(),
        ..JobOptions::default()
    };
    let job = cx.process().start(options).await?;
    if params.wants_terminal() && !job.has_terminal() {
        remarks.push("It was given no terminal, because there is none to give here.".to_owned());
    }
    Ok((job, remarks))
}

#[cfg(test)]
mod tests;
