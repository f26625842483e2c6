use std::time::Duration;

use haft_contract::{
    Dialect, Form, FormParameter, Plan, PlanContext, SessionDelivery, SessionUse, Tool, ToolContext, ToolError, ToolOutput,
};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

const DEFAULT_SECONDS: u64 = 30;
const MAX_SECONDS: u64 = 300;
const MESSAGE_CHARACTERS: usize = 16_000;

/// Send a message to another conversation of this user. A running sub-agent reads it with its next results, and its answer is waited for.
/// Not for the user: answer them instead.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "Send to a session",
    section = Sessions,
    category = System,
    access = ReadOnly,
    timeout_secs = 310,
    rules = Send,
    forms = FORMS,
    profiles = ["coding", "messaging"]
)]
pub(crate) struct SessionsSend;

pub(crate) const FORMS: &[Form] = &[Form::new(Dialect::OpenClaw, "sessions_send")
    .parameters(&[FormParameter::new("sessionKey", "session"), FormParameter::new("timeoutSeconds", "timeout_seconds")])];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The message.
    #[schemars(extend("x-verbatim" = true))]
    message: String,
    /// The session by id, or 'main' for the conversation with the user.
    #[schemars(extend("x-aliases" = ["session_key", "session_id"]))]
    session: Option<String>,
    /// The label of a sub-agent that you started.
    label: Option<String>,
    /// How long to wait for an answer, at most 300; 0 to send only. Defaults to 30.
    #[schemars(extend("x-rare" = true))]
    timeout_seconds: Option<u64>,
}

impl Params {
    fn to(&self) -> Result<&str, ToolError> {
        let given = |value: &Option<String>| value.as_ref().is_some_and(|value| !value.trim().is_empty());
        match (&self.session, &self.label) {
            (Some(_), Some(_)) if given(&self.session) && given(&self.label) => {
                Err(ToolError::validation("Both 'session' and 'label' are given. Name the recipient by one of them."))
            }
            (Some(session), _) if given(&self.session) => Ok(session.trim()),
            (_, Some(label)) if given(&self.label) => Ok(label.trim()),
            _ => Err(ToolError::validation("The recipient is missing. Name it by 'session' or 'label'; sessions_list shows them.")),
        }
    }

    fn check(&self) -> Result<(), ToolError> {
        if self.message.trim().is_empty() {
            return Err(ToolError::validation("The message is empty. Say in 'message' what the other agent should know."));
        }
        let length = self.message.chars().count();
        if length > MESSAGE_CHARACTERS {
            return Err(ToolError::validation(format!(
                "The message has {length} characters, and {MESSAGE_CHARACTERS} are the most. Write the rest to a file and name that."
            )));
        }
        Ok(())
    }
}

impl Tool for SessionsSend {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        params.check()?;
        let to = params.to()?;
        if to == cx.session() {
            return Err(ToolError::validation(
                "That is this conversation itself: nobody else would read the message. Name another session.",
            ));
        }
        Ok(Plan::nothing().send(SessionUse::CHANNEL, to, false))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let wait = Duration::from_secs(params.timeout_seconds.unwrap_or(DEFAULT_SECONDS).min(MAX_SECONDS));
        let sessions = cx.sessions();
        let sent = tokio::select! {
            sent = sessions.send(params.to()?, &params.message, wait) => sent?,
            () = cx.cancelled() => return Err(ToolError::new(haft_contract::ErrorKind::Cancelled, "The call was stopped while it waited.")),
        };
        Ok(match sent {
            SessionDelivery::Answered { id, reply } => ToolOutput::text(format!("Session {id} answers:\n{reply}"))
                .with_details(json!({"status": "ok", "session": id, "reply": reply})),
            SessionDelivery::Delivered { id, when, is_late } => {
                let details = json!({
                    "status": if is_late && !wait.is_zero() { "timeout" } else { "accepted" },
                    "session": id,
                    "delivery": {"status": "pending", "mode": "announce"},
                });
                ToolOutput::text(format!("Session {id} reads the message {when}; no answer yet.")).with_details(details)
            }
        })
    }
}
