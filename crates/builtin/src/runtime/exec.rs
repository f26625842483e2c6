mod commit;
mod params;
mod shells;

use haft_contract::{
    CommandRequest, Dialect, Effect, Form, FormParameter, Plan, PlanContext, ShellCommand, Tool, ToolContext, ToolError, ToolOutput, Unit,
};
use haft_macros::ToolMeta;

use self::params::Params;
pub(crate) use self::shells::NamedShell;
use self::shells::NamedShells;
use crate::command::run::CommandRun;

/// Run a shell command, such as 'cargo test' or 'ls | wc -l', in the workspace. It runs in a sandbox, where it can change files of the
/// workspace; the user is asked when it connects to a new host. Returns output and errors in one text, and the exit code; of more than 30
/// KB the beginning and the end, with all of it in a file. After 10 seconds it continues in the background: follow it with process. Each
/// command starts a new shell: variables do not persist, and the directory only with 'shell'. Not for reading, searching or changing
/// files: use the tools for that.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "exec",
    label = "Run command",
    section = Runtime,
    category = System,
    access = FullAccess,
    timeout_secs = 1800,
    rules = Exec,
    aliases = ["bash"],
    forms = FORMS,
    profiles = ["coding"],
    destructive,
    open_world
)]
pub(crate) struct ExecTool {
    shells: NamedShells,
}

impl ExecTool {
    pub(crate) fn new() -> Self {
        Self { shells: NamedShells::default() }
    }
}

const FORMS: &[Form] = &[
    Form::new(Dialect::Claw, "bash").description(BRIEF).show_only(CLAW).required(&["command"]).parameters(&[
        FormParameter::new("timeout", "timeout")
            .unit(Unit::Milliseconds)
            .description("Timeout in milliseconds. Defaults to 1800000, or to none in the background."),
        FormParameter::new("run_in_background", "background"),
        FormParameter::new("dangerouslyDisableSandbox", "dangerously_disable_sandbox"),
        FormParameter::new("namespaceRestrictions", "namespace_restrictions"),
        FormParameter::new("isolateNetwork", "isolate_network"),
        FormParameter::new("filesystemMode", "filesystem_mode"),
        FormParameter::new("allowedMounts", "allowed_mounts"),
    ]),
    Form::new(Dialect::OpenClaw, "exec")
        .description(BRIEF)
        .show_only(OPENCLAW)
        .required(&["command"])
        .parameters(&[FormParameter::new("yieldMs", "yield_ms")]),
];
const CLAW: &[&str] = &[
    "command",
    "description",
    "background",
    "timeout",
    "dangerously_disable_sandbox",
    "namespace_restrictions",
    "isolate_network",
    "filesystem_mode",
    "allowed_mounts",
];
const OPENCLAW: &[&str] =
    &["command", "workdir", "env", "yield_ms", "background", "timeout", "pty", "host", "node", "security", "ask", "elevated"];
/// Without the parameters that only Haft has.
const BRIEF: &str = "Run a shell command, such as 'cargo test' or 'ls | wc -l', in the workspace. It runs in a sandbox, where it can \
                     change files of the workspace; the user is asked when it connects to a host that is not allowed yet. Returns \
                     its standard output and standard error in one text, and its exit code; of more than 30 KB the beginning and \
                     the end, with all of it in a file. A command that takes longer than 10 seconds continues in the background: \
                     follow it with process. Each command starts a new shell in the workspace. Not for reading, searching or \
                     changing files: use the tools for that.";

impl Tool for ExecTool {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        params.check()?;
        if let Some(id) = &params.commit {
            return commit::plan(id, cx);
        }
        let request = params.request()?;
        if let Some(node) = params.node(cx.runs_on_nodes()) {
            let plan = cx.node_command(&cx.node(node)?, &request)?;
            return Ok(params.approval_reason(false).into_iter().fold(plan, Plan::require_approval));
        }
        let command = match params.shell() {
            Some(name) => self.shells.shell(cx.session(), name).command(request.clone(), cx)?,
            None => cx.command(&request)?,
        };
        let asks = params.approval_reason(command.is_read_only()).or_else(|| leaves_sandbox(&request, &command, cx));
        let plan = Plan::nothing().command(command);
        Ok(match asks {
            Some(why) => plan.require_approval(why),
            None => plan,
        })
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if params.commit.is_some() {
            return commit::run(cx).await;
        }
        if let Some(node) = params.node(is_on_node(cx)) {
            let (arguments, timeout) = params.for_node()?;
            return cx.nodes().call(node, "exec", arguments, timeout).await;
        }
        let run = CommandRun {
            command: &params.command,
            description: params.description.as_deref(),
            timeout: params.timeout()?,
            yield_ms: params.yield_ms(),
            background: params.in_background(),
            terminal: params.wants_terminal(),
            warnings: params.warnings().into_iter().chain(params.limits().warnings(cx)).collect(),
            // A directory that a dry run created does not exist.
            shell: params.shell().filter(|_| !params.is_dry_run()).map(|name| self.shells.shell(&cx.call().session, name)),
            forms: FORMS,
        };
        run.execute(cx).await
    }
}

/// Whether the plan runs the command on a node.
fn is_on_node(cx: &ToolContext) -> bool {
    cx.plan().effects().iter().any(|effect| matches!(effect, Effect::Node { .. }))
}

/// A command that the configuration runs in the sandbox leaves it only with approval, whatever the access level.
fn leaves_sandbox(request: &CommandRequest, command: &ShellCommand, cx: &PlanContext<'_>) -> Option<String> {
    let host = request.host.filter(|_| !command.shell().host.is_sandboxed())?;
    let configured = cx.command(&CommandRequest { host: None, ..request.clone() });
    let is_free_anyway = configured.is_ok_and(|command| !command.shell().host.is_sandboxed());
    (!is_free_anyway).then(|| format!("the call wants to run outside the sandbox (host={})", host.as_str()))
}

#[cfg(test)]
mod tests;
