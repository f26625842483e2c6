//! Sound files: whether one is what it should be, and how long it lasts.

use haft_contract::ToolError;
use haft_contract::ports::AudioFormat;
use haft_text::display;

/// The sound, if it is in this format and has any sound in it.
pub(super) fn checked(audio: Vec<u8>, format: AudioFormat) -> Result<Vec<u8>, ToolError> {
    let is_right = match format {
        AudioFormat::Wav => audio.starts_with(b"RIFF") && audio.get(8..12) == Some(b"WAVE"),
        AudioFormat::Mp3 => audio.starts_with(b"ID3") || matches!(audio.first_chunk(), Some([0xff, second]) if second & 0xe0 == 0xe0),
        AudioFormat::Opus => audio.starts_with(b"OggS"),
    };
    if !is_right {
        let start = display::escape_bytes(&audio[..audio.len().min(60)], 60);
        let what = if audio.is_empty() { "it answered nothing.".to_owned() } else { format!("it did not answer with {format}: {start}") };
        return Err(ToolError::execution(what));
    }
    if format == AudioFormat::Wav && wav_data(&audio).is_none_or(<[u8]>::is_empty) {
        return Err(ToolError::execution("it is silent: no voice was found for the text."));
    }
    Ok(audio)
}

/// Seconds of a WAV file.
pub(super) fn seconds(audio: &[u8]) -> Option<f64> {
    let data = wav_data(audio)?;
    let at = audio.windows(4).take(1024).position(|name| name == b"fmt ")?;
    let rate = u32::from_le_bytes(*audio.get(at + 16..)?.first_chunk()?);
    #[expect(clippy::cast_precision_loss, reason = "it is shown with one digit")]
    (rate > 0).then(|| data.len() as f64 / f64::from(rate))
}

fn wav_data(audio: &[u8]) -> Option<&[u8]> {
    let at = audio.starts_with(b"RIFF").then(|| audio.windows(4).take(1024).position(|name| name == b"data"))??;
    audio.get(at + 8..)
}
