//! A question and its answer, and follow-up questions, without other questions in between.

use std::io;
use std::sync::Arc;

use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::{MutexGuard, mpsc};

use super::screen::{OpenQuestion, Screen};

/// Lines that the user types, once a question was asked.
type TypedLines = Option<mpsc::Receiver<String>>;

/// Shown when a question is dropped without an answer.
const DROPPED: &str = "(No answer is needed any more: the question timed out, or was answered elsewhere.)\n";

/// A dialogue with the user; one at a time.
pub(super) struct Dialogue<'a> {
    lines: MutexGuard<'a, TypedLines>,
    open: fn() -> mpsc::Receiver<String>,
    screen: Arc<Screen>,
    unanswered: bool,
    _questioning: OpenQuestion,
}

impl<'a> Dialogue<'a> {
    pub(super) fn begin(lines: MutexGuard<'a, TypedLines>, open: fn() -> mpsc::Receiver<String>) -> Self {
        let screen = Screen::standard();
        let questioning = OpenQuestion::begin(Arc::clone(&screen));
        Self { lines, open, screen, unanswered: false, _questioning: questioning }
    }

    /// Shows text, and prompts until the answer parses. `None` when the input ends.
    pub(super) async fn ask<T>(&mut self, text: &str, prompt: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let lines = self.lines.get_or_insert_with(self.open);
        discard_typed(lines);
        self.unanswered = true;
        self.screen.write_note(text);
        let answer = loop {
            self.screen.prompt(prompt);
            let Some(line) = lines.recv().await else { break None };
            self.screen.end_answer();
            if let Some(answer) = parse(line.trim()) {
                break Some(answer);
            }
        };
        self.unanswered = false;
        answer
    }
}

impl Drop for Dialogue<'_> {
    fn drop(&mut self) {
        if self.unanswered {
            self.screen.write_note(DROPPED);
        }
    }
}

/// Discards input from before the question.
fn discard_typed(lines: &mut mpsc::Receiver<String>) {
    while lines.try_recv().is_ok() {}
    // If that fails, the answer is still read after the question.
    tcflush(io::stdin(), QueueSelector::IFlush).ok();
}
