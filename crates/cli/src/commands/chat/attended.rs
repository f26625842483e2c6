//! Something that runs while the person may type, stop it, and answer questions.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use crossterm::event::Event;
use haft_agent::Steering;
use haft_contract::visible;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::footer::Footer;
use super::input::Input;
use super::keys::{Keys, Pressed};
use super::lines::Lines;
use super::queue::Queue;
use super::typing::{Act, Answer, Typed};
use crate::commands::interrupt::leave;
use crate::failure::Exit;
use crate::output::{DIM, note};
use crate::signals::Signals;
use crate::terminal::Screen;

/// How much of what waits is shown.
const SHOWN_CHARACTERS: usize = 200;

/// What came of it.
#[derive(Debug)]
pub(super) struct Attended<T> {
    pub(super) done: T,
    /// What was typed and not sent.
    pub(super) typed: String,
    /// What is to be said next.
    pub(super) later: VecDeque<String>,
    /// A signal that ends the whole conversation.
    pub(super) stopped: Option<Exit>,
}

/// What the person may do while something runs.
pub(super) struct Desk<'a> {
    pub(super) input: &'a mut Input,
    pub(super) signals: &'a mut Signals,
    pub(super) answers: &'a mpsc::Sender<String>,
    /// The id by which the conversation is found again.
    pub(super) session: &'a str,
    pub(super) steering: Steering,
    /// What was typed already, and not sent.
    pub(super) typed: &'a str,
    pub(super) cancel: CancellationToken,
    /// Shows what the last call got and gave, or every call.
    pub(super) details: &'a dyn Fn(bool),
}

/// Says how to go on later.
pub(super) fn way_back(session: &str) {
    note(&format!("haft chat --resume {session}"));
}

/// Runs something to its end.
pub(super) async fn attended<T>(running: impl Future<Output = T>, desk: Desk<'_>) -> Attended<T> {
    let Desk { input, signals, answers, session, steering, typed, cancel, details } = desk;
    let mut person = Person {
        screen: Screen::standard(),
        queue: Queue::new(steering),
        answers,
        session,
        cancel,
        details,
        looked: false,
        typed: Typed::default(),
    };
    person.typed.put_back(typed);
    match input {
        Input::Editor(editor) => match Keys::read(&editor.modes) {
            Ok(keys) => person.at_the_keys(running, keys, signals).await,
            Err(_) => person.away(running, signals).await,
        },
        Input::Lines(lines) if lines.attended => person.line_by_line(running, lines, signals).await,
        Input::Lines(_) => person.away(running, signals).await,
    }
}

/// Somebody who watches.
struct Person<'a> {
    screen: Arc<Screen>,
    queue: Queue,
    answers: &'a mpsc::Sender<String>,
    session: &'a str,
    cancel: CancellationToken,
    details: &'a dyn Fn(bool),
    /// Whether the details of the last call were asked for just now.
    looked: bool,
    typed: Typed,
}

impl Person<'_> {
    async fn at_the_keys<T>(mut self, running: impl Future<Output = T>, mut keys: Keys, signals: &mut Signals) -> Attended<T> {
        let mut running = std::pin::pin!(running);
        let (mut footer, mut answer, mut stopped) = (Footer::begin(Arc::clone(&self.screen)), Answer::default(), None);
        footer.show(&self.typed);
        let done = loop {
            tokio::select! {
                done = &mut running => break done,
                exit = signals.next() => self.signalled(exit, &mut stopped),
                Some(pressed) = keys.next() => self.pressed(pressed, &mut answer, &mut footer),
            }
        };
        for pressed in keys.end().await {
            self.pressed(pressed, &mut answer, &mut footer);
        }
        footer.end();
        self.left(done, stopped)
    }

    async fn line_by_line<T>(mut self, running: impl Future<Output = T>, lines: &mut Lines, signals: &mut Signals) -> Attended<T> {
        let mut running = std::pin::pin!(running);
        let mut stopped = None;
        let done = loop {
            tokio::select! {
                done = &mut running => break done,
                exit = signals.next() => self.signalled(exit, &mut stopped),
                Ok(Some((at, line))) = lines.next() => {
                    if self.screen.asked_at().is_some_and(|asked| at >= asked) {
                        // Nobody asks any more if it is not taken.
                        self.answers.try_send(line).ok();
                    } else if !line.trim().is_empty() {
                        let later = line.trim_start().starts_with(['/', '!']);
                        self.queued(line, later);
                    }
                }
            }
        };
        self.left(done, stopped)
    }

    /// Nobody types; signals alone stop it.
    async fn away<T>(mut self, running: impl Future<Output = T>, signals: &mut Signals) -> Attended<T> {
        let mut running = std::pin::pin!(running);
        let mut stopped = None;
        let done = loop {
            tokio::select! {
                done = &mut running => break done,
                exit = signals.next() => self.signalled(exit, &mut stopped),
            }
        };
        self.left(done, stopped)
    }

    fn left<T>(self, done: T, stopped: Option<Exit>) -> Attended<T> {
        Attended { done, typed: self.typed.into_text(), later: self.queue.into_rest(), stopped }
    }

    /// The first signal cancels; the second ends the process.
    fn signalled(&mut self, exit: Exit, stopped: &mut Option<Exit>) {
        if stopped.is_some() {
            way_back(self.session);
            leave(exit);
        }
        *stopped = Some(exit);
        self.stop();
    }

    /// What was said and not heard is typed text again.
    fn stop(&mut self) {
        if self.cancel.is_cancelled() {
            return;
        }
        let unheard = self.queue.take_all_back().join("\n");
        if !unheard.is_empty() {
            self.typed.put_back(&unheard);
        }
        self.cancel.cancel();
        note("cancelling; press Ctrl-C again to end at once");
    }

    fn pressed(&mut self, (at, event): Pressed, answer: &mut Answer, footer: &mut Footer) {
        if self.screen.asked_at().is_some_and(|asked| at >= asked) && !matches!(event, Event::Resize(..)) {
            return self.answered(&event, answer);
        }
        *answer = Answer::default();
        let act = match event {
            Event::Key(key) => self.typed.key(key),
            Event::Paste(text) => self.typed.insert(&text),
            Event::Resize(..) => {
                footer.resized();
                Act::Show
            }
            _ => Act::Nothing,
        };
        let details = act == Act::Details;
        match act {
            Act::Nothing => return,
            Act::Show => {}
            Act::Say(text) => self.queued(text, false),
            Act::SayLater(text) => self.queued(text, true),
            Act::TakeBack => self.take_back(),
            Act::Stop => self.stop(),
            Act::Details => (self.details)(self.looked),
        }
        self.looked = details && !self.looked;
        footer.show(&self.typed);
    }

    fn answered(&self, event: &Event, answer: &mut Answer) {
        let Event::Key(key) = event else { return };
        let (echo, line) = answer.key(*key);
        self.screen.aside(&echo);
        if let Some(line) = line {
            // Nobody asks any more if it is not taken.
            self.answers.try_send(line).ok();
        }
    }

    fn queued(&mut self, text: String, later: bool) {
        let when = if later { " for after the turn" } else { "" };
        note(&format!("{DIM}queued{when}: {}{DIM:#}", visible::shorten(text.trim(), SHOWN_CHARACTERS)));
        if later { self.queue.later(text) } else { self.queue.soon(text) }
    }

    fn take_back(&mut self) {
        if let Some(text) = self.queue.take_back() {
            note(&format!("{DIM}taken back: {}{DIM:#}", visible::shorten(text.trim(), SHOWN_CHARACTERS)));
            self.typed.put_back(&text);
        }
    }
}
