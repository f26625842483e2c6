use std::time::Duration;

use haft_contract::{
    Dialect, ErrorKind, Form, Plan, PlanContext, Progress, SubAgentRequest, SubAgentStatus, Tool, ToolContext, ToolError, ToolOutput,
};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::shared::sub_agents;

/// The longest that a call waits; less than the time of the call, so that the sub-agent ends first and says so.
const MAX_SECONDS: u64 = 3590;

/// Let a sub-agent do a task, and get its answer. It works in a conversation of its own with at most your rights. Use it for work of many
/// steps whose details you do not need, such as searching a large project; several calls in one answer run at the same time. With 'run_in_background' its answer comes to you as a message: do not poll for it.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "agent",
    label = "Sub-agent",
    section = Sessions,
    category = System,
    access = ReadOnly,
    timeout_secs = 3600,
    rules = Spawn,
    aliases = ["task"],
    forms = FORMS,
    profiles = ["coding"],
    open_world
)]
pub(crate) struct AgentTool;

pub(crate) const FORMS: &[Form] = &[Form::new(Dialect::Claw, "Agent")
    .show_only(&["description", "prompt", "subagent_type", "name", "model", "run_in_background"])
    .required(&["description"])];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The task, with everything that it must know: it sees nothing of this conversation.
    #[schemars(extend("x-aliases" = ["task"], "x-verbatim" = true))]
    prompt: String,
    /// The task in three to five words, as its label.
    description: Option<String>,
    /// general-purpose (the default), explore, plan, verification or one of the user's: agents_list describes them.
    #[schemars(extend("x-aliases" = ["agent_type", "type"]))]
    subagent_type: Option<String>,
    /// A label in place of the description.
    #[schemars(extend("x-rare" = true))]
    name: Option<String>,
    /// Another model than yours, as provider/model.
    #[schemars(extend("x-rare" = true))]
    model: Option<String>,
    /// Return at once.
    #[schemars(extend("x-aliases" = ["background"]))]
    run_in_background: Option<bool>,
    /// How many seconds it may take. Defaults to what the user configured.
    #[schemars(extend("x-rare" = true, "x-aliases" = ["timeout"]))]
    timeout_seconds: Option<u64>,
}

impl Params {
    fn request(&self) -> Result<SubAgentRequest, ToolError> {
        let background = self.run_in_background.unwrap_or(false);
        let seconds = self.timeout_seconds.filter(|seconds| *seconds > 0);
        if let Some(seconds) = seconds.filter(|seconds| *seconds > MAX_SECONDS && !background) {
            return Err(ToolError::validation(format!(
                "A call waits at most {MAX_SECONDS} seconds, not {seconds}. Use less, or run_in_background=true."
            )));
        }
        let seconds = seconds.or_else(|| (!background).then_some(MAX_SECONDS));
        Ok(SubAgentRequest {
            task: self.prompt.clone(),
            label: self.name.clone().or_else(|| self.description.clone()),
            agent_type: self.subagent_type.clone(),
            model: self.model.clone(),
            timeout: seconds.map(Duration::from_secs),
            background,
            ..SubAgentRequest::default()
        })
    }
}

impl Tool for AgentTool {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        cx.sub_agent(&params.request()?)
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let request = params.request()?;
        let background = request.background;
        let started = cx.sub_agents().spawn(request).await?.status;
        if background {
            let details = sub_agents::details(&started, cx.clock().now());
            return Ok(ToolOutput::text(started_text(&started)).with_details(details));
        }
        let status = ended(started, cx).await?;
        let now = cx.clock().now();
        Ok(ToolOutput::text(sub_agents::outcome(&status, now)?).with_details(sub_agents::details(&status, now)))
    }
}

/// What a call says that does not wait.
pub(crate) fn started_text(started: &SubAgentStatus) -> String {
    let SubAgentStatus { id, label, agent_type, .. } = started;
    format!(
        "The sub-agent '{label}' ({agent_type}) has been started, in session {id}. Its answer comes to you as a message when it is done: do \
         not poll for it. subagents with action=steer or kill reaches it meanwhile."
    )
}

/// Waits for the end, and shows progress meanwhile.
async fn ended(started: SubAgentStatus, cx: &ToolContext) -> Result<SubAgentStatus, ToolError> {
    let mut seen = started;
    while seen.state.is_active() {
        let id = seen.id.clone();
        let next = tokio::select! {
            biased;
            () = cx.cancelled() => return Err(ToolError::new(ErrorKind::Cancelled, "The call was stopped, and the sub-agent with it.")),
            next = async { cx.sub_agents().wait(&id, Some(&seen)).await } => next?,
        };
        if next.calls != seen.calls || next.state != seen.state {
            cx.progress(Progress::message(format!("{}: {}, {} calls", next.label, next.state, next.calls)));
        }
        seen = next;
    }
    Ok(seen)
}
