//! A question and its answer, and perhaps another question: nobody else gets the person's attention in between.

use std::io;
use std::sync::Arc;

use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::{MutexGuard, mpsc};

use super::screen::{Questioning, Screen};

/// The lines that a person types, once someone reads them.
type Lines = Option<mpsc::Receiver<String>>;

/// What stands on the terminal when a question is given up.
const GIVEN_UP: &str = "(This is no longer asked: its time is up, or it was settled otherwise.)\n";

/// The person's attention; one has it at a time.
pub(super) struct Dialogue<'a> {
    lines: MutexGuard<'a, Lines>,
    open: fn() -> mpsc::Receiver<String>,
    screen: Arc<Screen>,
    waits: bool,
    _questioning: Questioning,
}

impl<'a> Dialogue<'a> {
    pub(super) fn begin(lines: MutexGuard<'a, Lines>, open: fn() -> mpsc::Receiver<String>) -> Self {
        let screen = Screen::standard();
        let questioning = Questioning::begin(Arc::clone(&screen));
        Self { lines, open, screen, waits: false, _questioning: questioning }
    }

    /// Shows text, then asks until an answer can be understood. `None` when the input ends.
    pub(super) async fn ask<T>(&mut self, text: &str, prompt: &str, understand: impl Fn(&str) -> Option<T>) -> Option<T> {
        let lines = self.lines.get_or_insert_with(self.open);
        forget_what_was_typed(lines);
        self.waits = true;
        // If it cannot be shown, nobody answers, and that is a denial.
        self.screen.in_its_place(text);
        let answer = loop {
            self.screen.prompt(prompt);
            let Some(line) = lines.recv().await else { break None };
            self.screen.answered();
            if let Some(answer) = understand(line.trim()) {
                break Some(answer);
            }
        };
        self.waits = false;
        answer
    }
}

impl Drop for Dialogue<'_> {
    /// Whoever looks up at last should not answer a question that nobody asks any more.
    fn drop(&mut self) {
        if self.waits {
            self.screen.in_its_place(GIVEN_UP);
        }
    }
}

/// Nothing typed before a question is an answer to it.
fn forget_what_was_typed(lines: &mut mpsc::Receiver<String>) {
    while lines.try_recv().is_ok() {}
    // If the terminal cannot do it, the answer is still read after the question.
    tcflush(io::stdin(), QueueSelector::IFlush).ok();
}
