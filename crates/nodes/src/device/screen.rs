use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{Content, DocumentBody, EmbeddedDocument, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{DeviceSettings, capture, plan};

/// The longest film, in milliseconds.
const MAX_MS: u64 = 300_000;
/// Time beyond that of the film.
const EXTRA: Duration = Duration::from_secs(30);

/// Record the screen of this machine as a film.
#[derive(Debug, ToolMeta)]
#[tool(name = "screen_record", label = "Record screen", section = Nodes, category = Io, access = ReadOnly, timeout_secs = 360, rules = Node)]
pub(super) struct ScreenRecord(pub(super) Arc<DeviceSettings>);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct RecordParams {
    /// How long, in milliseconds, at most 300000. Defaults to 10000.
    duration_ms: Option<u64>,
    /// Pictures in a second, 1 to 30. Defaults to 10.
    fps: Option<u32>,
    /// Which screen, counted from 0. Defaults to 0.
    screen_index: Option<u32>,
}

impl Tool for ScreenRecord {
    type Params = RecordParams;
    type Output = ToolOutput;

    fn plan(&self, params: &RecordParams, _cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        plan(self.0.screen, "node.screen", "screen_record", &params.screen_index.unwrap_or(0).to_string())
    }

    async fn execute(&self, params: RecordParams, _cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let length = Duration::from_millis(params.duration_ms.unwrap_or(10_000).clamp(100, MAX_MS));
        let seconds = format!("{:.3}", length.as_secs_f64());
        let fps = params.fps.unwrap_or(10).clamp(1, 30).to_string();
        let display = display(params.screen_index.unwrap_or(0))?;
        let absent = || ToolError::execution("This machine has no program that records the screen: install ffmpeg.");
        let ffmpeg = capture::installed(&["ffmpeg"]).ok_or_else(absent)?;
        // A film in fragments can be written to a pipe.
        let words = [
            "-loglevel",
            "error",
            "-f",
            "x11grab",
            "-framerate",
            &fps,
            "-t",
            &seconds,
            "-i",
            &display,
            "-c:v",
            "libx264",
            "-preset",
            "veryfast",
            "-pix_fmt",
            "yuv420p",
            "-vf",
            "pad=ceil(iw/2)*2:ceil(ih/2)*2",
            "-movflags",
            "frag_keyframe+empty_moov",
            "-f",
            "mp4",
            "-",
        ];
        let data = capture::run(&ffmpeg, &words.map(str::to_owned), &[], length + EXTRA).await?;
        let mut output = ToolOutput::text(format!("{seconds} seconds of the screen {display}."));
        let film = EmbeddedDocument { uri: "screen.mp4".into(), mime: Some("video/mp4".into()), body: DocumentBody::Bytes(data) };
        output.content.push(Content::Document(film));
        Ok(output)
    }
}

/// The X11 display to record, or why there is none.
fn display(index: u32) -> Result<String, ToolError> {
    let named = std::env::var("DISPLAY").ok().filter(|display| !display.is_empty());
    let Some(display) = named else {
        let is_wayland = std::env::var_os("WAYLAND_DISPLAY").is_some();
        let why = if is_wayland {
            "This machine shows its screen by Wayland, which lets no program record it unasked."
        } else if Path::new("/tmp/.X11-unix").exists() {
            "This machine has a screen, and haft node run does not know it: start it with DISPLAY set."
        } else {
            "This machine has no screen."
        };
        return Err(ToolError::execution(why));
    };
    let base = display
        .rsplit_once('.')
        .filter(|(_, screen)| screen.chars().all(|ch| ch.is_ascii_digit()))
        .map_or(display.as_str(), |(base, _)| base);
    Ok(format!("{base}.{index}"))
}
