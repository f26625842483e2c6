//! One line that says what is waited for and how long, in the place of the last; anything else that is written takes it away.

use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_contract::visible;
use tokio::time::{Instant, sleep_until};
use unicode_width::UnicodeWidthStr;

use crate::output::{self, DIM};
use crate::table::cut;

/// Whoever waits less than this wants no word about it.
const PATIENCE: Duration = Duration::from_secs(2);
const PERIOD: Duration = Duration::from_secs(1);

/// What stands on the terminal's last line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Free,
    /// The line, and how many columns it takes.
    Waiting(usize),
    /// A question, which must stay as it is until it is answered.
    Question(Cursor),
}

/// Where the next letter goes while a question stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cursor {
    LineStart,
    /// Behind what the person is to answer, and perhaps what they have typed.
    Prompt,
}

/// Standard error is one for the whole process, and so is its last line.
static LINE: Mutex<Line> = Mutex::new(Line::Free);

fn line() -> MutexGuard<'static, Line> {
    LINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows that a tool is being waited for, for as long as it is polled. Where nobody watches it does nothing.
pub(crate) async fn show_waiting(tool: &str) -> std::convert::Infallible {
    let Some(columns) = output::live_columns() else { return std::future::pending().await };
    let started = Instant::now();
    let mut next = started + PATIENCE;
    loop {
        sleep_until(next).await;
        let text = format!("{} … {} s", visible::line(tool), started.elapsed().as_secs());
        draw(&cut(&text, columns.saturating_sub(1)));
        next += PERIOD;
    }
}

fn draw(text: &str) {
    let mut line = line();
    if !matches!(*line, Line::Question(_)) {
        *line = Line::Waiting(text.width());
        // Only ever longer than the one before it, so that covers it.
        write(&format!("\r{DIM}{text}{DIM:#}"));
    }
}

/// Writes something else to standard error, where the line was, or beneath the prompt.
pub(crate) fn in_its_place(text: &str) {
    let mut line = line();
    clear(&mut line);
    write(text);
}

/// Asks, behind which the answer is typed.
pub(super) fn prompt(text: &str) {
    let mut line = line();
    clear(&mut line);
    *line = Line::Question(Cursor::Prompt);
    write(text);
}

/// The person has ended the line with their answer.
pub(super) fn answered() {
    *line() = Line::Question(Cursor::LineStart);
}

/// Takes the line away, or ends that of the prompt.
pub(crate) fn stop_waiting() {
    clear(&mut line());
}

fn clear(line: &mut Line) {
    match *line {
        Line::Waiting(columns) => {
            *line = Line::Free;
            // Blanks, because a terminal without colours is given no escape codes at all.
            write(&format!("\r{:columns$}\r", ""));
        }
        Line::Question(Cursor::Prompt) => {
            *line = Line::Question(Cursor::LineStart);
            write("\n");
        }
        Line::Free | Line::Question(Cursor::LineStart) => {}
    }
}

/// While it lives, a question stands on the last line.
#[derive(Debug)]
pub(super) struct Questioning;

impl Questioning {
    pub(super) fn begin() -> Self {
        let mut line = line();
        clear(&mut line);
        *line = Line::Question(Cursor::LineStart);
        Self
    }
}

impl Drop for Questioning {
    fn drop(&mut self) {
        let mut line = line();
        clear(&mut line);
        *line = Line::Free;
    }
}

fn write(text: &str) {
    // If nobody can be told, there is nobody to tell that either.
    anstream::stderr().write_all(text.as_bytes()).ok();
}
