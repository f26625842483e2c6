use haft_contract::{Notice, Notices, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::shared::brief;

/// Most characters of a notification.
const MESSAGE_CHARACTERS: usize = 4000;
const RECIPIENT_CHARACTERS: usize = 100;

/// Show a notification to the user at this machine. Use it for something that the user should know while away, such as the end
/// of long work; not for answers, and not for each step.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "notify",
    label = "Notify",
    section = Messaging,
    category = Notify,
    access = ReadOnly,
    timeout_secs = 10,
    rules = Send,
    profiles = ["messaging"]
)]
pub(crate) struct Notify;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The text, at most 4,000 characters.
    message: String,
    /// How urgent it is: 'low', 'normal', 'high' or 'critical'. Defaults to 'normal'.
    #[serde(default)]
    urgency: NoticeUrgency,
    /// The recipient. Defaults to 'system', the user at this machine.
    #[serde(default = "system")]
    recipient: String,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum NoticeUrgency {
    Low,
    #[default]
    Normal,
    High,
    Critical,
}

impl NoticeUrgency {
    fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

fn system() -> String {
    "system".into()
}

impl Tool for Notify {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, _cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        params.check()?;
        Ok(Plan::nothing().send(Notices::CHANNEL, &params.recipient, false))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Params { message, urgency, recipient } = params;
        let urgency = urgency.as_str();
        let place = cx.notices().notify(Notice { message, urgency: urgency.into(), recipient: recipient.clone() }).await?;
        let text = format!("Notified {} (urgency: {urgency}): {place}", brief(&recipient));
        Ok(ToolOutput::text(text).with_details(json!({"recipient": recipient, "urgency": urgency, "shown": place})))
    }
}

impl Params {
    fn check(&self) -> Result<(), ToolError> {
        if self.message.trim().is_empty() {
            return Err(ToolError::validation("The message is empty. Say in 'message' what the user should know."));
        }
        let length = self.message.chars().count();
        if length > MESSAGE_CHARACTERS {
            return Err(ToolError::validation(format!(
                "The message has {length} characters, which is more than a notification can show. \
                 Shorten it to {MESSAGE_CHARACTERS}, or write it to a file and name that."
            )));
        }
        let length = self.recipient.chars().count();
        if length > RECIPIENT_CHARACTERS {
            return Err(ToolError::validation(format!(
                "The recipient has {length} characters, more than the {RECIPIENT_CHARACTERS} of any name. \
                 Name the user in 'recipient', and say what they should know in 'message'."
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haft_contract::{DynTool, Erased, ErrorKind};
    use haft_testkit::{FakeHost, expect_error, run_tool};
    use serde_json::Value;

    use super::*;

    async fn notify(host: &Arc<FakeHost>, arguments: Value) -> Result<ToolOutput, ToolError> {
        run_tool(&Erased::new(Notify), arguments, Arc::clone(host)).await
    }

    #[tokio::test]
    async fn a_notice_is_shown_with_its_urgency() {
        let host = FakeHost::new();
        for (arguments, urgency, recipient) in [
            (json!({"message": "done"}), "normal", "system"),
            (json!({"message": "done", "urgency": "low"}), "low", "system"),
            (json!({"message": "done", "urgency": "high", "recipient": "ops"}), "high", "ops"),
            (json!({"message": "done", "urgency": "critical"}), "critical", "system"),
        ] {
            let output = notify(&host, arguments).await.unwrap();
            let place = "shown on the fake desktop";
            let details = json!({"recipient": recipient, "urgency": urgency, "shown": place});
            let text = format!("Notified {recipient} (urgency: {urgency}): {place}");
            assert_eq!(output, ToolOutput::text(text).with_details(details));
            let notice = Notice { message: "done".into(), urgency: urgency.into(), recipient: recipient.into() };
            assert_eq!(host.notifier.shown().last(), Some(&notice));
        }
    }

    #[tokio::test]
    async fn empty_huge_and_failing_notices_are_refused() {
        let host = FakeHost::new();
        for (message, expected) in [
            (String::new(), "The message is empty. Say in 'message' what the user should know."),
            (" \n".into(), "The message is empty. Say in 'message' what the user should know."),
            (
                "é".repeat(4001),
                "The message has 4001 characters, which is more than a notification can show. \
                 Shorten it to 4000, or write it to a file and name that.",
            ),
        ] {
            assert_eq!(expect_error(notify(&host, json!({"message": message})).await), (ErrorKind::ValidationError, expected.into()));
        }
        assert!(notify(&host, json!({"message": "é".repeat(4000), "recipient": "é".repeat(100)})).await.is_ok());
        let refused = expect_error(notify(&host, json!({"message": "x", "recipient": "é".repeat(101)})).await);
        let expected = "The recipient has 101 characters, more than the 100 of any name. \
                        Name the user in 'recipient', and say what they should know in 'message'.";
        assert_eq!(refused, (ErrorKind::ValidationError, expected.into()));
        host.notifier.fail(ErrorKind::ExecutionError, "no desktop");
        assert_eq!(expect_error(notify(&host, json!({"message": "x"})).await), (ErrorKind::ExecutionError, "no desktop".into()));
        assert_eq!(host.notifier.shown().len(), 1);
    }

    #[test]
    fn the_plan_names_the_recipient() {
        let host = FakeHost::new();
        let prepared = Erased::new(Notify).prepare(json!({"message": "x"}), &PlanContext::new(&*host)).unwrap();
        let effects = serde_json::to_value(prepared.plan().effects()).unwrap();
        assert_eq!(effects, json!([{"effect": "send", "channel": "desktop", "to": "system"}]));
    }
}
