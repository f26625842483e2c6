use std::path::Path;

use haft_contract::ports::{Attachment, MessageLevel, UserMessage};
use haft_contract::{Dialect, FileKind, Form, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput, UserCapability};
use haft_macros::ToolMeta;
use haft_text::numbers::size;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

const MESSAGE_CHARACTERS: usize = 20_000;
const MAX_ATTACHMENTS: usize = 20;
const ATTACHMENT_BYTES: u64 = 50 * 1024 * 1024;
const IMAGES: &[&str] = &["png", "jpg", "jpeg", "gif", "webp", "bmp", "svg"];
const FORMS: &[Form] = &[Form::new(Dialect::Claw, "SendUserMessage").required(&["status"])];

/// Show a message to the user at once, while you continue to work: an interim result, a warning, or a question that can wait for its
/// answer. Not for your final answer, and not for each step.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "send_user_message",
    label = "Message to the user",
    section = Messaging,
    category = Notify,
    access = ReadOnly,
    timeout_secs = 10,
    rules = Send,
    profiles = ["coding", "messaging"],
    aliases = ["SendUserMessage", "brief"],
    forms = FORMS
)]
pub(crate) struct SendUserMessage;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The text, at most 20,000 characters.
    #[schemars(extend("x-verbatim" = true))]
    message: String,
    /// 'question' if the user should answer. Defaults to 'info'.
    #[serde(default)]
    level: Level,
    /// 'normal', or 'proactive' if the user did not ask for it. Defaults to 'normal'.
    #[serde(default)]
    #[schemars(extend("x-rare" = true))]
    status: MessageStatus,
    /// Paths of files that belong to it: at most 20, each at most 50 MB.
    #[serde(default)]
    #[schemars(extend("x-rare" = true))]
    attachments: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Level {
    #[default]
    Info,
    Warning,
    Question,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MessageStatus {
    #[default]
    Normal,
    Proactive,
}

impl Tool for SendUserMessage {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        if cx.services().messages.is_none() {
            return Err(ToolError::execution("Nobody reads messages here. Use notify for a notification at this machine."));
        }
        params.check()?;
        let plan = Plan::nothing().send(UserCapability::CHANNEL, UserCapability::RECIPIENT, false);
        params.attachments.iter().try_fold(plan, |plan, path| Ok(plan.read(cx.locate(path)?)))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Params { message, level, status, attachments: paths } = params;
        let mut attachments = Vec::new();
        for path in &paths {
            attachments.push(attachment(path, cx).await?);
        }
        let level = match level {
            Level::Info => MessageLevel::Info,
            Level::Warning => MessageLevel::Warning,
            Level::Question => MessageLevel::Question,
        };
        let message = UserMessage { message, level, proactive: status == MessageStatus::Proactive, attachments };
        cx.user().show(&message).await?;
        let sent_at = Timestamp::try_from(cx.clock().now()).map(|time| time.to_string()).ok();
        let details = json!({
            "message": message.message,
            "level": level.as_str(),
            "status": status,
            "attachments": message.attachments,
            "sent_at": sent_at,
        });
        Ok(ToolOutput::text(report(&message)).with_details(details))
    }
}

impl Params {
    fn check(&self) -> Result<(), ToolError> {
        if self.message.trim().is_empty() {
            return Err(ToolError::validation("The message is empty. Say in 'message' what the user should read."));
        }
        let length = self.message.chars().count();
        if length > MESSAGE_CHARACTERS {
            return Err(ToolError::validation(format!(
                "The message has {length} characters, more than {MESSAGE_CHARACTERS}. Shorten it, or write it to a file and attach that."
            )));
        }
        let found = self.attachments.len();
        if found > MAX_ATTACHMENTS {
            return Err(ToolError::validation(format!(
                "There are {found} attachments, more than {MAX_ATTACHMENTS}. Attach the most important ones."
            )));
        }
        Ok(())
    }
}

async fn attachment(path: &str, cx: &ToolContext) -> Result<Attachment, ToolError> {
    let info = cx.fs().info(path).await?;
    if info.kind != FileKind::File {
        return Err(ToolError::validation(format!("The attachment '{path}' is not a file. Name files; a folder cannot be attached.")));
    }
    if info.size > ATTACHMENT_BYTES {
        let (found, most) = (size(info.size), size(ATTACHMENT_BYTES));
        return Err(ToolError::validation(format!("The attachment '{path}' has {found}, more than {most}. Attach a part of it.")));
    }
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase();
    Ok(Attachment { path: path.into(), size: info.size, is_image: IMAGES.contains(&extension.as_str()) })
}

fn report(message: &UserMessage) -> String {
    let attached = match message.attachments.len() {
        0 => String::new(),
        number => format!(" with {}", haft_text::numbers::count(number, "attachment")),
    };
    let next = match message.level {
        MessageLevel::Question => " The answer arrives as a message of the user; continue with what does not depend on it.",
        _ => "",
    };
    format!("Shown to the user{attached}.{next}")
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use haft_contract::ports::{Services, UserMessages};
    use haft_contract::{BoxFuture, DynTool, Erased, ErrorKind};
    use haft_testkit::{FakeHost, expect_error, run_tool};
    use serde_json::Value;

    use super::*;

    #[derive(Default)]
    struct Shown(Mutex<Vec<UserMessage>>);

    impl UserMessages for Shown {
        fn show<'a>(&'a self, message: &'a UserMessage) -> BoxFuture<'a, Result<(), ToolError>> {
            self.0.lock().unwrap().push(message.clone());
            Box::pin(async { Ok(()) })
        }
    }

    fn host() -> (Arc<FakeHost>, Arc<Shown>) {
        let (host, mut services, shown) = (FakeHost::new(), Services::default(), Arc::new(Shown::default()));
        services.messages = Some(Arc::clone(&shown) as _);
        assert!(host.services.set(services).is_ok());
        (host, shown)
    }

    async fn send(host: &Arc<FakeHost>, arguments: Value) -> Result<ToolOutput, ToolError> {
        run_tool(&Erased::new(SendUserMessage), arguments, Arc::clone(host)).await
    }

    #[tokio::test]
    async fn a_message_is_shown_with_its_attachments() {
        let (host, shown) = host();
        host.files.put("plot.PNG", "12345");
        host.files.put("a.txt", "");
        let arguments = json!({"message": "Look", "level": "question", "status": "proactive", "attachments": ["plot.PNG", "a.txt"]});
        let output = send(&host, arguments).await.unwrap();
        let text = "Shown to the user with 2 attachments. The answer arrives as a message of the user; continue with what does not \
                    depend on it.";
        assert_eq!(output.texts().collect::<String>(), text);
        let attachment = |path: &str, size: u64, is_image: bool| Attachment { path: path.into(), size, is_image };
        let expected = UserMessage {
            message: "Look".into(),
            level: MessageLevel::Question,
            proactive: true,
            attachments: vec![attachment("plot.PNG", 5, true), attachment("a.txt", 0, false)],
        };
        assert_eq!(*shown.0.lock().unwrap(), [expected]);
        let details = output.details.unwrap();
        assert_eq!((&details["level"], &details["status"]), (&json!("question"), &json!("proactive")));
        assert!(details["sent_at"].as_str().is_some_and(|time| time.ends_with('Z')), "{details}");
        assert_eq!(send(&host, json!({"message": "Hi"})).await.unwrap().texts().collect::<String>(), "Shown to the user.");
    }

    #[tokio::test]
    async fn what_cannot_be_sent_is_refused_and_nothing_is_shown() {
        let (host, shown) = host();
        host.files.put("folder/a.txt", "x");
        let many: Vec<&str> = vec!["folder/a.txt"; 21];
        for (arguments, kind, message) in [
            (
                json!({"message": " "}),
                ErrorKind::ValidationError,
                "The message is empty. Say in 'message' what the user should read.".to_owned(),
            ),
            (
                json!({"message": "é".repeat(20_001)}),
                ErrorKind::ValidationError,
                "The message has 20001 characters, more than 20000. Shorten it, or write it to a file and attach that.".into(),
            ),
            (
                json!({"message": "x", "attachments": many}),
                ErrorKind::ValidationError,
                "There are 21 attachments, more than 20. Attach the most important ones.".into(),
            ),
            (
                json!({"message": "x", "attachments": ["folder/a.txt", "gone.txt"]}),
                ErrorKind::FileNotFound,
                "File not found: gone.txt".into(),
            ),
            (
                json!({"message": "x", "attachments": ["folder"]}),
                ErrorKind::ValidationError,
                "The attachment 'folder' is not a file. Name files; a folder cannot be attached.".into(),
            ),
        ] {
            assert_eq!(expect_error(send(&host, arguments).await), (kind, message));
        }
        assert_eq!(*shown.0.lock().unwrap(), []);
        let alone = expect_error(send(&FakeHost::new(), json!({"message": "x"})).await);
        assert_eq!(alone.1, "Nobody reads messages here. Use notify for a notification at this machine.");
    }

    #[test]
    fn the_plan_names_the_user_and_the_files() {
        let (host, _) = host();
        let arguments = json!({"message": "x", "attachments": ["a.txt"]});
        let prepared = Erased::new(SendUserMessage).prepare(arguments, &PlanContext::new(&*host)).unwrap();
        let effects = serde_json::to_value(prepared.plan().effects()).unwrap();
        let expected = json!([
            {"effect": "send", "channel": "conversation", "to": "user"},
            {"effect": "read", "path": "/workspace/a.txt"},
        ]);
        assert_eq!(effects, expected);
    }
}
