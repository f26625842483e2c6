//! The last line of the terminal, shared by streamed model output, the wait line and questions. Finished lines are never
//! redrawn.

mod drawing;
#[cfg(test)]
pub(super) mod testing;

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anstream::{AutoStream, ColorChoice};
use haft_text::display;
use haft_text::truncate::ellipsize_to_width;
use tokio::sync::watch;

use self::drawing::{column_after, erase, fits, redraw};

/// Whether standard output and standard error are the same terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamLayout {
    Shared,
    /// At least one goes into a file or a pipe.
    Separate,
}

/// What is on the last line besides model output.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LastLine {
    Free,
    /// The wait line.
    Waiting(String),
    /// A question that must stay until it is answered.
    Question(QuestionCursor),
}

/// The cursor while a question is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuestionCursor {
    LineStart,
    /// After the prompt and typed text.
    Prompt,
}

/// How text is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScreenStyle {
    pub(crate) layout: StreamLayout,
    /// Whether model output is escaped: on a terminal, not in a pipe.
    pub(crate) escaped: bool,
    /// Whether other text keeps its styles.
    pub(crate) coloured: bool,
}

/// Standard output and standard error.
pub(crate) struct Screen {
    style: ScreenStyle,
    state: Mutex<ScreenState>,
    /// Changes with every note that is held.
    holds: watch::Sender<()>,
}

struct ScreenState {
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
    /// Column after the model output; 0 at the start of a line.
    column: usize,
    line: LastLine,
    /// When the last question was asked.
    asked: Option<Instant>,
    /// Notes that wait while the line editor draws.
    held: Option<String>,
}

haft_contract::opaque_debug!(Screen: style = style);

impl Screen {
    pub(crate) fn new(style: ScreenStyle, out: Box<dyn Write + Send>, err: Box<dyn Write + Send>) -> Self {
        Self {
            style,
            state: Mutex::new(ScreenState { out, err, column: 0, line: LastLine::Free, asked: None, held: None }),
            holds: watch::Sender::new(()),
        }
    }

    /// The screen of this process.
    pub(crate) fn standard() -> Arc<Self> {
        static STANDARD: LazyLock<Arc<Screen>> = LazyLock::new(|| {
            let terminal = io::stdout().is_terminal();
            let layout = if terminal && io::stderr().is_terminal() { StreamLayout::Shared } else { StreamLayout::Separate };
            let coloured = AutoStream::choice(&io::stderr()) != ColorChoice::Never;
            let style = ScreenStyle { layout, escaped: terminal, coloured };
            Arc::new(Screen::new(style, Box::new(io::stdout()), Box::new(io::stderr())))
        });
        Arc::clone(&STANDARD)
    }

    fn state(&self) -> MutexGuard<'_, ScreenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes model output.
    pub(crate) fn write_model(&self, text: &str) {
        let text = if self.style.escaped { display::escape_lines(text) } else { text.into() };
        let mut state = self.state();
        self.clear(&mut state);
        state.column = column_after(state.column, &text);
        state.write_out(&text);
    }

    /// Writes whole lines of model output that were rendered, so that they are escaped already.
    pub(crate) fn write_rendered(&self, lines: &str) {
        let mut state = self.state();
        self.clear(&mut state);
        let lines = self.styled(lines);
        state.write_out(&lines);
    }

    /// Ends the line of the model output, if one has begun.
    pub(crate) fn end_model_line(&self) {
        let mut state = self.state();
        if state.column > 0 {
            self.clear(&mut state);
            state.column = 0;
            state.write_out("\n");
        }
    }

    /// Shows the wait line, on a terminal of this width.
    pub(crate) fn show_waiting(&self, text: &str, columns: usize) {
        let mut state = self.state();
        if matches!(state.line, LastLine::Question(_)) {
            return;
        }
        let (after_text, text) = match self.column(&state) {
            0 => (false, ellipsize_to_width(text, columns.saturating_sub(1))),
            column => (true, if fits(column, text, columns) { format!(" {text}") } else { String::new() }),
        };
        let before = if let LastLine::Waiting(before) = &state.line { before.clone() } else { String::new() };
        if text != before {
            state.write_err(&redraw(&before, &text, after_text, self.style.coloured));
            state.line = if text.is_empty() { LastLine::Free } else { LastLine::Waiting(text) };
        }
    }

    /// Writes to standard error: in place of the wait line, below the prompt, or below the model output.
    pub(crate) fn write_note(&self, text: &str) {
        let mut state = self.state();
        if let Some(held) = &mut state.held {
            held.push_str(text);
            self.holds.send_replace(());
            return;
        }
        self.put(&mut state, text);
    }

    /// Holds notes until it is dropped: the line editor draws, and what is written meanwhile would tear it apart.
    pub(crate) fn hold_notes(self: Arc<Self>) -> HeldNotes {
        self.state().held.get_or_insert_default();
        HeldNotes(self)
    }

    /// Resolves when a note is held.
    pub(crate) fn note_is_held(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut holds = self.holds.subscribe();
        async move {
            if holds.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Clears the wait line. A question stays.
    pub(crate) fn clear_waiting(&self) {
        let mut state = self.state();
        if matches!(state.line, LastLine::Waiting(_)) {
            self.clear(&mut state);
        }
    }

    /// Clears the wait line, or ends the line of the prompt.
    pub(crate) fn clear_line(&self) {
        self.clear(&mut self.state());
    }

    /// Shows a prompt, after which the answer is typed.
    pub(super) fn prompt(&self, text: &str) {
        let mut state = self.state();
        // Before it is visible, so that every answer is later.
        let asked = Instant::now();
        self.put(&mut state, text);
        (state.line, state.asked) = (LastLine::Question(QuestionCursor::Prompt), Some(asked));
    }

    /// Draws the prompt of the open question again, in its own row.
    pub(super) fn redraw_prompt(&self, text: &str) {
        let mut state = self.state();
        if state.line == LastLine::Question(QuestionCursor::Prompt) {
            let text = format!("\r\x1b[2K{text}");
            state.write_err(&text);
        }
    }

    /// The user ended the line of the answer.
    pub(super) fn end_answer(&self) {
        self.state().line = LastLine::Question(QuestionCursor::LineStart);
    }

    /// When the open question was asked; earlier input is no answer to it.
    pub(crate) fn asked_at(&self) -> Option<Instant> {
        let state = self.state();
        state.asked.filter(|_| matches!(state.line, LastLine::Question(_)))
    }

    /// Draws text that leaves the cursor where it was, or echoes typed text.
    pub(crate) fn draw(&self, text: &str) {
        self.state().write_err(text);
    }

    pub(crate) fn is_coloured(&self) -> bool {
        self.style.coloured
    }

    fn put(&self, state: &mut ScreenState, text: &str) {
        self.clear(state);
        if self.column(state) > 0 {
            state.column = 0;
            state.write_out("\n");
        }
        state.write_err(&self.styled(text));
    }

    fn clear(&self, state: &mut ScreenState) {
        match &state.line {
            LastLine::Waiting(text) => {
                state.write_err(&erase(text, self.column(state) > 0));
                state.line = LastLine::Free;
            }
            LastLine::Question(QuestionCursor::Prompt) => {
                state.line = LastLine::Question(QuestionCursor::LineStart);
                state.write_err("\n");
            }
            LastLine::Free | LastLine::Question(QuestionCursor::LineStart) => {}
        }
    }

    /// The column at which standard error continues.
    fn column(&self, state: &ScreenState) -> usize {
        if self.style.layout == StreamLayout::Shared { state.column } else { 0 }
    }

    fn styled(&self, text: &str) -> String {
        if self.style.coloured { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() }
    }
}

impl ScreenState {
    // A failed write has nowhere to be reported.
    fn write_out(&mut self, text: &str) {
        self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).ok();
    }
    fn write_err(&mut self, text: &str) {
        self.err.write_all(text.as_bytes()).and_then(|()| self.err.flush()).ok();
    }
}

/// While it exists, notes wait.
#[derive(Debug)]
pub(crate) struct HeldNotes(Arc<Screen>);

impl Drop for HeldNotes {
    fn drop(&mut self) {
        let held = self.0.state().held.take().unwrap_or_default();
        if !held.is_empty() {
            self.0.write_note(&format!("\n{held}"));
        }
    }
}

/// While it exists, a question is on the last line.
#[derive(Debug)]
pub(super) struct ScreenQuestion(Arc<Screen>);

impl ScreenQuestion {
    pub(super) fn begin(screen: Arc<Screen>) -> Self {
        let mut state = screen.state();
        // The question starts on its own line.
        screen.put(&mut state, "");
        (state.line, state.asked) = (LastLine::Question(QuestionCursor::LineStart), None);
        drop(state);
        Self(screen)
    }
}

impl Drop for ScreenQuestion {
    fn drop(&mut self) {
        let mut state = self.0.state();
        self.0.clear(&mut state);
        state.line = LastLine::Free;
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{pipes, terminal};
    use super::*;
    use crate::output::DIM;

    #[test]
    fn screen_redraws_only_the_last_line() {
        let (screen, paper) = terminal(false);
        screen.show_waiting("waiting 9 s", 80);
        screen.show_waiting("waiting 9 s", 80);
        screen.show_waiting("one 1 s", 80);
        screen.write_note("done\n");
        screen.show_waiting("long enough to be cut", 10);
        screen.clear_line();
        assert_eq!(paper.read(), "\rwaiting 9 s\rone 1 s    \r       \rdone\n\rlong eno…\r         \r");
    }

    #[test]
    fn wait_line_after_model_output_can_be_erased() {
        let (screen, paper) = terminal(false);
        screen.write_model("Let me");
        screen.show_waiting("12 s", 20);
        screen.show_waiting("13 s", 20);
        screen.write_model(" see");
        screen.show_waiting("too long for this line", 20);
        screen.write_note("a note\n");
        screen.write_model("so");
        screen.end_model_line();
        screen.end_model_line();
        let back = "\u{8}".repeat(5);
        assert_eq!(paper.read(), format!("Let me 12 s{back} 13 s{back}     {back} see\na note\nso\n"));
    }

    #[test]
    fn nothing_is_drawn_over_a_question() {
        let (screen, paper) = terminal(false);
        screen.write_model("I will");
        screen.show_waiting("12 s", 80);
        let question = ScreenQuestion::begin(Arc::clone(&screen));
        screen.prompt("yes? ");
        screen.show_waiting("13 s", 80);
        screen.clear_waiting();
        assert!(screen.asked_at().is_some());
        screen.write_note("a note\n");
        screen.prompt("yes? ");
        screen.end_answer();
        drop(question);
        assert!(screen.asked_at().is_none());
        let back = "\u{8}".repeat(5);
        assert_eq!(paper.read(), format!("I will 12 s{back}     {back}\nyes? \na note\nyes? "));
    }

    #[test]
    fn pipes_get_raw_text_and_terminals_escaped_text() {
        let (screen, out, err) = pipes();
        screen.write_model("a\u{1b}[2J\tb");
        screen.write_note(&format!("{DIM}note{DIM:#}\n"));
        screen.write_model("c");
        screen.end_model_line();
        assert_eq!((out.read().as_str(), err.read().as_str()), ("a\u{1b}[2J\tbc\n", "note\n"));
        let (screen, paper) = terminal(true);
        screen.write_model("a\u{1b}[2J");
        screen.write_note(&format!("{DIM}note{DIM:#}\n"));
        assert_eq!(paper.read(), "a\\u{1b}[2J\n\u{1b}[2mnote\u{1b}[0m\n");
    }
}
