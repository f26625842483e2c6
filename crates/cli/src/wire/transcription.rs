//! The program of `transcription.command`, which writes down voice messages on this machine.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_channels::{Transcriber, VoiceRecording};
use haft_contract::BoxFuture;

use super::Settings;
use super::models::command_words;
use super::user_program::run_user_program;
use crate::failure::Failure;

/// What stands for the recording.
const FILE: &str = "{file}";
/// The same without braces, which mean something in a shell.
const MARK: &str = "%haft-recording%";
const TIME: Duration = Duration::from_mins(2);
const MOST_BYTES: u64 = 1024 * 1024;

/// Runs a program of the user's configuration with the recording, as the user.
pub(super) struct CommandTranscriber {
    words: Vec<String>,
}

impl CommandTranscriber {
    /// The configured program, if there is one.
    pub(super) fn configured(settings: &Settings) -> Option<Result<Self, Failure>> {
        Some(Self::new(settings.provenance.value("transcription.command").as_text()?))
    }

    fn new(command: &str) -> Result<Self, Failure> {
        let wrong = |why: &str| {
            Failure::config(format!("transcription.command {why}")).help("write it as \"whisper-cli -nt -f {file}\"; docs/MEDIA.md")
        };
        let words = command_words(&command.replace(FILE, MARK)).map_err(|why| wrong(&why))?;
        let names_file = words.iter().skip(1).any(|word| word.contains(MARK));
        if names_file { Ok(Self { words }) } else { Err(wrong("does not say where {file} goes")) }
    }

    async fn text(&self, recording: &VoiceRecording) -> Result<String, String> {
        let ending = Path::new(&recording.name).extension().and_then(|ending| ending.to_str()).unwrap_or("ogg");
        let file = RecordingFile::write(&recording.data, ending).map_err(|error| format!("the recording cannot be written: {error}"))?;
        let path = file.0.to_string_lossy();
        let words: Vec<String> = self.words.iter().map(|word| word.replace(MARK, &path)).collect();
        let Some((program, arguments)) = words.split_first() else { return Err("transcription.command is empty".to_owned()) };
        let running = tokio::time::timeout(TIME, run_user_program(program, arguments, MOST_BYTES)).await;
        let output = running.map_err(|_| format!("'{program}' took longer than {} s", TIME.as_secs()))??;
        if !output.status.success() {
            return Err(format!("'{program}' failed ({})", output.status));
        }
        String::from_utf8(output.bytes).map_err(|_| format!("the output of '{program}' is not text"))
    }
}

/// A recording for the time of one run: private to the user, and removed with the value.
struct RecordingFile(PathBuf);

impl RecordingFile {
    fn write(data: &[u8], ending: &str) -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("haft-voice-{}.{ending}", haft_store::new_uuid()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let written = Self(path);
        file.write_all(data)?;
        Ok(written)
    }
}

impl Drop for RecordingFile {
    fn drop(&mut self) {
        // What is left is in a folder that is emptied.
        drop(std::fs::remove_file(&self.0));
    }
}

impl Transcriber for CommandTranscriber {
    fn transcribe<'a>(&'a self, recording: &'a VoiceRecording) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(self.text(recording))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn program_gets_the_recording_as_a_file_that_is_gone_afterwards() {
        let recording = VoiceRecording { name: "voice.ogg".into(), mime: "audio/ogg".into(), data: b"OggS hello".to_vec() };
        let text = |command: &'static str| {
            let recording = recording.clone();
            async move { CommandTranscriber::new(command).unwrap().text(&recording).await }
        };
        assert_eq!(text("cat {file}").await.as_deref(), Ok("OggS hello"));
        let path = text("echo {file}").await.unwrap();
        assert!(path.trim().rsplit('.').next() == Some("ogg") && !Path::new(path.trim()).exists(), "{path}");
        assert_eq!(text("false {file}").await, Err("'false' failed (exit status: 1)".to_owned()));
        let missing = text("/nonexistent/whisper {file}").await.unwrap_err();
        assert!(missing.starts_with("'/nonexistent/whisper' cannot be run: "), "{missing}");
        let wrong = CommandTranscriber::new("whisper-cli").err().map(|failure| failure.message.clone());
        assert_eq!(wrong.as_deref(), Some("transcription.command does not say where {file} goes"));
    }
}
