//! What is spoken, by whom, in which format, and into which file.

use std::hash::{DefaultHasher, Hash, Hasher};

use haft_contract::ports::{AudioFormat, SpeechEngine, SpeechHost, SpeechRequest};
use haft_contract::{ToolContext, ToolError};

use super::{Params, espeak};
use crate::shared::brief;

const MOST_CHARS: usize = 4096;
const FOLDER: &str = "speech";
/// Chats that show Opus as a voice message.
const VOICE_CHANNELS: [&str; 4] = ["telegram", "whatsapp", "signal", "matrix"];

/// A text without what no voice can speak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpokenText(String);

impl SpokenText {
    /// The text, unless it is too long or says nothing.
    pub(super) fn parse(text: &str) -> Result<Self, ToolError> {
        // A long text is not counted to its end.
        let mut rest = text.chars();
        let chars = rest.by_ref().take(MOST_CHARS).count();
        if rest.next().is_some() {
            let most = MOST_CHARS;
            let message = format!("Parameter 'text' is longer than {most} characters. Shorten it, or speak it in parts of at most {most}.");
            return Err(ToolError::validation(message));
        }
        let spoken: String = text.chars().map(|ch| if ch.is_whitespace() { ' ' } else { ch }).filter(|ch| !is_silent(*ch)).collect();
        let spoken = spoken.trim();
        if !spoken.chars().any(char::is_alphanumeric) {
            let what = if chars == 0 { "is empty" } else { "has no letter and no number" };
            return Err(ToolError::validation(format!("Parameter 'text' {what}: there is nothing to speak.")));
        }
        Ok(Self(spoken.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Control characters, and those that are not seen.
fn is_silent(ch: char) -> bool {
    ch.is_control() || haft_text::display::is_hidden(ch)
}

/// One way to speak the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Speaking {
    pub(super) engine: SpeechEngine,
    pub(super) voice: Option<String>,
    pub(super) format: AudioFormat,
    pub(super) path: String,
}

impl Speaking {
    pub(super) async fn speak(&self, text: &SpokenText, cx: &ToolContext) -> Result<Vec<u8>, ToolError> {
        match self.engine.host {
            SpeechHost::Espeak => espeak::speak(cx).await,
            SpeechHost::Service(_) => {
                let request = SpeechRequest { text: text.0.clone(), voice: self.voice.clone(), format: self.format };
                cx.media().speak(&self.engine, &request).await
            }
        }
    }
}

/// The ways to speak, in the order in which they are tried.
pub(super) fn ways(params: &Params, text: &SpokenText, engines: Vec<SpeechEngine>) -> Result<Vec<Speaking>, ToolError> {
    let voice = params.voice.as_deref().map(checked_voice).transpose()?;
    let wanted = params.path.as_deref().map(format_of).transpose()?;
    let names: Vec<String> = engines.iter().map(|engine| engine.name.clone()).collect();
    let ways: Vec<Speaking> = engines
        .into_iter()
        .filter_map(|engine| {
            let format = wanted
                .map_or_else(|| Some(usual_format(&engine, params.channel.as_deref())), |wanted| engine.speaks(wanted).then_some(wanted))?;
            let path = params.path.clone().unwrap_or_else(|| file_name(text, voice, format));
            let voice = voice.map(str::to_owned).or_else(|| engine.voice.clone());
            Some(Speaking { engine, voice, format, path })
        })
        .collect();
    if ways.is_empty() {
        let wanted = wanted.map_or("any format", AudioFormat::as_str);
        let message = format!("Nothing here speaks {wanted}: {} can not. espeak-ng writes .wav.", names.join(", "));
        return Err(ToolError::validation(message));
    }
    Ok(ways)
}

fn usual_format(engine: &SpeechEngine, channel: Option<&str>) -> AudioFormat {
    let is_voice = channel.is_some_and(|channel| VOICE_CHANNELS.iter().any(|known| channel.trim().eq_ignore_ascii_case(known)));
    let wanted = if is_voice { AudioFormat::Opus } else { AudioFormat::Mp3 };
    if engine.speaks(wanted) { wanted } else { AudioFormat::Wav }
}

fn format_of(path: &str) -> Result<AudioFormat, ToolError> {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    match ending.as_str() {
        "wav" => Ok(AudioFormat::Wav),
        "mp3" => Ok(AudioFormat::Mp3),
        "ogg" | "opus" | "oga" => Ok(AudioFormat::Opus),
        _ => Err(ToolError::validation(format!("Parameter 'path' must end with .mp3, .wav or .ogg, not '{}'.", brief(path)))),
    }
}

/// The same text in the same voice has the same file.
fn file_name(text: &SpokenText, voice: Option<&str>, format: AudioFormat) -> String {
    let mut hasher = DefaultHasher::new();
    (text.as_str(), voice).hash(&mut hasher);
    format!("{FOLDER}/{:016x}.{}", hasher.finish(), format.extension())
}

/// A voice is a name: no path, and no option of a program.
fn checked_voice(voice: &str) -> Result<&str, ToolError> {
    let is_name = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '-' | '_' | '+');
    if !voice.is_empty() && voice.len() <= 64 && !voice.starts_with('-') && voice.chars().all(is_name) {
        return Ok(voice);
    }
    let message =
        format!("Parameter 'voice' must be a name of letters, digits, '-', '_' and '+', such as en-us or alloy, not '{}'.", brief(voice));
    Err(ToolError::validation(message))
}
