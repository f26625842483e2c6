//! How long a call waits for its command, and when the command is ended.

use std::time::Duration;

use haft_contract::ToolError;

const YIELD_MS: u64 = 10_000;
const LEAST_YIELD_MS: u64 = 10;
const MOST_YIELD_MS: u64 = 120_000;
const TIMEOUT_SECONDS: f64 = 1_800.0;
/// One week.
const MOST_TIMEOUT_SECONDS: f64 = 604_800.0;

/// How long the call waits; to the end, if the host waits and the call sets nothing.
pub(crate) fn patience(yield_ms: Option<u64>, to_the_end: bool) -> Option<Duration> {
    let unsaid = (!to_the_end).then_some(YIELD_MS);
    Some(Duration::from_millis(yield_ms.or(unsaid)?.clamp(LEAST_YIELD_MS, MOST_YIELD_MS)))
}

/// The timeout. A command that was put into the background on purpose has none, unless the call sets it.
pub(crate) fn timeout(seconds: Option<f64>, on_purpose: bool) -> Result<Option<Duration>, ToolError> {
    let Some(seconds) = seconds.or((!on_purpose).then_some(TIMEOUT_SECONDS)) else { return Ok(None) };
    if seconds.is_nan() || seconds <= 0.0 {
        return Err(ToolError::validation(format!(
            "Parameter 'timeout' must be more than 0, not {seconds}. Leave it out for 1800 seconds, or give 'background' for no end."
        )));
    }
    Ok(Some(Duration::from_secs_f64(seconds.min(MOST_TIMEOUT_SECONDS))))
}
