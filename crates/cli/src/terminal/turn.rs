//! A turn as a person sees it: the model's words as they come, one line for each call, and what it all took.

mod call;
mod details;
mod diff;
mod face;
mod live;
mod outcome;
mod status;
mod thoughts;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use haft_agent::{EndReason, TurnEnd, TurnEvent, Watcher};
use haft_contract::{ToolResult, visible};

use self::call::{Call, Running};
use self::face::Face;
use self::live::{Ticker, Waited};
use self::status::sentence;
pub(crate) use self::status::short;
use self::thoughts::Thoughts;
use super::Screen;
use crate::output::{CARE, DIM, Output, error_text};

/// How many calls of a turn are kept to be shown again.
const KEPT_CALLS: usize = 100;

/// When it is.
type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// The model's words on standard output, everything else on standard error.
#[derive(Debug)]
pub(crate) struct TurnOnTerminal {
    shown: Arc<Shown>,
    /// Runs while a turn does, where something may move.
    ticker: Mutex<Option<Ticker>>,
    ticks: bool,
}

impl TurnOnTerminal {
    pub(crate) fn new(output: &Output) -> Self {
        let mut turn = Self::on(Screen::standard(), Face::of(output), Arc::new(Instant::now));
        turn.ticks = true;
        turn
    }

    fn on(screen: Arc<Screen>, face: Face, clock: Clock) -> Self {
        let state = Mutex::new(State::at(clock()));
        Self { shown: Arc::new(Shown { screen, face, clock, state }), ticker: Mutex::default(), ticks: false }
    }

    /// Shows what the last call was given and what it gave back.
    pub(crate) fn show_last_details(&self) {
        let state = self.shown.state();
        self.shown.show_details(state.calls.back());
    }

    /// Shows that of all calls of the last turn.
    pub(crate) fn show_all_details(&self) {
        let state = self.shown.state();
        self.shown.show_details(&state.calls);
    }

    fn move_on(&self, moving: bool) {
        let ticker = if moving && self.ticks && (self.shown.face.live)().is_some() { Ticker::start(&self.shown) } else { None };
        *self.ticker.lock().unwrap_or_else(PoisonError::into_inner) = ticker;
    }
}

impl Watcher for TurnOnTerminal {
    fn event(&self, event: &TurnEvent<'_>) {
        self.shown.event(event);
        match event {
            TurnEvent::Start { .. } => self.move_on(true),
            TurnEvent::End(_) => self.move_on(false),
            _ => {}
        }
    }
}

/// What is shared with whoever moves the last line.
struct Shown {
    screen: Arc<Screen>,
    face: Face,
    clock: Clock,
    /// Held while something is written, so that nothing moves in between.
    state: Mutex<State>,
}

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shown").field("face", &self.face).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct State {
    /// Whether a turn goes on.
    open: bool,
    model: String,
    /// When something was heard last.
    heard: Instant,
    thoughts: Option<Thoughts>,
    running: Vec<Running>,
    /// The calls of the last turn.
    calls: VecDeque<Call>,
}

impl State {
    fn at(heard: Instant) -> Self {
        Self { open: false, model: String::new(), heard, thoughts: None, running: Vec::new(), calls: VecDeque::new() }
    }
}

impl Shown {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn event(&self, event: &TurnEvent<'_>) {
        let (mut state, now) = (self.state(), (self.clock)());
        state.heard = now;
        if !matches!(event, TurnEvent::Thinking(_) | TurnEvent::ToolUpdate { .. } | TurnEvent::Usage(..)) {
            self.thought(&mut state);
        }
        match event {
            TurnEvent::Start { model, .. } => *state = State { open: true, model: (*model).to_owned(), ..State::at(now) },
            TurnEvent::Text(text) => self.screen.says(text),
            TurnEvent::Thinking(text) => self.thinks(&mut state, text, now),
            TurnEvent::ToolStart { call_id, tool, arguments } => {
                self.screen.end_words();
                state.running.push(Running::new(call_id, tool, arguments, now));
            }
            TurnEvent::ToolUpdate { call_id, tool, message } => self.updates(&mut state, call_id, tool, message),
            TurnEvent::ToolEnd(result) => self.ends(&mut state, result),
            TurnEvent::Notice(text) => self.note(&visible::line(text)),
            TurnEvent::End(end) => self.over(&mut state, end),
            _ => {}
        }
    }

    fn note(&self, text: &str) {
        self.screen.end_words();
        self.screen.in_its_place(&format!("{text}\n"));
    }

    fn thinks(&self, state: &mut State, text: &str, now: Instant) {
        let thoughts = state.thoughts.get_or_insert_with(|| Thoughts::begin(now));
        if self.face.verbose {
            let lines = thoughts.add(text);
            if !lines.is_empty() {
                self.screen.end_words();
                self.screen.in_its_place(&lines);
            }
        }
        self.draw(state, now);
    }

    /// Whatever the model does next, its thought is at an end.
    fn thought(&self, state: &mut State) {
        if let Some(thoughts) = state.thoughts.take() {
            self.screen.in_its_place(&thoughts.end());
        }
    }

    fn updates(&self, state: &mut State, call_id: &str, tool: &str, message: &str) {
        let message = visible::line(message).into_owned();
        if self.face.verbose {
            self.note(&format!("{DIM}{}: {message}{DIM:#}", visible::line(tool)));
        }
        if let Some(running) = state.running.iter_mut().find(|running| running.id == call_id) {
            running.update = Some(message);
        }
    }

    fn ends(&self, state: &mut State, result: &ToolResult) {
        let place = state.running.iter().position(|running| running.id == result.call_id);
        let call = Call::of(place.map(|place| state.running.remove(place)), result);
        self.screen.end_words();
        self.screen.in_its_place(&call.shown(&self.face));
        if self.face.verbose {
            self.screen.in_its_place(&call.details.shown());
        }
        if state.calls.len() == KEPT_CALLS {
            state.calls.pop_front();
        }
        state.calls.push_back(call);
    }

    fn over(&self, state: &mut State, end: &TurnEnd) {
        (state.open, state.running) = (false, Vec::new());
        self.screen.end_words();
        self.screen.stop_waiting();
        if let Some(sentence) = sentence(end) {
            let sentence = visible::lines(&sentence);
            self.note(&match end.reason {
                EndReason::Failed => error_text(&sentence, None),
                EndReason::Cancelled => format!("{DIM}{sentence}{DIM:#}"),
                _ => format!("{CARE}warning{CARE:#}: {sentence}"),
            });
        }
        let columns = (self.face.columns)();
        for line in face::in_lines(&status::facts(end, self.face.marks), self.face.marks, columns) {
            self.note(&format!("{DIM}{line}{DIM:#}"));
        }
    }

    fn show_details<'a>(&self, calls: impl IntoIterator<Item = &'a Call>) {
        let text: String = calls.into_iter().map(|call| call.shown(&self.face) + &call.details.shown()).collect();
        let none = format!("{DIM}There was no call in the last turn.{DIM:#}\n");
        self.screen.in_its_place(if text.is_empty() { &none } else { &text });
    }

    /// Looks at what is waited for.
    fn tick(&self) {
        let state = self.state();
        if state.open {
            self.draw(&state, (self.clock)());
        }
    }

    fn draw(&self, state: &State, now: Instant) {
        let Some(columns) = (self.face.live)() else { return };
        let thinking = state.thoughts.as_ref().map(Thoughts::since);
        let waited = Waited { running: &state.running, thinking, heard: state.heard, model: &state.model };
        match live::text(&waited, self.face.marks, now) {
            Some(text) => self.screen.waits(&text, columns),
            None => self.screen.waits_no_more(),
        }
    }
}

#[cfg(test)]
mod tests;
