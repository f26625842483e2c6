//! Voice messages: fetched from the service and written down, so that they reach their session as text.

use haft_contract::BoxFuture;
use haft_text::truncate::first_chars;

use crate::driver::{ChannelDriver, IncomingMessage, VoiceNote};
use crate::limits::MOST_INCOMING_CHARACTERS;
use crate::wire::{ChannelWire, WireRequest};
use crate::{ChannelSecret, SendFailure};

/// A recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoiceRecording {
    /// A name for its file, with the ending of its format.
    pub name: String,
    /// Its media type.
    pub mime: String,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// Writes down what is said in a recording. The recording comes from outside, and so does the text.
pub trait Transcriber: Send + Sync {
    /// The text, or why there is none.
    fn transcribe<'a>(&'a self, recording: &'a VoiceRecording) -> BoxFuture<'a, Result<String, String>>;
}

/// The text of a message: its own, with that of its recording. A recording that nobody wrote down is named, so that the model does not
/// guess at it.
pub(crate) async fn text_of(message: &IncomingMessage, driver: &dyn ChannelDriver, transcriber: Option<&dyn Transcriber>) -> String {
    let Some(note) = &message.voice else { return message.text.clone() };
    let length = note.seconds.map(|seconds| format!(" of {seconds} s")).unwrap_or_default();
    let heard = match transcriber {
        Some(transcriber) => transcript(note, driver, transcriber).await,
        None => Err("no transcription is configured (transcription.model or transcription.command)".to_owned()),
    };
    let said = match heard {
        Ok(text) => format!("[Voice message{length}, written down by a machine, which may have misheard:]\n{text}"),
        Err(why) => format!("[A voice message{length} came and was not transcribed: {why}. Its content is not known.]"),
    };
    if message.text.is_empty() { said } else { format!("{}\n\n{said}", message.text) }
}

async fn transcript(note: &VoiceNote, driver: &dyn ChannelDriver, transcriber: &dyn Transcriber) -> Result<String, String> {
    let data = driver.fetch_voice(note).await.map_err(|failure| failure.to_string())?;
    let recording = VoiceRecording { name: format!("voice.{}", ending(&note.mime)), mime: note.mime.clone(), data };
    let text = transcriber.transcribe(&recording).await.map_err(|why| why.trim_end_matches('.').to_owned())?;
    let text = first_chars(text.trim(), MOST_INCOMING_CHARACTERS);
    if text.is_empty() { Err("nothing was heard in it".to_owned()) } else { Ok(text.to_owned()) }
}

/// Fetches a recording whose address came with a message, from an address of the service alone: nobody else gets the token.
pub(crate) async fn fetch(
    wire: &ChannelWire,
    address: &str,
    places: [&str; 2],
    token: Option<&ChannelSecret>,
) -> Result<Vec<u8>, SendFailure> {
    let is_of = |place: &&str| address.strip_prefix(place.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'));
    if !places.iter().any(is_of) {
        return Err(SendFailure::refused("the recording is not at an address of the service"));
    }
    let mut request = WireRequest::new("GET", address.to_owned()).recording();
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {}", token.expose()));
    }
    let answer = wire.send(request).await?;
    if answer.is_success() { Ok(answer.body) } else { Err(answer.failure(None)) }
}

/// Servers tell the format by the ending of the name.
fn ending(mime: &str) -> &'static str {
    match mime.split(';').next().unwrap_or_default().trim() {
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mp4" | "audio/m4a" | "audio/x-m4a" => "m4a",
        "audio/webm" => "webm",
        "audio/flac" => "flac",
        _ => "ogg",
    }
}
