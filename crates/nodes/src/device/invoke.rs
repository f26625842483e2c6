use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use haft_text::suggest;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{DeviceSettings, capture, plan};

const LIMIT: Duration = Duration::from_mins(5);
/// Bytes of the parameters.
const MAX_INPUT: usize = 256 << 10;

/// A command that the user of a node declared under `node.commands`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredCommand {
    /// What the gateway calls it.
    pub name: String,
    /// The program and its arguments; no shell reads them.
    pub words: Vec<String>,
}

/// Run a command that the user of this machine declared. Its parameters go to its standard input.
#[derive(Debug, ToolMeta)]
#[tool(name = "node_invoke", label = "Invoke", section = Nodes, category = System, access = ReadOnly, timeout_secs = 360, rules = Node)]
pub(super) struct NodeInvoke(pub(super) Arc<DeviceSettings>);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct InvokeParams {
    /// The name of the command.
    command: String,
    /// What it reads on its standard input.
    #[serde(default)]
    input: String,
}

impl NodeInvoke {
    fn find(&self, name: &str) -> Result<&DeclaredCommand, ToolError> {
        let commands = &self.0.commands;
        let found = commands.iter().find(|command| command.name == name && !command.words.is_empty());
        found.ok_or_else(|| {
            let near = suggest::nearest(name, commands.iter().map(|command| command.name.as_str()));
            let meant = near.first().map(|name| format!(" Did you mean '{name}'?")).unwrap_or_default();
            ToolError::validation(format!("This machine has no command of this name: its user declares them in [node.commands].{meant}"))
        })
    }
}

impl Tool for NodeInvoke {
    type Params = InvokeParams;
    type Output = ToolOutput;

    fn plan(&self, params: &InvokeParams, _cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        if params.input.len() > MAX_INPUT {
            return Err(ToolError::validation(format!("The parameters are longer than {} KB.", MAX_INPUT >> 10)));
        }
        let command = self.find(&params.command)?;
        plan(true, "", "invoke", &command.name)
    }

    async fn execute(&self, params: InvokeParams, _cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let command = self.find(&params.command)?;
        let [program, arguments @ ..] = &command.words[..] else { return Err(ToolError::execution("The command is empty.")) };
        let program = if program.contains('/') { PathBuf::from(program) } else { find_program(program)? };
        let output = capture::run(&program, arguments, params.input.as_bytes(), LIMIT).await?;
        Ok(ToolOutput::text(String::from_utf8_lossy(&output)))
    }
}

fn find_program(program: &str) -> Result<PathBuf, ToolError> {
    capture::installed(&[program]).ok_or_else(|| ToolError::execution(format!("This machine has no program '{program}'.")))
}
