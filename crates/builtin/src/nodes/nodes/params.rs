//! The parameters of the tool for nodes, and the call that each action makes there.

use std::path::PathBuf;
use std::time::Duration;

use haft_contract::ports::NodeSummary;
use haft_contract::{CommandRequest, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::command::run;

/// How long a call on a node may take, unless it says otherwise.
const DEFAULT_SECONDS: u64 = 120;
/// Time for the way there and back, beyond that of the command.
const WAY: Duration = Duration::from_secs(10);
/// The longest film.
const MAX_FILM_MS: u64 = 300_000;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// What to do. 'run' needs command; 'read', 'write' and 'list' need path; 'notify' needs body; 'invoke' needs invoke_command.
    pub(super) action: NodeAction,
    /// The node: its name, its id, or the first 6 or more characters of either. Defaults to the only one.
    node: Option<String>,
    /// For 'run': the shell command.
    #[schemars(extend("x-verbatim" = true))]
    command: Option<String>,
    /// For 'run': the directory, relative to the node's folder.
    #[schemars(extend("x-aliases" = ["workdir"]))]
    cwd: Option<PathBuf>,
    /// For 'run': environment variables.
    #[schemars(extend("x-rare" = true))]
    env: Option<Map<String, Value>>,
    /// For 'run': timeout in seconds. Defaults to 120.
    timeout: Option<f64>,
    /// For 'read', 'write', 'list': the path, relative to the node's folder.
    path: Option<String>,
    /// For 'write': the new content.
    #[schemars(extend("x-verbatim" = true))]
    content: Option<String>,
    /// For 'read': the first line, counted from 1.
    offset: Option<u64>,
    /// For 'read': how many lines.
    limit: Option<u64>,
    /// For 'notify': the title.
    title: Option<String>,
    /// For 'notify': the text.
    #[schemars(extend("x-aliases" = ["message"]))]
    body: Option<String>,
    /// For 'notify': 'passive', 'active' or 'timeSensitive'. Defaults to 'active'.
    #[schemars(extend("x-rare" = true))]
    priority: Option<String>,
    /// For 'camera_snap': the camera, as 'camera_list' names it.
    #[schemars(extend("x-rare" = true))]
    device_id: Option<String>,
    /// For 'camera_snap': the largest width. Defaults to 1600.
    #[schemars(extend("x-rare" = true))]
    max_width: Option<u32>,
    /// For 'camera_snap': milliseconds to wait before.
    #[schemars(extend("x-rare" = true))]
    delay_ms: Option<u64>,
    /// For 'screen_record': how long, at most 300000. Defaults to 10000.
    duration_ms: Option<u64>,
    /// For 'screen_record': pictures in a second. Defaults to 10.
    #[schemars(extend("x-rare" = true))]
    fps: Option<u32>,
    /// For 'screen_record': which screen, from 0.
    #[schemars(extend("x-rare" = true))]
    screen_index: Option<u32>,
    /// For 'screen_record': where to save the film in the workspace here.
    out_path: Option<String>,
    /// For 'invoke': the command that the node's user declared.
    invoke_command: Option<String>,
    /// For 'invoke': its parameters, as JSON.
    #[schemars(extend("x-verbatim" = true))]
    invoke_params_json: Option<String>,
    /// For 'reject': the id that 'pending' shows.
    #[schemars(extend("x-rare" = true))]
    request_id: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NodeAction {
    Status,
    Describe,
    Pending,
    Approve,
    Reject,
    Run,
    Read,
    Write,
    List,
    Notify,
    CameraSnap,
    CameraList,
    ScreenRecord,
    LocationGet,
    DeviceStatus,
    DeviceInfo,
    Invoke,
}

impl NodeAction {
    /// The word that rules know it by.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Describe => "describe",
            Self::Pending => "pending",
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Run => "exec",
            Self::Read => "read",
            Self::Write => "write",
            Self::List => "list",
            Self::Notify => "notify",
            Self::CameraSnap => "camera_snap",
            Self::CameraList => "camera_list",
            Self::ScreenRecord => "screen_record",
            Self::LocationGet => "location_get",
            Self::DeviceStatus => "device_status",
            Self::DeviceInfo => "device_info",
            Self::Invoke => "invoke",
        }
    }
}

fn non_blank(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.trim().is_empty())
}

fn missing(parameter: &str, what: &str) -> ToolError {
    ToolError::validation(format!("Missing required parameter: '{parameter}'. Give {what}."))
}

impl Params {
    pub(super) fn node(&self) -> &str {
        self.node.as_deref().unwrap_or_default()
    }

    pub(super) fn request_id(&self) -> Result<&str, ToolError> {
        non_blank(self.request_id.as_ref()).map(str::trim).ok_or_else(|| missing("request_id", "the id that 'pending' shows"))
    }

    /// Refuses calls that lack what their action needs.
    pub(super) fn check(&self) -> Result<(), ToolError> {
        self.timeout()?;
        match self.action {
            NodeAction::Run => self.command_request().map(drop),
            NodeAction::ScreenRecord if self.out_path().is_none() => {
                Err(missing("out_path", "where to save the film, such as 'screen.mp4'"))
            }
            NodeAction::ScreenRecord if self.duration_ms.is_some_and(|length| length > MAX_FILM_MS) => {
                Err(ToolError::validation(format!("Parameter 'duration_ms' is at most {MAX_FILM_MS}.")))
            }
            _ => self.remote_call().map(drop),
        }
    }

    /// What the effect names.
    pub(super) fn target(&self, node: &NodeSummary) -> String {
        let target = match self.action {
            NodeAction::Read | NodeAction::Write | NodeAction::List => return node.path(self.path.as_deref().unwrap_or_default()),
            NodeAction::CameraSnap => self.device_id.as_deref(),
            NodeAction::ScreenRecord => return self.screen_index.unwrap_or(0).to_string(),
            NodeAction::Invoke => self.invoke_command.as_deref(),
            _ => None,
        };
        target.unwrap_or_default().trim().to_owned()
    }

    /// Where a film is saved.
    pub(super) fn out_path(&self) -> Option<&str> {
        non_blank(self.out_path.as_ref()).filter(|_| self.action == NodeAction::ScreenRecord)
    }

    pub(super) fn command_request(&self) -> Result<CommandRequest, ToolError> {
        let command = non_blank(self.command.as_ref()).ok_or_else(|| missing("command", "a shell command, such as 'ls -l'"))?;
        Ok(CommandRequest { command: command.to_owned(), directory: self.cwd.clone(), ..CommandRequest::default() })
    }

    /// How long the call may take, the way included.
    pub(super) fn timeout(&self) -> Result<Duration, ToolError> {
        let film = Duration::from_millis(self.duration_ms.unwrap_or(10_000).min(MAX_FILM_MS));
        let default = Duration::from_secs(DEFAULT_SECONDS);
        let own = match self.timeout {
            Some(_) => run::timeout(self.timeout, false)?.unwrap_or(default),
            None if self.action == NodeAction::ScreenRecord => film + default,
            None => default,
        };
        Ok(own + WAY)
    }

    /// The tool of the node and its arguments.
    pub(super) fn remote_call(&self) -> Result<(&'static str, Value), ToolError> {
        let path = || non_blank(self.path.as_ref()).ok_or_else(|| missing("path", "a path on the node"));
        Ok(match self.action {
            NodeAction::Run => {
                let seconds = self.timeout()?.saturating_sub(WAY).as_secs_f64();
                ("exec", compact(json!({"command": self.command, "workdir": self.cwd, "env": self.env, "timeout": seconds})))
            }
            NodeAction::Read => ("read_file", compact(json!({"path": path()?, "offset": self.offset, "limit": self.limit, "again": true}))),
            NodeAction::Write => {
                let content = self.content.as_ref().ok_or_else(|| missing("content", "the new content of the file"))?;
                ("write_file", json!({"path": path()?, "content": content}))
            }
            NodeAction::List => ("glob_search", json!({"pattern": "*", "path": non_blank(self.path.as_ref()).unwrap_or(".")})),
            NodeAction::Notify => ("notify", json!({"message": self.notice()?, "urgency": self.urgency()?})),
            NodeAction::CameraSnap => {
                let device = self.device_id.as_deref().unwrap_or_default().trim();
                ("camera_snap", compact(json!({"device": device, "max_width": self.max_width, "delay_ms": self.delay_ms})))
            }
            NodeAction::CameraList => ("camera_list", json!({})),
            NodeAction::ScreenRecord => {
                let index = self.screen_index;
                ("screen_record", compact(json!({"duration_ms": self.duration_ms, "fps": self.fps, "screen_index": index})))
            }
            NodeAction::LocationGet => ("location_get", json!({})),
            NodeAction::DeviceStatus | NodeAction::DeviceInfo => ("system_info", json!({})),
            NodeAction::Invoke => {
                let command =
                    non_blank(self.invoke_command.as_ref()).ok_or_else(|| missing("invoke_command", "a command that the node declares"))?;
                ("node_invoke", compact(json!({"command": command.trim(), "input": self.invoke_params_json})))
            }
            _ => return Err(ToolError::validation("This action makes no call on a node.")),
        })
    }

    fn notice(&self) -> Result<String, ToolError> {
        match (non_blank(self.title.as_ref()), non_blank(self.body.as_ref())) {
            (Some(title), Some(body)) => Ok(format!("{title}: {body}")),
            (Some(text), None) | (None, Some(text)) => Ok(text.to_owned()),
            (None, None) => Err(missing("body", "the text of the notification")),
        }
    }

    fn urgency(&self) -> Result<&'static str, ToolError> {
        match self.priority.as_deref().unwrap_or("active") {
            "passive" => Ok("low"),
            "active" => Ok("normal"),
            "timeSensitive" | "time_sensitive" => Ok("high"),
            other => {
                let other = crate::shared::brief(other);
                Err(ToolError::validation(format!("Parameter 'priority' is '{other}'; use 'passive', 'active' or 'timeSensitive'.")))
            }
        }
    }
}

/// Without what was not given.
fn compact(mut arguments: Value) -> Value {
    if let Some(map) = arguments.as_object_mut() {
        map.retain(|_, value| !value.is_null());
    }
    arguments
}
