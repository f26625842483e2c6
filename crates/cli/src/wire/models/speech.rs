//! What speaks by `tts.engines`, and what writes down voice messages by `transcription`.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use haft_channels::{Transcriber, VoiceRecording};
use haft_contract::ports::{SpeechEngine, SpeechHost, SpeechRequest, SpeechServices};
use haft_contract::{BoxFuture, ToolError};
use haft_provider::{Endpoint, ModelClient, Recording, SpokenRequest};

use super::setup::ProviderSetup;
use super::{Settings, parts};
use crate::failure::Failure;

pub(crate) const ESPEAK: &str = "espeak-ng";
const ELEVENLABS: &str = "elevenlabs";
const ELEVENLABS_ADDRESS: &str = "https://api.elevenlabs.io/v1";
const ELEVENLABS_KEY: &str = "ELEVENLABS_API_KEY";
/// Voices that every account has.
const ELEVENLABS_VOICE: &str = "21m00Tcm4TlvDq8ikWAM";
const OPENAI_VOICE: &str = "alloy";
/// A voice message of some minutes on a slow machine.
const TRANSCRIPTION_TIME: Duration = Duration::from_mins(2);

/// How long what was found is not looked for again: one start asks several times.
const FOUND_FOR: Duration = Duration::from_secs(1);

/// Whether espeak-ng is installed.
pub(crate) fn has_espeak() -> bool {
    static FOUND: Mutex<Option<(Instant, bool)>> = Mutex::new(None);
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((at, found)) = *found
        && at.elapsed() < FOUND_FOR
    {
        return found;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|folder| folder.join(ESPEAK).is_file());
    *found = Some((Instant::now(), is_there));
    is_there
}

/// The configured engines, and why others cannot be used.
pub(crate) fn engines(settings: &Settings) -> (Vec<SpeechEngine>, Vec<String>) {
    let names: Vec<String> = settings.provenance.value("tts.engines").entries().iter().map(|entry| entry.value.clone()).collect();
    if names.is_empty() {
        return (has_espeak().then(|| espeak(settings)).into_iter().collect(), Vec::new());
    }
    let (found, faults): (Vec<_>, Vec<_>) = names.iter().map(|name| engine(settings, name)).partition(Result::is_ok);
    let faults = faults.into_iter().filter_map(Result::err).map(|failure| failure.message.clone()).collect();
    (found.into_iter().filter_map(Result::ok).collect(), faults)
}

fn engine(settings: &Settings, name: &str) -> Result<SpeechEngine, Failure> {
    if name == ESPEAK {
        if !has_espeak() {
            return Err(Failure::config("espeak-ng is not installed").help("apt-get install espeak-ng"));
        }
        return Ok(espeak(settings));
    }
    let (provider, _) = parts(name)?;
    let setup = voice_setup(settings, provider)?;
    if !setup.key.is_set() && !setup.is_local() {
        return Err(Failure::config(format!("the key of '{provider}' is not set")));
    }
    Ok(SpeechEngine { name: name.to_owned(), host: SpeechHost::Service(setup.connect()?), voice: voice(settings, provider) })
}

fn espeak(settings: &Settings) -> SpeechEngine {
    SpeechEngine { name: ESPEAK.to_owned(), host: SpeechHost::Espeak, voice: voice(settings, ESPEAK) }
}

fn voice(settings: &Settings, engine: &str) -> Option<String> {
    settings.provenance.value_at(&["tts", "voices", engine]).as_text().map(str::to_owned)
}

fn voice_setup(settings: &Settings, provider: &str) -> Result<ProviderSetup, Failure> {
    let defaults = (provider == ELEVENLABS).then_some((ELEVENLABS_ADDRESS, ELEVENLABS_KEY));
    ProviderSetup::with_defaults(settings, provider, defaults)
}

/// A provider with its client, which has so much time.
async fn client_of(setup: &ProviderSetup, time: Duration) -> Result<(ModelClient, Endpoint), Failure> {
    let mut endpoint = setup.endpoint().await?;
    let timeouts = &mut endpoint.timeouts;
    (timeouts.first_byte, timeouts.idle, timeouts.total) = (time, time, time);
    Ok((setup.client()?, endpoint))
}

/// The services of `tts.engines`.
pub(crate) struct ConfiguredSpeech {
    settings: Settings,
    engines: Vec<SpeechEngine>,
}

impl ConfiguredSpeech {
    /// The configured engines, if there are any.
    pub(crate) fn new(settings: &Settings) -> Option<Self> {
        let (engines, _) = engines(settings);
        (!engines.is_empty()).then(|| Self { settings: settings.clone(), engines })
    }

    async fn sound(&self, engine: &str, request: &SpeechRequest) -> Result<Vec<u8>, ToolError> {
        let failed = |failure: Failure| ToolError::execution(format!("{}.", failure.message.trim_end_matches('.')));
        let (provider, model) = parts(engine).map_err(failed)?;
        let seconds = self.settings.provenance.value("tts.timeout_seconds").as_count().unwrap_or(30);
        let setup = voice_setup(&self.settings, provider).map_err(failed)?;
        let (client, endpoint) = client_of(&setup, Duration::from_secs(seconds)).await.map_err(failed)?;
        let is_elevenlabs = provider == ELEVENLABS;
        let voice = request.voice.as_deref().unwrap_or(if is_elevenlabs { ELEVENLABS_VOICE } else { OPENAI_VOICE });
        let spoken = SpokenRequest { provider, model, voice, text: &request.text, format: request.format };
        let answered =
            if is_elevenlabs { client.elevenlabs_speech(&endpoint, spoken).await } else { client.speech(&endpoint, spoken).await };
        answered.map_err(|error| ToolError::execution(error.to_string()))
    }
}

impl SpeechServices for ConfiguredSpeech {
    fn engines(&self) -> Vec<SpeechEngine> {
        self.engines.clone()
    }

    fn speak<'a>(&'a self, engine: &'a str, request: &'a SpeechRequest) -> BoxFuture<'a, Result<Vec<u8>, ToolError>> {
        Box::pin(self.sound(engine, request))
    }
}

/// Writes down voice messages with a model of `transcription.model`.
pub(crate) struct ModelTranscriber {
    setup: ProviderSetup,
    model: String,
}

impl ModelTranscriber {
    /// The configured model, if there is one.
    pub(crate) fn configured(settings: &Settings) -> Option<Result<Self, Failure>> {
        let name = settings.provenance.value("transcription.model").as_text()?;
        let found = parts(name).and_then(|(provider, model)| Ok((ProviderSetup::new(settings, provider)?, model.to_owned())));
        Some(found.map(|(setup, model)| Self { setup, model }))
    }

    async fn text(&self, recording: &VoiceRecording) -> Result<String, String> {
        let (client, endpoint) = client_of(&self.setup, TRANSCRIPTION_TIME).await.map_err(|failure| failure.message.clone())?;
        let recording = Recording { name: &recording.name, mime: &recording.mime, data: &recording.data };
        client.transcription(&endpoint, &self.setup.name, &self.model, recording).await.map_err(|error| error.to_string())
    }
}

impl Transcriber for ModelTranscriber {
    fn transcribe<'a>(&'a self, recording: &'a VoiceRecording) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(self.text(recording))
    }
}
