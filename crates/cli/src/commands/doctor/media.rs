//! Checks of pictures and speech. Nothing is sent.

use super::DoctorCheck;
use crate::wire::{Wire, media_state};

/// One check for models that see, one for voices, and one for voice messages where they are configured.
pub(super) fn checks(wire: &Wire) -> Vec<DoctorCheck> {
    let state = media_state(wire);
    let vision = match (state.models.as_slice(), state.model_faults.as_slice()) {
        (_, [first, ..]) => DoctorCheck::warning("vision", first.as_str(), "correct image.models; docs/MEDIA.md has examples"),
        ([], []) => DoctorCheck::good("vision", "no model is configured for the tool image, so it is not offered (image.models)"),
        (models, []) => DoctorCheck::good("vision", format!("the tool image asks {}", models.join(", then "))),
    };
    let speech = match (state.engines.as_slice(), state.engine_faults.as_slice()) {
        (_, [first, ..]) => DoctorCheck::warning("speech", first.as_str(), "correct tts.engines; docs/MEDIA.md has examples"),
        ([], []) => {
            DoctorCheck::good("speech", "nothing speaks here, so the tool tts is not offered (install espeak-ng, or set tts.engines)")
        }
        (engines, []) => DoctorCheck::good("speech", format!("the tool tts speaks with {}", engines.join(", then "))),
    };
    let transcription = state.transcription.map(|usable| match usable {
        Ok(()) => DoctorCheck::good("transcription", "voice messages of channels are written down"),
        Err(why) => DoctorCheck::warning("transcription", why, "correct [transcription]; docs/MEDIA.md has examples"),
    });
    [Some(vision), Some(speech), transcription].into_iter().flatten().collect()
}
