use haft_contract::{
    Dialect, Form, FormParameter, ModelChange, Plan, PlanContext, SessionState, SessionUse, Tool, ToolContext, ToolError, ToolOutput,
};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::sessions_list::{row, seconds_since};
use crate::shared::sub_agents::moment;

/// Show the state of this conversation, or of another one that you may see. Model, access, tokens, cost, sub-agents, time. 'model'
/// changes its model; do so only if the user wants it.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "Session status",
    section = Sessions,
    category = System,
    access = ReadOnly,
    timeout_secs = 10,
    rules = Configure,
    forms = FORMS,
    profiles = ["minimal", "coding", "messaging"],
    idempotent
)]
pub(crate) struct SessionStatus;

pub(crate) const FORMS: &[Form] =
    &[Form::new(Dialect::OpenClaw, "session_status").parameters(&[FormParameter::new("sessionKey", "session")])];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The session by id, or the label of a sub-agent. Defaults to this one.
    #[schemars(extend("x-aliases" = ["session_key", "session_id"]))]
    session: Option<String>,
    /// Another model for it from its next turn on, as provider/model, or 'default'.
    model: Option<String>,
}

impl Params {
    fn model(&self) -> Option<&str> {
        self.model.as_deref().map(str::trim).filter(|model| !model.is_empty())
    }
}

impl Tool for SessionStatus {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, _: &PlanContext<'_>) -> Result<Plan, ToolError> {
        let plan = Plan::nothing().read_sessions();
        Ok(if params.model().is_some() { plan.configure(SessionUse::MODEL) } else { plan })
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let changed = match params.model() {
            Some(model) => Some(cx.sessions().set_model(params.session.as_deref(), model).await?),
            None => None,
        };
        let state = cx.sessions().status(params.session.as_deref()).await?;
        let now = cx.clock().now();
        let mut details = row(&state.summary, now);
        details["access"] = json!(state.access);
        details["running_sub_agents"] = json!(state.running);
        details["context_tokens"] = json!(state.context.map(|(used, _)| used));
        details["context_window"] = json!(state.context.map(|(_, window)| window));
        details["cost_micros"] = json!(state.summary.cost_micros);
        details["ok"] = json!(true);
        details["changed_model"] = json!(changed.is_some());
        details["next_model"] = json!(changed.as_ref().map(|change| &change.model));
        let line = changed.map(|ModelChange { model, when, .. }| format!("The model is {model} {when}.\n")).unwrap_or_default();
        let text = line + &card(&state, cx);
        details["status_text"] = json!(text);
        Ok(ToolOutput::text(text).with_details(details))
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
    lines.extend(moment(now).map(|now| format!("Time: {now}")));
    lines.extend(cx.clock().time_zone().map(|zone| format!("Time zone: {zone}")));
    lines.push(concat!("Haft: ", env!("CARGO_PKG_VERSION")).to_owned());
    lines.join("\n")
}
