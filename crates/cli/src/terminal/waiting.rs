//! Says what is waited for, and how long it has been; anything else that is written takes it away.

use std::time::Duration;

use haft_contract::visible;
use tokio::time::{Instant, sleep_until};

use super::Screen;
use crate::output;

/// Whoever waits less than this wants no word about it.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
const PERIOD: Duration = Duration::from_secs(1);

/// Shows that a tool is being waited for, for as long as it is polled. Where nobody watches it does nothing.
pub(crate) async fn show_waiting(tool: &str) -> std::convert::Infallible {
    let Some(columns) = output::live_columns() else { return std::future::pending().await };
    let started = Instant::now();
    let mut next = started + PATIENCE;
    loop {
        sleep_until(next).await;
        Screen::standard().waits(&format!("{} … {} s", visible::line(tool), started.elapsed().as_secs()), columns);
        next += PERIOD;
    }
}

/// Writes something else to standard error, where the line was, or beneath the prompt.
pub(crate) fn in_its_place(text: &str) {
    Screen::standard().in_its_place(text);
}

/// Takes the line away, or ends that of the prompt.
pub(crate) fn stop_waiting() {
    Screen::standard().stop_waiting();
}
