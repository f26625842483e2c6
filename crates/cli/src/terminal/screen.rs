//! The terminal's last line. Three things want it: the model's words as they come, a line that says what is waited for, and a
//! question. What is finished is never drawn again.

mod drawing;
#[cfg(test)]
pub(super) mod testing;

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anstream::{AutoStream, ColorChoice};
use haft_contract::visible;

use self::drawing::{column_behind, fits, redrawn, taken_away};
use crate::table::cut;

/// Whether the model's words and all the rest are shown in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Both on one terminal.
    Together,
    /// One of them goes into a file or to another program.
    Apart,
}

/// What stands on the last line, besides the model's words.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Line {
    Free,
    /// What is waited for.
    Waiting(String),
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

/// How words are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    pub(crate) place: Place,
    /// Whether the model's words are escaped: on a terminal, but not for another program.
    pub(crate) escaped: bool,
    /// Whether styles are kept in all the rest.
    pub(crate) coloured: bool,
}

/// Standard output and standard error, as one person sees them.
pub(crate) struct Screen {
    manner: Manner,
    last: Mutex<Last>,
}

struct Last {
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
    /// How far the model's words reach into their line; 0 at its beginning.
    column: usize,
    line: Line,
    /// When the last question was asked.
    asked: Option<Instant>,
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen").field("manner", &self.manner).finish_non_exhaustive()
    }
}

impl Screen {
    pub(crate) fn new(manner: Manner, out: Box<dyn Write + Send>, err: Box<dyn Write + Send>) -> Self {
        Self { manner, last: Mutex::new(Last { out, err, column: 0, line: Line::Free, asked: None }) }
    }

    /// Standard error is one for the whole process, and so is its last line.
    pub(crate) fn standard() -> Arc<Self> {
        static STANDARD: LazyLock<Arc<Screen>> = LazyLock::new(|| {
            let terminal = io::stdout().is_terminal();
            let place = if terminal && io::stderr().is_terminal() { Place::Together } else { Place::Apart };
            let coloured = AutoStream::choice(&io::stderr()) != ColorChoice::Never;
            let manner = Manner { place, escaped: terminal, coloured };
            Arc::new(Screen::new(manner, Box::new(io::stdout()), Box::new(io::stderr())))
        });
        Arc::clone(&STANDARD)
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The model's words, behind those before.
    pub(crate) fn says(&self, text: &str) {
        let text = if self.manner.escaped { visible::lines(text) } else { text.into() };
        let mut last = self.last();
        self.clear(&mut last);
        last.column = column_behind(last.column, &text);
        last.say(&text);
    }

    /// Ends the model's line, if it has begun one.
    pub(crate) fn end_words(&self) {
        let mut last = self.last();
        if last.column > 0 {
            self.clear(&mut last);
            last.column = 0;
            last.say("\n");
        }
    }

    /// Shows what is waited for in the place of what stood there before, on a terminal of so many columns.
    pub(crate) fn waits(&self, text: &str, columns: usize) {
        let mut last = self.last();
        if matches!(last.line, Line::Question(_)) {
            return;
        }
        let (behind, text) = match self.column(&last) {
            0 => (false, cut(text, columns.saturating_sub(1))),
            column => (true, if fits(column, text, columns) { format!(" {text}") } else { String::new() }),
        };
        let before = if let Line::Waiting(before) = &last.line { before.clone() } else { String::new() };
        if text != before {
            last.show(&redrawn(&before, &text, behind, self.manner.coloured));
            last.line = if text.is_empty() { Line::Free } else { Line::Waiting(text) };
        }
    }

    /// Writes something else to standard error: where the line was, beneath the prompt, or beneath the model's words.
    pub(crate) fn in_its_place(&self, text: &str) {
        self.put(&mut self.last(), text);
    }

    /// Takes what is waited for away. A question stays as it is.
    pub(crate) fn waits_no_more(&self) {
        let mut last = self.last();
        if matches!(last.line, Line::Waiting(_)) {
            self.clear(&mut last);
        }
    }

    /// Takes what is waited for away, or ends the line of the prompt.
    pub(crate) fn stop_waiting(&self) {
        self.clear(&mut self.last());
    }

    /// Asks, behind which the answer is typed.
    pub(super) fn prompt(&self, text: &str) {
        let mut last = self.last();
        // Whoever answers as soon as they see it answers after this.
        let asked = Instant::now();
        self.put(&mut last, text);
        (last.line, last.asked) = (Line::Question(Cursor::Prompt), Some(asked));
    }

    /// The person has ended the line with their answer.
    pub(super) fn answered(&self) {
        self.last().line = Line::Question(Cursor::LineStart);
    }

    /// When the question that waits for its answer was asked, if one does: nothing typed before is an answer to it.
    pub(crate) fn asked_at(&self) -> Option<Instant> {
        let last = self.last();
        last.asked.filter(|_| matches!(last.line, Line::Question(_)))
    }

    /// Draws something that leaves the cursor where it was, or echoes what is typed behind a prompt.
    pub(crate) fn aside(&self, text: &str) {
        self.last().show(text);
    }

    /// Whether styles are seen.
    pub(crate) fn is_coloured(&self) -> bool {
        self.manner.coloured
    }

    fn put(&self, last: &mut Last, text: &str) {
        self.clear(last);
        if self.column(last) > 0 {
            last.column = 0;
            last.say("\n");
        }
        last.show(&self.styled(text));
    }

    fn clear(&self, last: &mut Last) {
        match &last.line {
            Line::Waiting(text) => {
                last.show(&taken_away(text, self.column(last) > 0));
                last.line = Line::Free;
            }
            Line::Question(Cursor::Prompt) => {
                last.line = Line::Question(Cursor::LineStart);
                last.show("\n");
            }
            Line::Free | Line::Question(Cursor::LineStart) => {}
        }
    }

    /// Where standard error goes on.
    fn column(&self, last: &Last) -> usize {
        if self.manner.place == Place::Together { last.column } else { 0 }
    }

    fn styled(&self, text: &str) -> String {
        if self.manner.coloured { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() }
    }
}

impl Last {
    // If nobody can be told, there is nobody to tell that either.
    fn say(&mut self, text: &str) {
        self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).ok();
    }
    fn show(&mut self, text: &str) {
        self.err.write_all(text.as_bytes()).and_then(|()| self.err.flush()).ok();
    }
}

/// While it lives, a question stands on the last line.
#[derive(Debug)]
pub(super) struct Questioning(Arc<Screen>);

impl Questioning {
    pub(super) fn begin(screen: Arc<Screen>) -> Self {
        let mut last = screen.last();
        // The question is not part of what the model says.
        screen.put(&mut last, "");
        (last.line, last.asked) = (Line::Question(Cursor::LineStart), None);
        drop(last);
        Self(screen)
    }
}

impl Drop for Questioning {
    fn drop(&mut self) {
        let mut last = self.0.last();
        self.0.clear(&mut last);
        last.line = Line::Free;
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{pipes, terminal};
    use super::*;
    use crate::output::DIM;

    #[test]
    fn only_the_last_line_moves() {
        let (screen, paper) = terminal(false);
        screen.waits("waiting 9 s", 80);
        screen.waits("waiting 9 s", 80);
        screen.waits("one 1 s", 80);
        screen.in_its_place("done\n");
        screen.waits("long enough to be cut", 10);
        screen.stop_waiting();
        assert_eq!(paper.read(), "\rwaiting 9 s\rone 1 s    \r       \rdone\n\rlong eno…\r         \r");
    }

    #[test]
    fn behind_the_models_words_only_what_can_be_taken_back() {
        let (screen, paper) = terminal(false);
        screen.says("Let me");
        screen.waits("12 s", 20);
        screen.waits("13 s", 20);
        screen.says(" see");
        screen.waits("too long for this line", 20);
        screen.in_its_place("a note\n");
        screen.says("so");
        screen.end_words();
        screen.end_words();
        let back = "\u{8}".repeat(5);
        assert_eq!(paper.read(), format!("Let me 12 s{back} 13 s{back}     {back} see\na note\nso\n"));
    }

    #[test]
    fn nothing_is_drawn_over_a_question() {
        let (screen, paper) = terminal(false);
        screen.says("I will");
        screen.waits("12 s", 80);
        let questioning = Questioning::begin(Arc::clone(&screen));
        screen.prompt("yes? ");
        screen.waits("13 s", 80);
        screen.waits_no_more();
        assert!(screen.asked_at().is_some());
        screen.in_its_place("a note\n");
        screen.prompt("yes? ");
        screen.answered();
        drop(questioning);
        assert!(screen.asked_at().is_none());
        let back = "\u{8}".repeat(5);
        assert_eq!(paper.read(), format!("I will 12 s{back}     {back}\nyes? \na note\nyes? "));
    }

    #[test]
    fn pipes_get_what_belongs_to_them_and_terminals_nothing_that_drives_them() {
        let (screen, out, err) = pipes();
        screen.says("a\u{1b}[2J\tb");
        screen.in_its_place(&format!("{DIM}note{DIM:#}\n"));
        screen.says("c");
        screen.end_words();
        assert_eq!((out.read().as_str(), err.read().as_str()), ("a\u{1b}[2J\tbc\n", "note\n"));
        let (screen, paper) = terminal(true);
        screen.says("a\u{1b}[2J");
        screen.in_its_place(&format!("{DIM}note{DIM:#}\n"));
        assert_eq!(paper.read(), "a\\u{1b}[2J\n\u{1b}[2mnote\u{1b}[0m\n");
    }
}
