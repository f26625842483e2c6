//! Speech: text that services speak, and recordings that they write down. Two wire formats for the first, the OpenAI-compatible
//! `/audio/speech` and that of ElevenLabs; one for the second, the OpenAI-compatible `/audio/transcriptions`.

use std::hash::{BuildHasher, RandomState};

use haft_contract::ports::AudioFormat;
use serde_json::{Value, json};

use super::ModelClient;
use super::plain::{PlainAnswer, PlainRequest};
use crate::{Endpoint, ProviderError, ProviderErrorKind};

/// A quarter of an hour, uncompressed.
const MAX_SOUND_BYTES: usize = 48 * 1024 * 1024;
const MAX_TRANSCRIPT_BYTES: usize = 1024 * 1024;

/// A text for a voice.
#[derive(Debug, Clone, Copy)]
pub struct SpokenRequest<'a> {
    /// Who speaks, for messages.
    pub provider: &'a str,
    /// The model.
    pub model: &'a str,
    /// The voice: a name, at ElevenLabs an id.
    pub voice: &'a str,
    /// The text.
    pub text: &'a str,
    /// The format.
    pub format: AudioFormat,
}

/// A recording.
#[derive(Debug, Clone, Copy)]
pub struct Recording<'a> {
    /// The name of its file; servers tell the format by its ending.
    pub name: &'a str,
    /// Its media type.
    pub mime: &'a str,
    /// Its bytes.
    pub data: &'a [u8],
}

impl ModelClient {
    /// The sound of a text, by an OpenAI-compatible server; without retries.
    pub async fn speech(&self, endpoint: &Endpoint, request: SpokenRequest<'_>) -> Result<Vec<u8>, ProviderError> {
        let SpokenRequest { provider, model, voice, text, format } = request;
        let body = json!({"model": model, "voice": voice, "input": text, "response_format": format.as_str()});
        sound(self.post(endpoint, PlainRequest::json(provider, "/audio/speech", &body, MAX_SOUND_BYTES + 1)).await?)
    }

    /// The sound of a text, by ElevenLabs; without retries.
    pub async fn elevenlabs_speech(&self, endpoint: &Endpoint, request: SpokenRequest<'_>) -> Result<Vec<u8>, ProviderError> {
        let SpokenRequest { provider, model, voice, text, format } = request;
        let kind = match format {
            AudioFormat::Mp3 => "mp3_44100_128",
            AudioFormat::Opus => "opus_48000_64",
            AudioFormat::Wav => "wav_44100",
        };
        let is_id = !voice.is_empty() && voice.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_id {
            let message = format!("'{}' is not the id of a voice of ElevenLabs: it has letters and digits alone.", voice.escape_debug());
            return Err(ProviderError::new(ProviderErrorKind::BadRequest, message));
        }
        let path = format!("/text-to-speech/{voice}?output_format={kind}");
        let body = json!({"text": text, "model_id": model});
        let mut endpoint = endpoint.clone();
        if let Some(key) = endpoint.key.take() {
            endpoint.headers.push(("xi-api-key".to_owned(), key.secret().to_owned()));
        }
        sound(self.post(&endpoint, PlainRequest::json(provider, &path, &body, MAX_SOUND_BYTES + 1)).await?)
    }

    /// What is said in a recording, by an OpenAI-compatible server; without retries.
    pub async fn transcription(
        &self,
        endpoint: &Endpoint,
        provider: &str,
        model: &str,
        recording: Recording<'_>,
    ) -> Result<String, ProviderError> {
        let (content_type, body) = form(model, recording);
        let request = PlainRequest { provider, path: "/audio/transcriptions", content_type, body, most: MAX_TRANSCRIPT_BYTES };
        let answer = self.post(endpoint, request).await?;
        let text = serde_json::from_slice::<Value>(&answer.body).ok().and_then(|value| value["text"].as_str().map(str::to_owned));
        text.ok_or_else(|| {
            let message = format!("{} did not answer with a transcript. Check the model and its base_url.", answer.host);
            ProviderError::new(ProviderErrorKind::Malformed, message)
        })
    }
}

fn sound(answer: PlainAnswer) -> Result<Vec<u8>, ProviderError> {
    if answer.body.len() > MAX_SOUND_BYTES {
        let message = format!("{} answered with more than {} MB of sound.", answer.host, MAX_SOUND_BYTES / 1024 / 1024);
        return Err(ProviderError::new(ProviderErrorKind::Malformed, message));
    }
    Ok(answer.body)
}

/// The form of a recording. Its boundary is drawn by chance, so that no recording has it.
fn form(model: &str, Recording { name, mime, data }: Recording<'_>) -> (String, Vec<u8>) {
    let draw = || RandomState::new().hash_one(data.len());
    let boundary = format!("haft-{:016x}{:016x}", draw(), draw());
    let plain = |text: &str| text.chars().filter(|ch| !ch.is_control() && *ch != '"').collect::<String>();
    let mut body = Vec::with_capacity(data.len() + 1024);
    for (field, value) in [("model", model), ("response_format", "json")] {
        body.extend_from_slice(
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{field}\"\r\n\r\n{}\r\n", plain(value)).as_bytes(),
        );
    }
    let (name, mime) = (plain(name), plain(mime));
    body.extend_from_slice(
        format!("--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: {mime}\r\n\r\n")
            .as_bytes(),
    );
    body.extend_from_slice(data);
    body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={boundary}"), body)
}
