//! Port for speech: voices that speak text.

use crate::settings::named_enum;
use crate::{BoxFuture, Connect, ToolError};

named_enum! {
    /// A format of sound.
    AudioFormat {
        /// Uncompressed.
        Wav = "wav",
        /// MPEG layer 3.
        Mp3 = "mp3",
        /// Opus in Ogg, as chats send voice messages.
        Opus = "opus",
    }
}

impl AudioFormat {
    /// The ending of a file.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Wav => "wav",
            Self::Mp3 => "mp3",
            Self::Opus => "ogg",
        }
    }
    /// The media type.
    pub const fn mime(self) -> &'static str {
        match self {
            Self::Wav => "audio/wav",
            Self::Mp3 => "audio/mpeg",
            Self::Opus => "audio/ogg",
        }
    }
}

/// Where a voice speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpeechHost {
    /// On this machine: the program espeak-ng, in the sandbox.
    Espeak,
    /// A service of the configuration.
    Service(Connect),
}

/// What speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpeechEngine {
    /// `espeak-ng`, or as `provider/model`.
    pub name: String,
    /// Where it speaks.
    pub host: SpeechHost,
    /// The configured voice.
    pub voice: Option<String>,
}

impl SpeechEngine {
    /// Whether it can speak in a format.
    pub fn speaks(&self, format: AudioFormat) -> bool {
        self.host != SpeechHost::Espeak || format == AudioFormat::Wav
    }
}

/// A text to be spoken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpeechRequest {
    /// The text.
    pub text: String,
    /// The voice, if the engine's own is not meant.
    pub voice: Option<String>,
    /// The format.
    pub format: AudioFormat,
}

/// The engines of the configuration.
pub trait SpeechServices: Send + Sync {
    /// All of them, in the order in which they are tried.
    fn engines(&self) -> Vec<SpeechEngine>;
    /// Lets a service speak. Dropping the answer ends the request.
    fn speak<'a>(&'a self, engine: &'a str, request: &'a SpeechRequest) -> BoxFuture<'a, Result<Vec<u8>, ToolError>>;
}
