//! A turn on the terminal: streamed model output, one line for each call, and the usage at the end.

mod call;
mod details;
mod live;
mod outcome;
mod status;
mod style;
mod thoughts;
mod todos;
mod user_message;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use haft_agent::{EndReason, TurnEnd, TurnEvent, TurnWatcher};
use haft_contract::ToolResult;
use haft_text::display;

pub use self::call::subject as call_subject;
use self::call::{FinishedCall, RunningCall};
use self::live::{Ticker, WaitState};
pub use self::outcome::facts as outcome_facts;
use self::status::sentence;
pub(crate) use self::status::short;
use self::style::TurnStyle;
use self::thoughts::ThinkingLines;
use super::Screen;
use crate::markdown::MarkdownStream;
use crate::output::{self, CAUTION, DIM, Output, error_text};
use crate::table::wrap;

/// How many calls of a turn `/details` can show.
const DETAIL_CALLS: usize = 100;

/// Returns the current time.
type TurnClock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// Prints model output on standard output, everything else on standard error.
#[derive(Debug)]
pub struct TurnPrinter {
    view: Arc<TurnView>,
    /// Redraws the wait line while a turn runs.
    ticker: Mutex<Option<Ticker>>,
    ticks: bool,
}

impl TurnPrinter {
    pub fn new(output: &Output) -> Self {
        let mut turn = Self::on(Screen::standard(), TurnStyle::detect(output), Arc::new(Instant::now));
        turn.ticks = true;
        turn
    }

    fn on(screen: Arc<Screen>, style: TurnStyle, clock: TurnClock) -> Self {
        let state = Mutex::new(TurnState::at(clock()));
        Self { view: Arc::new(TurnView { screen, style, clock, state }), ticker: Mutex::default(), ticks: false }
    }

    /// Shows arguments and result of the last call.
    pub fn show_last_details(&self) {
        let state = self.view.state();
        self.view.show_details(state.calls.back());
    }

    /// Shows arguments and results of all calls of the last turn.
    pub fn show_all_details(&self) {
        let state = self.view.state();
        self.view.show_details(&state.calls);
    }

    fn set_ticking(&self, running: bool) {
        let ticker = if running && self.ticks && (self.view.style.live)().is_some() { Ticker::start(&self.view) } else { None };
        *self.ticker.lock().unwrap_or_else(PoisonError::into_inner) = ticker;
    }
}

impl TurnWatcher for TurnPrinter {
    fn event(&self, event: &TurnEvent<'_>) {
        self.view.event(event);
        match event {
            TurnEvent::Start { .. } => self.set_ticking(true),
            TurnEvent::End(_) => self.set_ticking(false),
            // A command of the user runs outside of turns.
            TurnEvent::ToolStart { .. } if !self.view.state().open => self.set_ticking(true),
            TurnEvent::ToolEnd(_) if !self.view.state().open => self.set_ticking(false),
            _ => {}
        }
    }
}

/// State that is shared with the ticker.
struct TurnView {
    screen: Arc<Screen>,
    style: TurnStyle,
    clock: TurnClock,
    /// Locked while something is written, so that the ticker draws nothing in between.
    state: Mutex<TurnState>,
}

haft_contract::opaque_debug!(TurnView: style = style);

#[derive(Debug)]
struct TurnState {
    /// Whether a turn runs.
    open: bool,
    model: String,
    /// Time of the last event.
    last_event: Instant,
    thinking: Option<ThinkingLines>,
    running: Vec<RunningCall>,
    /// The calls of the last turn.
    calls: VecDeque<FinishedCall>,
    /// Text of the model that is not printed yet.
    text: MarkdownStream,
}

impl TurnState {
    fn at(last_event: Instant) -> Self {
        Self {
            open: false,
            model: String::new(),
            last_event,
            thinking: None,
            running: Vec::new(),
            calls: VecDeque::new(),
            text: MarkdownStream::default(),
        }
    }
}

impl TurnView {
    fn state(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn event(&self, event: &TurnEvent<'_>) {
        let (mut state, now) = (self.state(), (self.clock)());
        state.last_event = now;
        if !matches!(event, TurnEvent::Thinking(_) | TurnEvent::ToolUpdate { .. } | TurnEvent::Usage(..)) {
            self.end_thinking(&mut state);
        }
        if !matches!(event, TurnEvent::Text(_) | TurnEvent::Thinking(_) | TurnEvent::ToolUpdate { .. } | TurnEvent::Usage(..)) {
            self.end_text(&mut state);
        }
        match event {
            TurnEvent::Start { model, .. } => *state = TurnState { open: true, model: (*model).to_owned(), ..TurnState::at(now) },
            TurnEvent::Text(text) if self.style.markdown => self.add_text(&mut state, text),
            TurnEvent::Text(text) => self.screen.write_model(text),
            TurnEvent::Thinking(text) => self.add_thinking(&mut state, text, now),
            TurnEvent::ToolStart { call_id, tool, arguments } => {
                self.screen.end_model_line();
                state.running.push(RunningCall::new(call_id, tool, arguments, now));
            }
            TurnEvent::ToolUpdate { call_id, tool, message } => self.update_call(&mut state, call_id, tool, message),
            TurnEvent::ToolEnd(result) => self.end_call(&mut state, result),
            TurnEvent::Todos(todos) if output::shows_todos() => self.write(&todos::render(todos, &self.style)),
            TurnEvent::Message(message) => self.write(&user_message::render(message, &self.style)),
            TurnEvent::Notice(text) => self.note(&self.wrapped(&display::escape_line(text), 0)),
            TurnEvent::End(end) => self.end_turn(&mut state, end),
            _ => {}
        }
    }

    fn note(&self, text: &str) {
        self.write(&format!("{text}\n"));
    }

    /// Writes whole lines.
    fn write(&self, lines: &str) {
        self.screen.end_model_line();
        self.screen.write_note(lines);
    }

    /// Prints the lines that are final. The ticker shows the one that is not in the last row.
    fn add_text(&self, state: &mut TurnState, text: &str) {
        let lines = state.text.push(&display::escape_lines(text), (self.style.columns)());
        if !lines.is_empty() {
            self.screen.write_rendered(&lines);
        }
    }

    fn end_text(&self, state: &mut TurnState) {
        let lines = state.text.finish((self.style.columns)());
        if !lines.is_empty() {
            self.screen.write_rendered(&lines);
        }
    }

    fn add_thinking(&self, state: &mut TurnState, text: &str, now: Instant) {
        let thinking = state.thinking.get_or_insert_with(|| ThinkingLines::begin(now));
        if self.style.verbose {
            let lines = thinking.add(text);
            if !lines.is_empty() {
                self.screen.end_model_line();
                self.screen.write_note(&lines);
            }
        }
        self.draw(state, now);
    }

    fn end_thinking(&self, state: &mut TurnState) {
        if let Some(thinking) = state.thinking.take() {
            self.screen.write_note(&thinking.end());
        }
    }

    fn update_call(&self, state: &mut TurnState, call_id: &str, tool: &str, message: &str) {
        let message = display::escape_line(message).into_owned();
        if self.style.verbose {
            self.note(&format!("{DIM}{}: {message}{DIM:#}", display::escape_line(tool)));
        }
        if let Some(running) = state.running.iter_mut().find(|running| running.id == call_id) {
            running.update = Some(message);
        }
    }

    fn end_call(&self, state: &mut TurnState, result: &ToolResult) {
        let index = state.running.iter().position(|running| running.id == result.call_id);
        let call = FinishedCall::new(index.map(|index| state.running.remove(index)), result);
        self.screen.end_model_line();
        self.screen.write_note(&call.render(&self.style));
        if self.style.verbose {
            self.screen.write_note(&call.details.render());
        }
        if state.calls.len() == DETAIL_CALLS {
            state.calls.pop_front();
        }
        state.calls.push_back(call);
    }

    fn end_turn(&self, state: &mut TurnState, end: &TurnEnd) {
        (state.open, state.running) = (false, Vec::new());
        self.screen.end_model_line();
        self.screen.clear_line();
        if let Some(sentence) = sentence(end) {
            let sentence = self.wrapped(&display::escape_lines(&sentence), "warning: ".len());
            self.note(&match end.reason {
                EndReason::Failed => error_text(&sentence, None),
                EndReason::Cancelled => format!("{DIM}{sentence}{DIM:#}"),
                _ => format!("{CAUTION}warning{CAUTION:#}: {sentence}"),
            });
        }
        if !output::shows_usage() {
            return;
        }
        let columns = (self.style.columns)();
        for line in style::join_facts(&status::facts(end, self.style.symbols), self.style.symbols, columns) {
            self.note(&format!("{DIM}{line}{DIM:#}"));
        }
    }

    /// Prose broken at words, with space for what is written before it.
    fn wrapped(&self, text: &str, before: usize) -> String {
        match (self.style.columns)() {
            Some(columns) => {
                let filled = format!("{}{text}", "x".repeat(before));
                wrap(&filled, columns).join("\n").split_off(before)
            }
            None => text.to_owned(),
        }
    }

    fn show_details<'a>(&self, calls: impl IntoIterator<Item = &'a FinishedCall>) {
        let text: String = calls.into_iter().map(|call| call.render_line(&self.style) + &call.details.render()).collect();
        let none = format!("{DIM}The last turn has no calls.{DIM:#}\n");
        self.screen.write_note(if text.is_empty() { &none } else { &text });
    }

    fn tick(&self) {
        let state = self.state();
        if state.open || !state.running.is_empty() {
            self.draw(&state, (self.clock)());
        }
    }

    fn draw(&self, state: &TurnState, now: Instant) {
        let Some(columns) = (self.style.live)() else { return };
        let thinking = state.thinking.as_ref().map(ThinkingLines::since);
        let wait = WaitState { running: &state.running, thinking, last_event: state.last_event, model: &state.model };
        let tail = Some(state.text.tail()).filter(|tail| !tail.is_empty());
        match tail.or_else(|| live::wait_text(&wait, self.style.symbols, now)) {
            Some(text) => self.screen.show_waiting(&text, columns),
            None => self.screen.clear_waiting(),
        }
    }
}

#[cfg(test)]
mod screens;
#[cfg(test)]
mod tests;
