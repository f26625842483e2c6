use haft_contract::{Dialect, Form, FormParameter, Plan, PlanContext, SessionState, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::sessions_list::{row, seconds_since};

/// Show the state of this conversation, or of another one that you may see. Model, access, tokens, cost, sub-agents, time. It changes
/// nothing: the user chooses the model.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "Session status",
    section = Sessions,
    category = System,
    access = ReadOnly,
    timeout_secs = 10,
    forms = FORMS,
    profiles = ["minimal", "coding", "messaging"],
    read_only,
    idempotent
)]
pub(crate) struct SessionStatus;

pub(crate) const FORMS: &[Form] =
    &[Form::new(Dialect::OpenClaw, "session_status").parameters(&[FormParameter::new("sessionKey", "session")])];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The session, by its id, or the label of a sub-agent. Defaults to this conversation.
    #[schemars(extend("x-aliases" = ["session_key", "session_id"]))]
    session: Option<String>,
}

impl Tool for SessionStatus {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, _: &Params, _: &PlanContext<'_>) -> Result<Plan, ToolError> {
        Ok(Plan::nothing().read_sessions())
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let state = cx.sessions().status(params.session.as_deref()).await?;
        let now = cx.clock().now();
        let mut details = row(&state.summary, now);
        details["access"] = json!(state.access);
        details["running_sub_agents"] = json!(state.running);
        details["context_tokens"] = json!(state.context.map(|(used, _)| used));
        details["context_window"] = json!(state.context.map(|(_, window)| window));
        details["cost_micros"] = json!(state.summary.cost_micros);
        Ok(ToolOutput::text(card(&state, cx)).with_details(details))
    }
}

fn card(state: &SessionState, cx: &ToolContext) -> String {
    let (now, session) = (cx.clock().now(), &state.summary);
    let mut lines = vec![format!("Session: {}{}", session.id, if state.is_current { " (this one)" } else { "" })];
    lines.extend(session.title.as_ref().map(|title| format!("Title: {title}")));
    lines.push(format!("Agent: {}", session.agent));
    lines.extend(session.model.as_ref().map(|model| format!("Model: {model}")));
    lines.extend(state.access.map(|access| format!("Access: {access}")));
    lines.extend(session.state.map(|state| format!("Sub-agent: {state}")));
    lines.push(format!("Tokens: {} in, {} out", session.input, session.output));
    lines.extend(state.context.map(|(used, window)| format!("Context: {used} of {window} tokens ({} %)", used * 100 / window.max(1))));
    if session.cost_micros > 0 {
        lines.push(format!("Cost: ${}.{:06}", session.cost_micros / 1_000_000, session.cost_micros % 1_000_000));
    }
    lines.push(format!("Running sub-agents: {}", state.running));
    lines.push(format!("Last message: {} s ago", seconds_since(session.updated, now)));
    lines.push(format!("Folder: {}", session.workspace.display()));
    lines.extend(cx.clock().time_zone().map(|zone| format!("Time zone: {zone}")));
    lines.join("\n")
}
