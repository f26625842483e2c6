use std::time::{Duration, SystemTime};

use haft_contract::{
    Dialect, Form, FormParameter, Plan, PlanContext, SessionKind, SessionQuery, SessionSummary, Tool, ToolContext, ToolError, ToolOutput,
};
use haft_macros::ToolMeta;
use haft_text::truncate::ellipsize;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::shared::sub_agents::moment;

const DEFAULT_LIMIT: usize = 50;
const MAX_MESSAGES: usize = 20;
const TITLE_CHARACTERS: usize = 60;

/// List conversations that you may see. They are this one and those of its sub-agents, unless the user configured more; the newest
/// message comes first. sessions_history reads one.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "List sessions",
    section = Sessions,
    category = System,
    access = ReadOnly,
    timeout_secs = 10,
    forms = FORMS,
    profiles = ["coding", "messaging"],
    read_only,
    idempotent
)]
pub(crate) struct SessionsList;

pub(crate) const FORMS: &[Form] = &[Form::new(Dialect::OpenClaw, "sessions_list")
    .parameters(&[FormParameter::new("activeMinutes", "active_minutes"), FormParameter::new("messageLimit", "message_limit")])];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// Only these kinds: 'main', 'subagent'. Defaults to all.
    #[schemars(extend("x-rare" = true))]
    kinds: Option<Vec<String>>,
    /// How many, at most 200. Defaults to 50.
    limit: Option<usize>,
    /// Only those with a message in the last so many minutes.
    #[schemars(extend("x-rare" = true))]
    active_minutes: Option<u64>,
    /// How many of the newest messages of each, at most 20. Defaults to 0.
    #[schemars(extend("x-rare" = true))]
    message_limit: Option<usize>,
}

impl Tool for SessionsList {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, _: &Params, _: &PlanContext<'_>) -> Result<Plan, ToolError> {
        Ok(Plan::nothing().read_sessions())
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        // Kinds of another system, such as 'cron', match nothing here.
        let kinds = params.kinds.unwrap_or_default();
        let known: Vec<SessionKind> = kinds.iter().filter_map(|kind| kind.trim().to_ascii_lowercase().parse().ok()).collect();
        let now = cx.clock().now();
        let sessions = if known.is_empty() && !kinds.is_empty() {
            Vec::new()
        } else {
            let query = SessionQuery {
                kinds: known,
                limit: params.limit.unwrap_or(DEFAULT_LIMIT),
                active: params.active_minutes.map(|minutes| Duration::from_secs(minutes.saturating_mul(60))),
                messages: params.message_limit.unwrap_or(0).min(MAX_MESSAGES),
            };
            cx.sessions().list(query).await?
        };
        let lines: Vec<String> = sessions.iter().map(|session| line(session, now)).collect();
        let text = if lines.is_empty() { "There is no such session.".to_owned() } else { lines.join("\n") };
        let rows: Vec<Value> = sessions.iter().map(|session| row(session, now)).collect();
        Ok(ToolOutput::text(text).with_details(json!({"count": rows.len(), "sessions": rows})))
    }
}

pub(crate) fn seconds_since(at: SystemTime, now: SystemTime) -> u64 {
    now.duration_since(at).unwrap_or_default().as_secs()
}

fn line(session: &SessionSummary, now: SystemTime) -> String {
    let SessionSummary { id, kind, agent, messages, .. } = session;
    let title = ellipsize(session.title.as_deref().unwrap_or("(no title)"), TITLE_CHARACTERS);
    let state = session.state.map(|state| format!(", {state}")).unwrap_or_default();
    let age = seconds_since(session.updated, now);
    let head = format!("{id}  {kind}{state}, agent {agent}, {messages} entries, {age} s ago: {title}");
    let newest = session.newest.iter().map(|message| format!("\n  {}: {}", message.role, message.text.replace('\n', "\n    ")));
    std::iter::once(head).chain(newest).collect()
}

pub(crate) fn row(session: &SessionSummary, now: SystemTime) -> Value {
    let newest: Vec<Value> = session.newest.iter().map(|message| json!({"role": message.role, "text": message.text})).collect();
    json!({
        "session": session.id,
        "kind": session.kind,
        "title": session.title,
        "label": session.title.as_ref().filter(|_| session.parent.is_some()),
        "agent": session.agent,
        "model": session.model,
        "workspace": session.workspace.to_string_lossy(),
        "parent": session.parent,
        "status": session.state,
        "entries": session.messages,
        "created_at": moment(session.created),
        "updated_at": moment(session.updated),
        "updated_seconds_ago": seconds_since(session.updated, now),
        "input_tokens": session.input,
        "output_tokens": session.output,
        "total_tokens": session.input.saturating_add(session.output),
        "messages": newest,
    })
}
