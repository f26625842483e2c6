mod a2ui;
mod document;
#[cfg(test)]
mod tests;

use std::time::Duration;

use haft_contract::ports::CanvasCommand;
use haft_contract::{
    AbsentTool, Dialect, Form, FormParameter, ImageLimits, Plan, PlanContext, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput,
};
use haft_macros::ToolMeta;
use haft_text::base64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::document::CanvasTarget;
use crate::results::image_result;
use crate::shared::untrusted;

const PATIENCE: Duration = Duration::from_secs(5);
const LONGEST_DELAY: u64 = 10_000;
const MOST_SCRIPT: usize = 64 * 1024;

/// Show something to the user in a frame on their page (the canvas): an HTML document of the workspace or of the web, or an interface in
/// A2UI 0.8 whose buttons come back to you as messages. The frame has no network: scripts and styles must be in the document, pictures as
/// data: URLs. Needs a page of `haft serve` that is open.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "Canvas",
    section = Ui,
    category = Network,
    access = FullAccess,
    timeout_secs = 60,
    forms = FORMS
)]
pub(crate) struct Canvas {
    is_offered: bool,
}

const FORMS: &[Form] = &[Form::new(Dialect::OpenClaw, "canvas").parameters(&[
    FormParameter::new("javaScript", "java_script"),
    FormParameter::new("outputFormat", "output_format"),
    FormParameter::new("maxWidth", "max_width"),
    FormParameter::new("delayMs", "delay_ms"),
    FormParameter::new("jsonlPath", "jsonl_path"),
])];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CanvasAction {
    Present,
    Hide,
    Navigate,
    Eval,
    Snapshot,
    A2uiPush,
    A2uiReset,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SnapshotType {
    Png,
    #[serde(alias = "jpeg")]
    Jpg,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// What to do. 'present' shows the canvas, with a document if one is named; 'navigate' shows another document.
    action: CanvasAction,
    /// The document: a path of the workspace, or an http(s) URL. For 'present' and 'navigate'.
    #[schemars(extend("x-aliases" = ["target", "path"]))]
    url: Option<String>,
    /// The script whose value 'eval' returns.
    #[schemars(extend("x-verbatim" = true, "x-aliases" = ["javascript", "script", "code"]))]
    java_script: Option<String>,
    /// Messages of A2UI 0.8, one JSON object on each line. For 'a2ui_push'.
    #[schemars(extend("x-verbatim" = true))]
    jsonl: Option<String>,
    /// A file of the workspace with such lines.
    jsonl_path: Option<String>,
    /// The format of a snapshot. Defaults to png.
    #[schemars(extend("x-choices" = {"jpeg": "jpg"}))]
    output_format: Option<SnapshotType>,
    /// Most pixels of the width of a snapshot. Defaults to 1200.
    #[schemars(range(min = 50, max = 2000))]
    max_width: Option<u32>,
    /// The quality of a JPEG snapshot, from 1 to 100. Defaults to 80.
    #[schemars(range(min = 1, max = 100))]
    quality: Option<u32>,
    /// Milliseconds to wait before a snapshot, at most 10000.
    #[schemars(range(max = 10_000))]
    delay_ms: Option<u64>,
}

impl Canvas {
    /// Without a page: it is not offered.
    pub(crate) const fn new() -> Self {
        Self { is_offered: false }
    }

    /// For conversations of a server.
    pub(crate) const fn on_a_page() -> Self {
        Self { is_offered: true }
    }
}

impl Params {
    fn script(&self) -> Result<&str, ToolError> {
        let script = self.java_script.as_deref().filter(|script| !script.trim().is_empty());
        let script = script.ok_or_else(|| ToolError::validation("Missing required parameter: 'java_script', for the action 'eval'."))?;
        if script.len() > MOST_SCRIPT {
            return Err(ToolError::validation(format!("Parameter 'java_script' has more than {} KB.", MOST_SCRIPT / 1024)));
        }
        Ok(script)
    }

    fn target(&self) -> Result<Option<CanvasTarget>, ToolError> {
        match self.url.as_deref().map(str::trim).filter(|url| !url.is_empty()) {
            Some(url) => CanvasTarget::parse(url).map(Some),
            None if self.action == CanvasAction::Navigate => {
                Err(ToolError::validation("Missing required parameter: 'url', for the action 'navigate'."))
            }
            None => Ok(None),
        }
    }
}

impl Tool for Canvas {
    type Params = Params;
    type Output = ToolOutput;

    fn describe(&self) -> ToolDefinition {
        let mut definition = ToolDefinition::for_tool::<Self>();
        if !self.is_offered {
            definition.absent = Some(AbsentTool {
                why: "no server runs this conversation, so there is no page to show it on".into(),
                advice: "start `haft serve`, open its page, and talk to the agent there".into(),
            });
        }
        definition
    }

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        let plan = cx.canvas()?;
        match params.action {
            CanvasAction::Present | CanvasAction::Navigate => match params.target()? {
                Some(CanvasTarget::File(path)) => Ok(plan.read(cx.locate(&path)?)),
                Some(CanvasTarget::Web(url)) => Ok(plan.connect(cx.connect("GET", &url)?)),
                None => Ok(plan),
            },
            CanvasAction::Eval => params.script().map(|_| plan),
            CanvasAction::A2uiPush => match (&params.jsonl, &params.jsonl_path) {
                (Some(lines), None) => a2ui::messages(lines).map(|_| plan),
                (None, Some(path)) => Ok(plan.read(cx.locate(path)?)),
                _ => Err(ToolError::validation("Give 'jsonl' or 'jsonl_path', for the action 'a2ui_push'.")),
            },
            CanvasAction::Hide | CanvasAction::Snapshot | CanvasAction::A2uiReset => Ok(plan),
        }
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let done = |text: &str| Ok(ToolOutput::text(text).with_details(json!({"ok": true, "action": params.action})));
        match params.action {
            CanvasAction::Present | CanvasAction::Navigate => {
                let document = match params.target()? {
                    Some(target) => Some(document::load(&target, cx).await?),
                    None => None,
                };
                let shown = document
                    .as_ref()
                    .map_or("The canvas is shown.".to_owned(), |document| format!("The canvas shows {}.", document.source));
                let answer = cx.canvas().perform(CanvasCommand::Present(document), PATIENCE).await?;
                done(&with_note(shown, &answer))
            }
            CanvasAction::Hide => cx.canvas().perform(CanvasCommand::Hide, PATIENCE).await.and_then(|_| done("The canvas is hidden.")),
            CanvasAction::Eval => {
                let value = cx.canvas().perform(CanvasCommand::Eval(params.script()?.to_owned()), PATIENCE).await?;
                let text = value["value"].as_str().unwrap_or_default();
                Ok(ToolOutput::text(untrusted::wrap("what the script in the canvas returned", text)).with_details(json!({"ok": true})))
            }
            CanvasAction::Snapshot => snapshot(&params, cx).await,
            CanvasAction::A2uiPush => {
                let messages = pushed(&params, cx).await?;
                let count = haft_text::numbers::count(messages.len(), "message");
                let answer = cx.canvas().perform(CanvasCommand::Push(messages), PATIENCE).await?;
                done(&with_note(format!("{count} of A2UI went to the canvas."), &answer))
            }
            CanvasAction::A2uiReset => {
                cx.canvas().perform(CanvasCommand::Reset, PATIENCE).await.and_then(|_| done("Everything that was pushed is removed."))
            }
        }
    }
}

async fn pushed(params: &Params, cx: &ToolContext) -> Result<Vec<Value>, ToolError> {
    match (&params.jsonl, &params.jsonl_path) {
        (Some(lines), _) => a2ui::messages(lines),
        (None, Some(path)) => a2ui::messages(&document::text_file(path, a2ui::MOST_BYTES, cx).await?),
        (None, None) => Ok(Vec::new()),
    }
}

/// What the page adds, such as that it shows another session.
fn with_note(text: String, answer: &Value) -> String {
    match answer["note"].as_str() {
        Some(note) => text + " " + note,
        None => text,
    }
}

async fn snapshot(params: &Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let delay = Duration::from_millis(params.delay_ms.unwrap_or(0).min(LONGEST_DELAY));
    tokio::select! {
        () = tokio::time::sleep(delay) => {}
        () = cx.cancelled() => {}
    }
    let mime = if params.output_format == Some(SnapshotType::Jpg) { "image/jpeg" } else { "image/png" };
    let command = CanvasCommand::Snapshot {
        mime,
        max_width: params.max_width.unwrap_or(1200).clamp(50, 2000),
        quality: params.quality.unwrap_or(80).clamp(1, 100),
    };
    let answer = cx.canvas().perform(command, PATIENCE).await?;
    let Some(data) = answer["data"].as_str().and_then(base64::decode_lenient) else {
        let why = answer["missing"].as_str().unwrap_or("the page did not draw it");
        return Err(ToolError::execution(format!("There is no picture of the canvas: {why}.")));
    };
    image_result(
        "Canvas, drawn by its own frame from its layout (texts, boxes and pictures; not every style)",
        data,
        ImageLimits::default().side(2000),
    )
    .await
}
