//! A question and its answer, and follow-up questions, without other questions in between.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::answer_line::{AnswerLine, LineAction};
use super::screen::{Screen, ScreenQuestion};
use super::typed::{Keyboard, Typed, TypedSource, character};
use crate::output::live_columns;

/// Shown when a question is dropped without an answer.
const DROPPED: &str = "(No answer is needed any more: the question timed out, or was answered elsewhere.)\n";
/// How often a countdown is redrawn.
const TICK: Duration = Duration::from_secs(1);

/// A dialogue with the user; one at a time.
pub(super) struct Dialogue<'a> {
    keyboard: Keyboard<'a>,
    screen: Arc<Screen>,
    /// When the question is withdrawn, if that is shown.
    deadline: Option<Instant>,
    unanswered: bool,
    _questioning: ScreenQuestion,
}

impl<'a> Dialogue<'a> {
    pub(super) fn begin(source: &'a mut TypedSource) -> Self {
        let screen = Screen::standard();
        let questioning = ScreenQuestion::begin(Arc::clone(&screen));
        Self { keyboard: Keyboard::open(source), screen, deadline: None, unanswered: false, _questioning: questioning }
    }

    /// Counts down to the time limit of the question, where a line can be redrawn.
    pub(super) fn count_down(&mut self, limit: Option<Duration>) {
        self.deadline = limit.filter(|_| live_columns().is_some()).map(|limit| Instant::now() + limit);
    }

    /// Shows text, and waits for a key that is an answer, or for a line where keys cannot be read. Escape is the empty answer. `None`
    /// when the input ends.
    pub(super) async fn choose<T>(&mut self, text: &str, prompt: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.start(text);
        self.screen.prompt(&self.timed(prompt));
        let answer = loop {
            let Some(typed) = self.next(prompt).await else { break None };
            let mut key = [0; 4];
            let text = match &typed {
                Typed::Key(pressed) if typed.answer().is_none() => character(*pressed).map(|ch| &*ch.encode_utf8(&mut key)),
                _ => typed.answer(),
            };
            let answer = text.and_then(&parse);
            if let (Typed::Key(_), Some(text), Some(_)) = (&typed, text, &answer) {
                self.screen.draw(&format!("{text}\n"));
            }
            if matches!(typed, Typed::Line(_)) || answer.is_some() {
                self.screen.end_answer();
            }
            if answer.is_some() {
                break answer;
            }
            if matches!(typed, Typed::Line(_)) {
                self.screen.prompt(&self.timed(prompt));
            }
        };
        self.unanswered = false;
        answer
    }

    /// Shows text, and reads a line that begins with `typed`. `None` when the input ends or the user gives up.
    pub(super) async fn line(&mut self, text: &str, prompt: &str, typed: &str) -> Option<String> {
        self.start(text);
        self.screen.prompt(prompt);
        let mut line = AnswerLine::new(typed);
        self.show_line(prompt, &line);
        let done = loop {
            match self.keyboard.next().await {
                None => break None,
                Some(Typed::Line(text)) => break Some(text),
                Some(Typed::Paste(text)) => line.paste(&text),
                Some(Typed::Key(key)) => match line.key(key) {
                    LineAction::Show => {}
                    LineAction::Done => break Some(std::mem::take(&mut line).into_text()),
                    LineAction::GiveUp => break None,
                },
            }
            self.show_line(prompt, &line);
        };
        if matches!(self.keyboard, Keyboard::Keys(..)) || live_columns().is_some() {
            self.screen.draw("\n");
        }
        self.screen.end_answer();
        self.unanswered = false;
        done
    }

    /// Prompts for lines until one parses. `None` when the input ends.
    pub(super) async fn ask<T>(&mut self, text: &str, prompt: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let mut text = text;
        loop {
            let line = self.line(text, prompt, "").await?;
            if let Some(answer) = parse(line.trim()) {
                return Some(answer);
            }
            text = "";
        }
    }

    fn start(&mut self, text: &str) {
        self.keyboard.discard();
        self.unanswered = true;
        self.screen.write_note(text);
    }

    /// The next input; the prompt counts down meanwhile.
    async fn next(&mut self, prompt: &str) -> Option<Typed> {
        loop {
            let Some(deadline) = self.deadline.filter(|deadline| *deadline > Instant::now()) else { return self.keyboard.next().await };
            let tick = (Instant::now() + TICK).min(deadline);
            tokio::select! {
                typed = self.keyboard.next() => return typed,
                () = sleep_until(tick) => self.screen.redraw_prompt(&self.timed(prompt)),
            }
        }
    }

    fn timed(&self, prompt: &str) -> String {
        match self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()).as_millis().div_ceil(1000)) {
            Some(seconds) => format!("{seconds} s left {prompt}"),
            None => prompt.to_owned(),
        }
    }

    fn show_line(&self, prompt: &str, line: &AnswerLine) {
        let Some(columns) = live_columns() else { return };
        let (text, behind) = line.window(columns.saturating_sub(prompt.chars().count() + 1));
        let back = if behind > 0 { format!("\x1b[{behind}D") } else { String::new() };
        self.screen.redraw_prompt(&format!("{prompt}{text}{back}"));
    }
}

impl Drop for Dialogue<'_> {
    fn drop(&mut self) {
        if self.unanswered {
            self.screen.write_note(DROPPED);
        }
    }
}
