mod attachment;

use std::path::PathBuf;
use std::time::Duration;

use haft_contract::{
    Dialect, Form, FormParameter, Plan, PlanContext, SandboxDemand, StartedAgent, StoredAttachment, SubAgentRequest, ThinkingLevel, Tool,
    ToolContext, ToolError, ToolOutput,
};
use haft_macros::ToolMeta;
use haft_text::display;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::attachment::{AttachAs, SpawnAttachment};
use super::agent::started_text;
use crate::shared::sub_agents;

/// How many tools of a sub-agent the answer names.
const LISTED_TOOLS: usize = 60;

/// Start a sub-agent in the background. Its answer comes to you as a message: do not poll for it. It works in a conversation of its own
/// with at most your rights. 'subagents' lists, steers and ends those that run. If you need the answer before you continue, use 'agent'.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "Start a sub-agent",
    section = Sessions,
    category = System,
    access = ReadOnly,
    timeout_secs = 60,
    rules = Spawn,
    forms = FORMS,
    profiles = ["coding"],
    open_world
)]
pub(crate) struct SessionsSpawn;

pub(crate) const FORMS: &[Form] = &[Form::new(Dialect::OpenClaw, "sessions_spawn").parameters(&[
    FormParameter::new("agentId", "agent_id"),
    FormParameter::new("agentType", "agent_type"),
    FormParameter::new("runTimeoutSeconds", "run_timeout_seconds"),
    FormParameter::new("attachAs", "attach_as"),
])];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Cleanup {
    #[default]
    Keep,
    Delete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SpawnMode {
    Run,
    Session,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SandboxChoice {
    #[default]
    Inherit,
    Require,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The task, with everything that it must know: it sees nothing of this conversation.
    #[schemars(extend("x-aliases" = ["prompt"], "x-verbatim" = true))]
    task: String,
    /// A label to find it by. Defaults to the beginning of the task.
    label: Option<String>,
    /// The configured agent to run as. Defaults to yours; agents_list shows them.
    agent_id: Option<String>,
    /// The type, such as 'explore'. Defaults to 'general-purpose'.
    #[schemars(extend("x-aliases" = ["subagent_type"]))]
    agent_type: Option<String>,
    /// Another model than yours, as provider/model.
    #[schemars(extend("x-rare" = true))]
    model: Option<String>,
    /// How much its model thinks: 'off', 'minimal', 'low', 'medium', 'high' or 'xhigh'. Defaults to what its provider does.
    #[schemars(extend("x-rare" = true))]
    thinking: Option<String>,
    /// What runs it. Only 'subagent', the default.
    #[schemars(extend("x-rare" = true))]
    runtime: Option<String>,
    /// The folder of the workspace that its commands start in. Defaults to the workspace.
    #[schemars(extend("x-rare" = true, "x-aliases" = ["workdir"]))]
    cwd: Option<PathBuf>,
    /// How many seconds it may take; 0 for as long as the user configured. Defaults to 0.
    #[schemars(extend("x-rare" = true, "x-aliases" = ["timeout_seconds"]))]
    run_timeout_seconds: Option<u64>,
    /// Keep it open after its answer: a message with sessions_send or subagents (action=steer) continues it. Defaults to false.
    #[serde(default)]
    #[schemars(extend("x-rare" = true))]
    thread: bool,
    /// 'run' answers once; 'session' stays open and needs thread=true. Defaults to 'session' with thread=true, else to 'run'.
    #[schemars(extend("x-rare" = true))]
    mode: Option<SpawnMode>,
    /// 'keep' (the default) keeps its conversation; 'delete' removes it when it is done, unless it stays open.
    #[serde(default)]
    #[schemars(extend("x-rare" = true))]
    cleanup: Cleanup,
    /// 'require' runs its commands in the sandbox or not at all. Defaults to 'inherit': as yours.
    #[serde(default)]
    #[schemars(extend("x-rare" = true))]
    sandbox: SandboxChoice,
    /// Files that it can read, at most 50, each of 1 MiB, and 5 MiB together. Files of the workspace it can read anyway.
    #[schemars(extend("x-rare" = true))]
    attachments: Option<Vec<SpawnAttachment>>,
    /// What the task calls the folder of its attachments; a hint only.
    #[schemars(extend("x-rare" = true))]
    attach_as: Option<AttachAs>,
}

impl Params {
    fn mode(&self) -> Result<SpawnMode, ToolError> {
        match self.mode {
            Some(SpawnMode::Session) if !self.thread => Err(ToolError::validation(
                "mode='session' needs thread=true, because messages continue such a sub-agent. Add it, or leave 'mode' out.",
            )),
            Some(mode) => Ok(mode),
            None => Ok(if self.thread { SpawnMode::Session } else { SpawnMode::Run }),
        }
    }

    fn thinking(&self) -> Result<Option<ThinkingLevel>, ToolError> {
        let Some(level) = self.thinking.as_deref().map(str::trim).filter(|level| !level.is_empty()) else { return Ok(None) };
        let unknown = |_| {
            let levels = ThinkingLevel::NAMES.join(", ");
            ToolError::validation(format!("There is no thinking level '{}'. Levels are: {levels}.", display::shorten(level, 40)))
        };
        level.to_ascii_lowercase().parse().map(Some).map_err(unknown)
    }

    fn check_runtime(&self) -> Result<(), ToolError> {
        let runtime = self.runtime.as_deref().map_or("subagent", str::trim);
        if runtime.eq_ignore_ascii_case("subagent") || runtime.is_empty() {
            return Ok(());
        }
        Err(ToolError::validation(format!(
            "The runtime '{}' is not available: sub-agents run in Haft alone, and agents of other programs (acp) are not started. Leave \
             'runtime' out, or run the other program with exec.",
            display::shorten(runtime, 40)
        )))
    }

    fn request(&self) -> Result<SubAgentRequest, ToolError> {
        self.check_runtime()?;
        let is_open = self.mode()? == SpawnMode::Session;
        Ok(SubAgentRequest {
            task: self.task.clone(),
            label: self.label.clone(),
            agent_type: self.agent_type.clone(),
            agent: self.agent_id.clone(),
            model: self.model.clone(),
            timeout: self.run_timeout_seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs),
            background: true,
            forget: self.cleanup == Cleanup::Delete && !is_open,
            is_open,
            sandbox: if self.sandbox == SandboxChoice::Require { SandboxDemand::Require } else { SandboxDemand::Inherit },
            attachments: attachment::decode_all(self.attachments.as_deref().unwrap_or_default())?,
            attached_as: self.attach_as.as_ref().map_or(Ok(None), AttachAs::folder)?,
            cwd: self.cwd.clone().filter(|folder| !folder.as_os_str().is_empty()),
            thinking: self.thinking()?,
        })
    }
}

impl Tool for SessionsSpawn {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        cx.sub_agent(&params.request()?)
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let mode = params.mode()?;
        let StartedAgent { status, attachments, tools } = cx.sub_agents().spawn(params.request()?).await?;
        let stays = if mode == SpawnMode::Session { " After its answer it stays open: a message continues it." } else { "" };
        let mut details = sub_agents::details(&status, cx.clock().now());
        details["mode"] = json!(mode);
        if !attachments.is_empty() {
            details["attachments"] = attachments.iter().map(receipt).collect();
        }
        details["tools"] = json!(tools);
        let files: Vec<String> = attachments.iter().map(in_words).collect();
        let files = if files.is_empty() { String::new() } else { format!(" It can read: {}.", files.join(", ")) };
        Ok(ToolOutput::text(started_text(&status) + stays + &files + &tools_in_words(&tools)).with_details(details))
    }
}

/// What it may use: a parent that knows does not wait for work that cannot be done.
fn tools_in_words(tools: &[String]) -> String {
    if tools.is_empty() {
        return " It has no tools: its type, its agent and your own rights leave none.".to_owned();
    }
    let rest = tools.len().saturating_sub(LISTED_TOOLS);
    let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    format!(" Its tools: {}{more}.", tools[..tools.len() - rest].join(", "))
}

fn in_words(file: &StoredAttachment) -> String {
    format!("{} ({} bytes, sha256 {})", file.name, file.bytes, file.sha256)
}

/// What was stored of an attachment.
fn receipt(file: &StoredAttachment) -> Value {
    json!({"name": file.name, "bytes": file.bytes, "sha256": file.sha256, "mime_type": file.mime_type})
}
