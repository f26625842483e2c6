use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{Content, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{DeviceSettings, capture, plan};

const KEY: &str = "node.camera";
const LIMIT: Duration = Duration::from_secs(30);
/// The longest delay before a picture.
const MAX_DELAY_MS: u64 = 10_000;

/// Take a picture with a camera of this machine.
#[derive(Debug, ToolMeta)]
#[tool(name = "camera_snap", label = "Take picture", section = Nodes, category = Io, access = ReadOnly, timeout_secs = 60, rules = Node)]
pub(super) struct CameraSnap(pub(super) Arc<DeviceSettings>);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SnapParams {
    /// The camera, as camera_list names it. Defaults to the first.
    #[serde(default)]
    device: String,
    /// The largest width, in pixels. Defaults to 1600.
    max_width: Option<u32>,
    /// Milliseconds to wait before. Defaults to 0.
    delay_ms: Option<u64>,
}

impl Tool for CameraSnap {
    type Params = SnapParams;
    type Output = ToolOutput;

    fn plan(&self, params: &SnapParams, _cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        plan(self.0.camera, KEY, "camera_snap", params.device.trim())
    }

    async fn execute(&self, params: SnapParams, _cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let device = choose_device(params.device.trim())?;
        let absent = || ToolError::execution("This machine has no program that takes pictures: install ffmpeg.");
        let ffmpeg = capture::installed(&["ffmpeg"]).ok_or_else(absent)?;
        tokio::time::sleep(Duration::from_millis(params.delay_ms.unwrap_or(0).min(MAX_DELAY_MS))).await;
        let width = params.max_width.unwrap_or(1600).clamp(16, 4096);
        let input = device.to_string_lossy().into_owned();
        let scale = format!("scale='min({width},iw)':-2");
        let words =
            ["-loglevel", "error", "-f", "v4l2", "-i", &input, "-frames:v", "1", "-vf", &scale, "-f", "image2pipe", "-c:v", "mjpeg", "-"];
        let data = capture::run(&ffmpeg, &words.map(str::to_owned), &[], LIMIT).await?;
        let mut output = ToolOutput::text(format!("A picture of {input}."));
        output.content.push(Content::Image { mime: "image/jpeg".into(), data });
        Ok(output)
    }
}

/// List the cameras of this machine.
#[derive(Debug, ToolMeta)]
#[tool(name = "camera_list", label = "List cameras", section = Nodes, category = Io, access = ReadOnly, timeout_secs = 10, rules = Node, read_only)]
pub(super) struct CameraList(pub(super) Arc<DeviceSettings>);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ListParams {}

impl Tool for CameraList {
    type Params = ListParams;
    type Output = ToolOutput;

    fn plan(&self, _: &ListParams, _cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        plan(self.0.camera, KEY, "camera_list", "")
    }

    async fn execute(&self, _: ListParams, _cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let cameras = cameras();
        if cameras.is_empty() {
            return Ok(ToolOutput::text(NO_CAMERA).with_details(json!({"cameras": []})));
        }
        let lines: Vec<String> = cameras.iter().map(|(device, name)| format!("{}: {name}", device.display())).collect();
        let details = cameras.iter().map(|(device, name)| json!({"device": device, "name": name})).collect::<Vec<_>>();
        Ok(ToolOutput::text(lines.join("\n")).with_details(json!({"cameras": details})))
    }
}

const NO_CAMERA: &str = "This machine has no camera.";

/// The cameras that Video4Linux knows, each with its name.
fn cameras() -> Vec<(PathBuf, String)> {
    let Ok(entries) = std::fs::read_dir("/sys/class/video4linux") else { return Vec::new() };
    let mut cameras: Vec<(PathBuf, String)> = entries
        .flatten()
        // A camera has more nodes than one; the first of each gives pictures.
        .filter(|entry| std::fs::read_to_string(entry.path().join("index")).is_ok_and(|index| index.trim() == "0"))
        .map(|entry| {
            let name = std::fs::read_to_string(entry.path().join("name")).unwrap_or_default();
            (PathBuf::from("/dev").join(entry.file_name()), name.trim().to_owned())
        })
        .collect();
    cameras.sort();
    cameras
}

fn choose_device(wanted: &str) -> Result<PathBuf, ToolError> {
    let cameras = cameras();
    let found = if wanted.is_empty() { cameras.first() } else { cameras.iter().find(|(device, _)| device.as_os_str() == wanted) };
    match found {
        Some((device, _)) => Ok(device.clone()),
        None if cameras.is_empty() => Err(ToolError::execution(NO_CAMERA)),
        None => Err(ToolError::validation("This machine has no such camera: camera_list names those that it has.")),
    }
}
