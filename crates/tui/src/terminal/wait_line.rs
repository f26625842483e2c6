//! The line that shows a running call and its time. Other output replaces it.

use std::time::Duration;

use haft_text::display;
use tokio::time::{Instant, sleep_until};

use super::Screen;
use crate::output;

/// Shorter waits are not shown.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
const PERIOD: Duration = Duration::from_secs(1);

/// Shows the wait for a tool while it is polled; does nothing if standard error is not a terminal.
pub async fn show_waiting(tool: &str) -> std::convert::Infallible {
    let Some(columns) = output::live_columns() else { return std::future::pending().await };
    let started = Instant::now();
    let mut next = started + PATIENCE;
    loop {
        sleep_until(next).await;
        Screen::standard().show_waiting(&format!("{} … {} s", display::escape_line(tool), started.elapsed().as_secs()), columns);
        next += PERIOD;
    }
}

/// Writes to standard error, in place of the wait line or below the prompt.
pub fn write_note(text: &str) {
    Screen::standard().write_note(text);
}

/// Clears the wait line, or ends the line of the prompt.
pub fn stop_waiting() {
    Screen::standard().clear_line();
}
