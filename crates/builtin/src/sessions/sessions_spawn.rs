use std::time::Duration;

use haft_contract::{Dialect, Form, FormParameter, Plan, PlanContext, SubAgentRequest, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent::in_background;

/// Start a sub-agent in the background. The call returns at once; its answer comes to you as a message when it is there, so do not
/// poll for it. It works in a conversation of its own with at most your rights, and knows only what 'task' says. 'subagents' lists,
/// steers and ends those that run. Use 'agent' instead if you need the answer before you continue.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "Start a sub-agent",
    section = Sessions,
    category = System,
    access = ReadOnly,
    timeout_secs = 60,
    rules = Spawn,
    forms = FORMS,
    profiles = ["coding"],
    open_world
)]
pub(crate) struct SessionsSpawn;

pub(crate) const FORMS: &[Form] = &[Form::new(Dialect::OpenClaw, "sessions_spawn").parameters(&[
    FormParameter::new("agentId", "agent_id"),
    FormParameter::new("agentType", "agent_type"),
    FormParameter::new("runTimeoutSeconds", "run_timeout_seconds"),
])];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Cleanup {
    #[default]
    Keep,
    Delete,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The task, with everything that the sub-agent must know: it sees nothing of this conversation.
    #[schemars(extend("x-aliases" = ["prompt"], "x-verbatim" = true))]
    task: String,
    /// A label to find it by. Defaults to the beginning of the task.
    label: Option<String>,
    /// The configured agent to run as. Defaults to yours; agents_list shows them.
    agent_id: Option<String>,
    /// The type, such as 'explore'. Defaults to 'general-purpose'.
    #[schemars(extend("x-aliases" = ["subagent_type"]))]
    agent_type: Option<String>,
    /// Another model than yours, as provider/model.
    model: Option<String>,
    /// How many seconds it may take; 0 for as long as the user configured. Defaults to 0.
    #[schemars(extend("x-aliases" = ["timeout_seconds"]))]
    run_timeout_seconds: Option<u64>,
    /// 'keep' (the default) keeps its conversation; 'delete' removes it when it is done.
    #[serde(default)]
    cleanup: Cleanup,
}

impl Params {
    fn request(&self) -> SubAgentRequest {
        SubAgentRequest {
            task: self.task.clone(),
            label: self.label.clone(),
            agent_type: self.agent_type.clone(),
            agent: self.agent_id.clone(),
            model: self.model.clone(),
            timeout: self.run_timeout_seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs),
            background: true,
            forget: self.cleanup == Cleanup::Delete,
        }
    }
}

impl Tool for SessionsSpawn {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        cx.sub_agent(&params.request())
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let started = cx.sub_agents().spawn(params.request()).await?;
        Ok(in_background(&started, cx))
    }
}
