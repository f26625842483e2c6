use std::path::PathBuf;

use haft_contract::{
    Dialect, Effect, Form, FormParameter, LineRequest, Plan, PlanContext, Program, Takes, Tool, ToolContext, ToolError, ToolOutput, Unit,
};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;

use super::limits::Asked;
use super::running::{self, Run};

/// Run a line of PowerShell in the workspace, such as 'Get-ChildItem -Recurse'. It needs pwsh or Windows PowerShell on this
/// machine, and is not read before it runs, so a person is asked. Returns what it wrote and its exit code; of more than 30 KB
/// the beginning and the end, with all of it kept in a file. What takes longer than 10 seconds goes on in the background: follow
/// it with process. Each line starts anew; nothing outlives it. Use exec for any other shell.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "PowerShell",
    section = Runtime,
    category = System,
    access = FullAccess,
    timeout_secs = 1800,
    aliases = ["PowerShell"],
    forms = FORMS,
    profiles = ["coding"],
    destructive,
    open_world
)]
pub(crate) struct Powershell;

const FORMS: &[Form] = &[Form::new(Dialect::Claw, "PowerShell").parameters(&[
    FormParameter::new("timeout", "timeout")
        .unit(Unit::Milliseconds)
        .description("When to end it, in milliseconds. Defaults to 1800000, or to never for what goes to the background."),
    FormParameter::new("run_in_background", "background"),
])];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The line of PowerShell to run; it may have several lines.
    #[schemars(extend("x-verbatim" = true, "x-aliases" = ["cmd", "script"]))]
    command: String,
    /// What it is for, in a few words; shown to the person.
    description: Option<String>,
    /// The directory to run it in. Defaults to the workspace.
    #[schemars(extend("x-aliases" = ["cwd", "directory", "working_directory"]))]
    workdir: Option<PathBuf>,
    /// After how many milliseconds it goes on in the background, 10 to 120000. Defaults to 10000.
    yield_ms: Option<u64>,
    /// Put it into the background at once, with its input left open. Defaults to false.
    #[schemars(extend("x-aliases" = ["run_in_background"]))]
    background: Option<bool>,
    /// When to end it, in seconds. Defaults to 1800, or to never for what goes to the background by the call's own wish.
    timeout: Option<f64>,
    /// Let it use less memory than is configured, in megabytes; at least 16.
    memory_mb: Option<u64>,
    /// Let each of its processes use less processor time than is configured, in seconds.
    cpu_seconds: Option<u64>,
    /// Let it have fewer processes and threads at one time than is configured; at least 8.
    processes: Option<u64>,
}

impl Params {
    fn check(&self) -> Result<(), ToolError> {
        if self.command.trim().is_empty() {
            return Err(ToolError::validation("Parameter 'command' is empty. Give the line to run, such as 'Get-ChildItem'."));
        }
        if self.command.contains('\0') {
            return Err(ToolError::validation("Parameter 'command' has a NUL character, which no shell can read. Leave it out."));
        }
        self.limits().check()?;
        self.run().map(drop)
    }

    fn limits(&self) -> Asked {
        Asked { memory_mb: self.memory_mb, cpu_seconds: self.cpu_seconds, processes: self.processes }
    }

    fn request(&self) -> LineRequest {
        let arguments = ["-NoProfile", "-NonInteractive", "-Command"].map(str::to_owned).to_vec();
        let advice = "Install PowerShell (package 'powershell'), or use exec, which runs the shell of this machine.";
        let program = Program { names: &["pwsh", "powershell"], arguments, takes: Takes::Argument, advice };
        LineRequest {
            line: self.command.clone(),
            program: Some(program),
            directory: self.workdir.clone(),
            limits: self.limits().limits(),
            ..LineRequest::default()
        }
    }

    fn run(&self) -> Result<Run<'_>, ToolError> {
        let background = self.background == Some(true);
        Ok(Run {
            line: &self.command,
            description: self.description.as_deref(),
            timeout: running::timeout(self.timeout, background || self.yield_ms.is_some())?,
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
        let line = cx.line(&params.request())?;
        let why = "what a line of PowerShell does is known only when it runs".to_owned();
        Ok(Plan::nothing().with(Effect::Unknown { why }).line(line))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let run = Run { warnings: params.limits().warnings(cx), ..params.run()? };
        run.carried_out(cx).await
    }
}

#[cfg(test)]
mod tests;
