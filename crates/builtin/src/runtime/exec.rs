mod commit;
mod params;
mod shells;

use haft_contract::{Dialect, Form, FormParameter, Line, LineRequest, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput, Unit};
use haft_macros::ToolMeta;

use self::params::Params;
pub(super) use self::shells::Named;
use self::shells::Shells;
use super::running::Run;

/// Run a line of shell, such as 'cargo test' or 'ls | wc -l', in the workspace. It runs behind walls as a rule: it can change
/// files of the workspace, and reach only the hosts in 'allow_host'. Returns what it wrote, to standard output and standard
/// error alike, and its exit code; of more than 30 KB the beginning and the end, with all of it kept in a file. What takes
/// longer than 10 seconds goes on in the background: follow it with process. Each line starts a new shell; no variable
/// outlives it, and no directory unless 'shell' is given. With 'dry_run' nothing is changed, and what it would change is shown; 'commit' then does that. Not for reading, searching or changing files, for which there are tools.
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
pub(crate) struct Exec {
    shells: Shells,
}

impl Exec {
    pub(crate) fn new() -> Self {
        Self { shells: Shells::default() }
    }
}

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
        if let Some(id) = &params.commit {
            return commit::plan(id, cx);
        }
        let request = params.request()?;
        let line = match params.shell() {
            Some(name) => self.shells.named(cx.session(), name).line(request.clone(), cx)?,
            None => cx.line(&request)?,
        };
        let asks = params.asks(&line).or_else(|| leaves_walls(&request, &line, cx));
        let plan = Plan::nothing().line(line);
        Ok(match asks {
            Some(why) => plan.asking(why),
            None => plan,
        })
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if params.commit.is_some() {
            return commit::run(cx).await;
        }
        let run = Run {
            line: &params.command,
            description: params.description.as_deref(),
            timeout: params.timeout()?,
            yield_ms: params.yield_ms(),
            background: params.in_background(),
            terminal: params.wants_terminal(),
            warnings: params.warnings().into_iter().chain(params.limits().warnings(cx)).collect(),
            // A directory that a dry run made is not there.
            shell: params.shell().filter(|_| !params.is_dry_run()).map(|name| self.shells.named(&cx.call().session, name)),
            forms: FORMS,
        };
        run.carried_out(cx).await
    }
}

/// What the configuration keeps behind walls runs in front of them only if a person says so, whatever the access level.
fn leaves_walls(request: &LineRequest, line: &Line, cx: &PlanContext<'_>) -> Option<String> {
    let host = request.host.filter(|_| !line.shell().host.is_walled())?;
    let configured = cx.line(&LineRequest { host: None, ..request.clone() });
    let is_free_anyway = configured.is_ok_and(|line| !line.shell().host.is_walled());
    (!is_free_anyway).then(|| format!("the call wants to run outside the sandbox (host={})", host.as_str()))
}

#[cfg(test)]
mod tests;
