//! The standard input of a hook command: one JSON object.

use haft_contract::{Effect, Envelope, ToolResult};
use serde::Serialize;
use serde_json::Value;

use super::{HookCall, HookEvent};

/// The object; fields that do not belong to the event are left out.
#[derive(Serialize)]
pub(super) struct HookInput<'a> {
    event: HookEvent,
    call_id: &'a str,
    tool: &'a str,
    session: &'a str,
    agent: &'a str,
    arguments: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    effects: Option<&'a [Effect]>,
    /// `status`, and `result` or `error_type` and `message`: as the model gets it, but whole.
    #[serde(flatten)]
    result: Option<Envelope<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stored: Option<&'a str>,
}

impl<'a> HookInput<'a> {
    pub(super) fn before(call: &HookCall<'a>) -> Self {
        Self {
            event: HookEvent::BeforeToolCall,
            call_id: &call.call.id,
            tool: &call.call.tool,
            session: &call.call.session,
            agent: &call.call.agent,
            arguments: call.arguments,
            effects: call.effects,
            result: None,
            duration_ms: None,
            stored: None,
        }
    }
    pub(super) fn after(call: &HookCall<'a>, result: &'a ToolResult) -> Self {
        let duration = u64::try_from(result.elapsed.as_millis()).unwrap_or(u64::MAX);
        Self { event: HookEvent::AfterToolCall, result: Some(result.envelope()), duration_ms: Some(duration), ..Self::before(call) }
    }
    pub(super) fn persist(call: &HookCall<'a>, stored: &'a str) -> Self {
        Self { event: HookEvent::ToolResultPersist, stored: Some(stored), ..Self::before(call) }
    }

    pub(super) fn to_json(&self) -> Result<Vec<u8>, String> {
        let mut text = serde_json::to_vec(self).map_err(|error| format!("its input could not be written: {error}"))?;
        // `read` of a shell needs the line end.
        text.push(b'\n');
        Ok(text)
    }
}
