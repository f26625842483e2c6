use haft_contract::{
    Dialect, Form, FormParameter, Plan, PlanContext, SessionMessage, SessionPage, Tool, ToolContext, ToolError, ToolOutput,
};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::shared::untrusted;

const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 1000;

/// Read the newest messages of a conversation that you may see, such as one of your sub-agents. Long texts are cut at 4,000 characters
/// and all of it at 80 KiB, the oldest first. sessions_list finds conversations.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "Read a session",
    section = Sessions,
    category = System,
    access = ReadOnly,
    timeout_secs = 10,
    forms = FORMS,
    profiles = ["coding", "messaging"],
    read_only,
    idempotent
)]
pub(crate) struct SessionsHistory;

pub(crate) const FORMS: &[Form] = &[Form::new(Dialect::OpenClaw, "sessions_history")
    .parameters(&[FormParameter::new("sessionKey", "session"), FormParameter::new("includeTools", "include_tools")])];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The session by id, the label of a sub-agent, 'main' for the conversation with the user, or 'current'.
    #[schemars(extend("x-aliases" = ["session_key", "session_id", "id"]))]
    session: String,
    /// How many messages, at most 1000. Defaults to 50.
    limit: Option<usize>,
    /// Also calls of tools and their results. Defaults to false.
    #[schemars(extend("x-rare" = true))]
    include_tools: Option<bool>,
}

impl Tool for SessionsHistory {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, _: &PlanContext<'_>) -> Result<Plan, ToolError> {
        if params.session.trim().is_empty() {
            return Err(ToolError::validation("The session is empty. Name it by its id; sessions_list shows them."));
        }
        Ok(Plan::nothing().read_sessions())
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let limit = params.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
        let page = cx.sessions().history(&params.session, limit, params.include_tools.unwrap_or(false)).await?;
        let text = text(&page, *page.id == *cx.call().session);
        let details = json!({
            "session": page.id,
            "messages": page.messages.len(),
            "truncated": page.dropped > 0 || page.is_cut,
            "dropped_entries": page.dropped,
            "content_truncated": page.is_cut,
            "content_redacted": page.is_redacted,
            "bytes": page.messages.iter().map(|message| message.text.len()).sum::<usize>(),
        });
        Ok(ToolOutput::text(text).with_details(details))
    }
}

/// Another conversation is data, whatever is in it.
fn text(page: &SessionPage, is_current: bool) -> String {
    let older =
        if page.dropped > 0 { format!(" {} older entries are left out; a larger limit shows more.", page.dropped) } else { String::new() };
    let head = format!("Session {}, the newest {} messages.{older}", page.id, page.messages.len());
    let lines: Vec<String> = page.messages.iter().map(|SessionMessage { role, text, .. }| format!("{role}: {text}")).collect();
    let body = lines.join("\n\n");
    if is_current || body.is_empty() {
        format!("{head}\n\n{body}")
    } else {
        format!("{head}\n{}", untrusted::wrap("from another conversation", &body))
    }
}
