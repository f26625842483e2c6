use std::path::PathBuf;

use haft_contract::{
    CodeInput, CommandRequest, Dialect, Effect, Form, FormParameter, InterpreterSpec, Plan, PlanContext, Tool, ToolContext, ToolError,
    ToolOutput, Unit,
};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::command::limits::RequestedLimits;
use crate::command::run::{self, CommandRun};

/// Run a PowerShell command in the workspace, such as 'Get-ChildItem -Recurse'. Outside the sandbox it needs approval. Returns its output
/// and its exit code; of more than 30 KB the beginning and the end, with all of it in a file. After 10 seconds it continues in the
/// background: follow it with process. Nothing persists between commands. Use exec for any other shell.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "PowerShell",
    section = Runtime,
    category = System,
    access = FullAccess,
    timeout_secs = 1800,
    rules = Exec,
    aliases = ["PowerShell"],
    forms = FORMS,
    profiles = ["coding"],
    destructive,
    open_world
)]
pub(crate) struct Powershell;

const FORMS: &[Form] =
    &[Form::new(Dialect::Claw, "PowerShell").show_only(&["command", "description", "background", "timeout"]).parameters(&[
        FormParameter::new("timeout", "timeout")
            .unit(Unit::Milliseconds)
            .description("Timeout in milliseconds. Defaults to 1800000, or to none in the background."),
        FormParameter::new("run_in_background", "background"),
    ])];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The PowerShell command; it may have several lines.
    #[schemars(extend("x-verbatim" = true, "x-aliases" = ["cmd", "script"]))]
    command: String,
    /// Its purpose in a few words; shown to the user.
    description: Option<String>,
    /// The directory to run it in. Defaults to the workspace.
    #[schemars(extend("x-rare" = true, "x-aliases" = ["cwd", "directory", "working_directory"]))]
    workdir: Option<PathBuf>,
    /// After how many milliseconds it continues in the background, 10 to 120000. Defaults to 10000.
    #[schemars(extend("x-rare" = true))]
    yield_ms: Option<u64>,
    /// Run it in the background at once, with its input open.
    #[schemars(extend("x-aliases" = ["run_in_background"]))]
    background: Option<bool>,
    /// Timeout in seconds. Defaults to 1800, or to none with 'background' or 'yield_ms'.
    #[schemars(extend("x-rare" = true))]
    timeout: Option<f64>,
    /// Memory limit below the configured one, in megabytes; at least 16.
    #[schemars(extend("x-rare" = true))]
    memory_mb: Option<u64>,
    /// CPU time limit for each process below the configured one, in seconds.
    #[schemars(extend("x-rare" = true))]
    cpu_seconds: Option<u64>,
    /// Limit on processes and threads below the configured one; at least 8.
    #[schemars(extend("x-rare" = true))]
    processes: Option<u64>,
}

impl Params {
    fn check(&self) -> Result<(), ToolError> {
        if self.command.trim().is_empty() {
            return Err(ToolError::validation("Parameter 'command' is empty. Give a command, such as 'Get-ChildItem'."));
        }
        if self.command.contains('\0') {
            return Err(ToolError::validation("Parameter 'command' has a NUL character, which no shell can read. Leave it out."));
        }
        self.limits().check()?;
        self.run().map(drop)
    }

    fn limits(&self) -> RequestedLimits {
        RequestedLimits { memory_mb: self.memory_mb, cpu_seconds: self.cpu_seconds, processes: self.processes }
    }

    fn request(&self) -> CommandRequest {
        let arguments = ["-NoProfile", "-NonInteractive", "-Command"].map(str::to_owned).to_vec();
        let advice = "Install PowerShell (package 'powershell'), or use exec, which runs the shell of this machine.";
        let program = InterpreterSpec { names: &["pwsh", "powershell"], arguments, code_input: CodeInput::Argument, advice };
        CommandRequest {
            command: self.command.clone(),
            interpreter: Some(program),
            directory: self.workdir.clone(),
            limits: self.limits().limits(),
            ..CommandRequest::default()
        }
    }

    fn run(&self) -> Result<CommandRun<'_>, ToolError> {
        let background = self.background == Some(true);
        Ok(CommandRun {
            command: &self.command,
            description: self.description.as_deref(),
            timeout: run::timeout(self.timeout, background || self.yield_ms.is_some())?,
            yield_ms: self.yield_ms,
            background,
            terminal: false,
            warnings: Vec::new(),
            shell: None,
            forms: FORMS,
        })
    }
}

impl Tool for Powershell {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        params.check()?;
        let command = cx.command(&params.request())?;
        let why = "the effects of a PowerShell command are known only when it runs".to_owned();
        let unknown = if command.shell().host.is_sandboxed() {
            Effect::Contained { why, read_only: command.has_read_only_view() }
        } else {
            Effect::Unknown { why }
        };
        Ok(Plan::nothing().with(unknown).command(command))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let run = CommandRun { warnings: params.limits().warnings(cx), ..params.run()? };
        run.execute(cx).await
    }
}

#[cfg(test)]
mod tests;
