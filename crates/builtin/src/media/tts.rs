mod audio;
mod espeak;
mod speaking;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use haft_contract::ports::{AudioFormat, SpeechHost};
use haft_contract::{AbsentTool, ErrorKind, Plan, PlanContext, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, WriteMode};
use haft_macros::ToolMeta;
use haft_text::numbers;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use self::speaking::{Speaking, SpokenText};

/// Turn text into speech, as a sound file in the workspace: a voice message for chats that have those, otherwise mp3 or wav. Returns its path,
/// for the attachments of the tool message. At most 4096 characters.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "Text to speech",
    section = Media,
    category = Io,
    access = WorkspaceWrite,
    timeout_secs = 60,
    rules = Write,
    open_world
)]
pub(crate) struct Tts {
    /// Why nothing speaks here; then it is not offered.
    fault: Option<String>,
    is_offered: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The text to speak, at most 4096 characters.
    #[schemars(extend("x-verbatim" = true))]
    text: String,
    /// The channel that it is for, which decides on the format: telegram gets a voice message.
    channel: Option<String>,
    /// The voice, as the engine names it. Defaults to the configured one.
    voice: Option<String>,
    /// Path of the file, ending with .mp3, .wav or .ogg. Defaults to a new name in the folder speech.
    #[schemars(extend("x-aliases" = ["out_path", "output", "file"]))]
    path: Option<String>,
}

impl Tts {
    /// Where nobody has said that something speaks: it is not offered.
    pub(crate) const fn new() -> Self {
        Self { fault: None, is_offered: false }
    }

    /// Offered, unless there is a fault.
    pub(crate) fn with(fault: Option<String>) -> Self {
        Self { is_offered: fault.is_none(), fault }
    }
}

impl Tool for Tts {
    type Params = Params;
    type Output = ToolOutput;

    fn describe(&self) -> ToolDefinition {
        let mut definition = ToolDefinition::for_tool::<Self>();
        if !self.is_offered {
            let why = self.fault.clone().map_or(Cow::Borrowed("nothing speaks here"), Cow::Owned);
            let advice = "install espeak-ng (apt-get install espeak-ng), or set tts.engines in your config.toml; see docs/MEDIA.md".into();
            definition.absent = Some(AbsentTool { why, advice });
        }
        definition
    }

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        let text = SpokenText::parse(&params.text)?;
        let mut plan = Plan::nothing();
        let mut refusal = None;
        let mut paths: Vec<String> = Vec::new();
        for Speaking { engine, path, .. } in speaking::ways(params, &text, cx.speech_engines()?)? {
            plan = match &engine.host {
                SpeechHost::Service(address) => plan.connect(address.clone()),
                SpeechHost::Espeak => match espeak::planned(&text, params.voice.as_deref().or(engine.voice.as_deref()), cx) {
                    Ok(command) => plan.command(command),
                    Err(error) => {
                        refusal = Some(error);
                        continue;
                    }
                },
            };
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        match refusal {
            Some(refusal) if paths.is_empty() => Err(refusal),
            _ => paths.iter().try_fold(plan, |plan, path| Ok(plan.write(cx.locate(path)?))),
        }
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let text = SpokenText::parse(&params.text)?;
        let mut attempts = Vec::new();
        for way in speaking::ways(&params, &text, cx.media().speech_engines()?)? {
            match way.speak(&text, cx).await.and_then(|audio| audio::checked(audio, way.format)) {
                Ok(audio) => {
                    attempts.push(json!({"engine": way.engine.name}));
                    return saved(&way, audio, &attempts, cx).await;
                }
                Err(error) if error.kind() == ErrorKind::Cancelled || cx.is_cancelled() => return Err(error),
                Err(error) => attempts.push(json!({"engine": way.engine.name, "error": error.message()})),
            }
        }
        let failures: Vec<String> =
            attempts.iter().filter_map(|one| Some(format!("{}: {}", one["engine"].as_str()?, one["error"].as_str()?))).collect();
        let message = format!("Nothing was spoken, and no file was written. {}", failures.join(" "));
        Err(ToolError::execution(message).with_details(json!({"attempts": attempts})))
    }
}

async fn saved(way: &Speaking, audio: Vec<u8>, attempts: &[serde_json::Value], cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let (size, seconds, path, format) = (audio.len(), audio::seconds(&audio), &way.path, way.format);
    cx.fs().write(path, audio, WriteMode::Overwrite).await?;
    let is_voice = format == AudioFormat::Opus;
    let length = seconds.map(|seconds| format!(", {seconds:.1} s")).unwrap_or_default();
    let kind = if is_voice { "voice message" } else { format.as_str() };
    let text = format!("Saved {} of speech ({kind}{length}, by {}) to {path}.", numbers::size(size as u64), way.engine.name);
    let details = json!({
        "path": path,
        "engine": way.engine.name,
        "format": format.as_str(),
        "mime": format.mime(),
        "bytes": size,
        "seconds": seconds,
        "voice_message": is_voice,
        "attempts": attempts,
    });
    Ok(ToolOutput::text(text).with_details(details))
}
