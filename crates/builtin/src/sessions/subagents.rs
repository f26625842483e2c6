use std::time::{Duration, SystemTime};

use haft_contract::{
    Dialect, ErrorKind, Form, FormParameter, Plan, PlanContext, SessionUse, SubAgentStatus, Tool, ToolContext, ToolError, ToolOutput,
};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::shared::sub_agents::{details, find, line, outcome};

/// The longest message to a sub-agent.
const MESSAGE_CHARACTERS: usize = 4000;
const DEFAULT_RECENT_MINUTES: u64 = 30;
const DEFAULT_WAIT_SECONDS: u64 = 60;
const MAX_WAIT_SECONDS: u64 = 600;

/// Manage the sub-agents that you started. 'list' shows those that run and those that ended lately; 'result' returns the whole answer of
/// one; 'wait' waits for it; 'steer' sends a message to one that runs; 'kill' ends one with all that it started. Answers come to you by
/// themselves.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "Sub-agents",
    section = Sessions,
    category = System,
    access = ReadOnly,
    timeout_secs = 610,
    rules = Send,
    forms = FORMS,
    profiles = ["coding"]
)]
pub(crate) struct Subagents;

pub(crate) const FORMS: &[Form] = &[Form::new(Dialect::OpenClaw, "subagents")
    .parameters(&[FormParameter::new("recentMinutes", "recent_minutes"), FormParameter::new("timeoutSeconds", "timeout_seconds")])];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum AgentAction {
    #[default]
    List,
    Result,
    Wait,
    Steer,
    Kill,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The action. Defaults to 'list'.
    #[serde(default)]
    action: AgentAction,
    /// The sub-agent, for all but 'list': id, label, number, 'last', or for 'kill' 'all'.
    #[schemars(extend("x-aliases" = ["id", "label"]))]
    target: Option<String>,
    /// For 'steer': the message, at most 4,000 characters.
    #[schemars(extend("x-verbatim" = true))]
    message: Option<String>,
    /// For 'list': how many minutes back those that ended are shown, from 1 to 1440. Defaults to 30.
    #[schemars(extend("x-rare" = true))]
    recent_minutes: Option<u64>,
    /// For 'wait': how many seconds, at most 600. Defaults to 60.
    #[schemars(extend("x-rare" = true))]
    timeout_seconds: Option<u64>,
}

impl Params {
    fn target(&self) -> Result<&str, ToolError> {
        let target = self.target.as_deref().map(str::trim).filter(|target| !target.is_empty());
        target.ok_or_else(|| {
            ToolError::validation("Parameter 'target' is needed: the id or label of a sub-agent, its number in the list, or 'last'.")
        })
    }

    fn message(&self) -> Result<&str, ToolError> {
        let message = self.message.as_deref().filter(|message| !message.trim().is_empty());
        let message =
            message.ok_or_else(|| ToolError::validation("Parameter 'message' is needed for 'steer': what the sub-agent should know."))?;
        let length = message.chars().count();
        if length > MESSAGE_CHARACTERS {
            return Err(ToolError::validation(format!(
                "The message has {length} characters, and {MESSAGE_CHARACTERS} are the most. Write the rest to a file and name that."
            )));
        }
        Ok(message)
    }

    fn is_everyone(&self) -> bool {
        self.action == AgentAction::Kill && self.target.as_deref().is_some_and(|target| matches!(target.trim(), "all" | "*"))
    }
}

impl Tool for Subagents {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        let plan = Plan::nothing().read_sessions();
        if params.action == AgentAction::List {
            return Ok(plan);
        }
        let target = params.target()?;
        if target == cx.session() {
            return Err(ToolError::validation("That is this conversation itself. Name a sub-agent that you started; 'list' shows them."));
        }
        match params.action {
            AgentAction::Steer => params.message().map(|_| plan.send(SessionUse::CHANNEL, target, false)),
            AgentAction::Kill => Ok(plan.send(SessionUse::CHANNEL, target, false)),
            _ => Ok(plan),
        }
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let all = cx.sub_agents().list().await?;
        let now = cx.clock().now();
        match params.action {
            AgentAction::List => Ok(list(&params, &all, now)),
            AgentAction::Result => result(find(params.target()?, &all)?, cx).await,
            AgentAction::Wait => wait(&params, find(params.target()?, &all)?, cx).await,
            AgentAction::Steer => steer(&params, find(params.target()?, &all)?, cx).await,
            AgentAction::Kill if params.is_everyone() => kill(&params, all.iter().collect(), cx).await,
            AgentAction::Kill => kill(&params, vec![find(params.target()?, &all)?], cx).await,
        }
    }
}

fn list(params: &Params, all: &[SubAgentStatus], now: SystemTime) -> ToolOutput {
    let minutes = params.recent_minutes.unwrap_or(DEFAULT_RECENT_MINUTES).clamp(1, 1440);
    let is_recent = |status: &SubAgentStatus| {
        let age = status.ended.and_then(|ended| now.duration_since(ended).ok()).unwrap_or_default();
        status.state.is_active() || age <= Duration::from_secs(minutes * 60)
    };
    let shown: Vec<(usize, &SubAgentStatus)> = all.iter().enumerate().filter(|(_, status)| is_recent(status)).collect();
    let rows = |wanted: bool| shown.iter().filter(move |(_, status)| status.state.is_active() == wanted);
    let row = |(index, status): &(usize, &SubAgentStatus)| {
        let mut row = details(status, now);
        row["index"] = json!(index + 1);
        row
    };
    let data = |wanted: bool| rows(wanted).map(row).collect::<Vec<Value>>();
    let lines: Vec<String> = shown.iter().map(|(index, status)| format!("{}. {}", index + 1, line(status, now))).collect();
    let text = if lines.is_empty() {
        format!("No sub-agent runs, and none has ended in the last {minutes} minutes ({} in all).", all.len())
    } else {
        lines.join("\n")
    };
    ToolOutput::text(text).with_details(json!({"active": data(true), "recent": data(false), "total": all.len()}))
}

/// The whole answer; a large one is spilled like any other output.
async fn result(status: &SubAgentStatus, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let now = cx.clock().now();
    if status.state.is_active() {
        return Err(ToolError::validation(format!(
            "The sub-agent '{}' has not ended ({}). Its answer comes by itself; 'wait' waits for it.",
            status.label, status.state
        )));
    }
    // It needs no notice any more.
    let status = cx.sub_agents().wait(&status.id, None).await?;
    Ok(ToolOutput::text(outcome(&status, now)?).with_details(details(&status, now)))
}

async fn wait(params: &Params, status: &SubAgentStatus, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let seconds = params.timeout_seconds.unwrap_or(DEFAULT_WAIT_SECONDS).clamp(1, MAX_WAIT_SECONDS);
    let sub_agents = cx.sub_agents();
    let ended = sub_agents.wait(&status.id, None);
    tokio::select! {
        ended = ended => {
            let (ended, now) = (ended?, cx.clock().now());
            Ok(ToolOutput::text(outcome(&ended, now)?).with_details(details(&ended, now)))
        }
        () = cx.cancelled() => Err(ToolError::new(ErrorKind::Cancelled, "The call was stopped; the sub-agent continues.")),
        () = tokio::time::sleep(Duration::from_secs(seconds)) => {
            let text = format!("The sub-agent '{}' still runs after {seconds} s. Its answer comes by itself when it is there.", status.label);
            Ok(ToolOutput::text(text).with_details(details(status, cx.clock().now())))
        }
    }
}

async fn steer(params: &Params, status: &SubAgentStatus, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let steered = cx.sub_agents().steer(params.target()?, &status.id, params.message()?).await?;
    let text = format!("The sub-agent '{}' reads the message with its next results.", steered.label);
    Ok(ToolOutput::text(text).with_details(details(&steered, cx.clock().now())))
}

async fn kill(params: &Params, targets: Vec<&SubAgentStatus>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let ids: Vec<String> = targets.iter().filter(|status| status.state.is_active()).map(|status| status.id.clone()).collect();
    if ids.is_empty() {
        let text = match targets.as_slice() {
            [one] if !params.is_everyone() => format!("The sub-agent '{}' has ended already ({}).", one.label, one.state),
            _ => "No sub-agent runs.".to_owned(),
        };
        return Ok(ToolOutput::text(text).with_details(json!({"killed": 0, "labels": []})));
    }
    let killed = cx.sub_agents().kill(params.target()?, &ids, "its parent killed it").await?;
    let labels: Vec<&str> = killed.iter().map(|status| status.label.as_str()).collect();
    let ended: Vec<String> = killed.iter().map(|status| format!("'{}' ({})", status.label, status.state)).collect();
    let text = format!("Ended {}: {}.", killed.len(), ended.join(", "));
    Ok(ToolOutput::text(text).with_details(json!({"killed": killed.len(), "labels": labels})))
}
