//! Input while a turn runs: messages for the model, answers to questions, and signals that stop the turn.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use crossterm::event::Event;
use haft_agent::Steering;
use haft_text::display;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::footer::Footer;
use super::input::ChatInput;
use super::input_buffer::{InputBuffer, KeyAction};
use super::line_reader::LineReader;
use super::message_queue::MessageQueue;
use crate::failure::Exit;
use crate::interrupt::leave;
use crate::output::{DIM, note};
use crate::signals::Signals;
use crate::terminal::{KeyPress, KeyReader, Screen, Terminal, Typed};

/// How much of a queued message is shown.
const SHOWN_CHARACTERS: usize = 200;

/// The result of a turn, and the input that it did not use.
#[derive(Debug)]
pub(super) struct LiveResult<T> {
    pub(super) done: T,
    /// Typed and not sent.
    pub(super) typed: String,
    /// To be sent after the turn.
    pub(super) later: VecDeque<String>,
    /// A signal that ends the conversation.
    pub(super) stopped: Option<Exit>,
}

/// Where input comes from and goes to while a turn runs.
pub(super) struct LiveInput<'a> {
    pub(super) input: &'a mut ChatInput,
    pub(super) signals: &'a mut Signals,
    /// Answers to questions.
    pub(super) answers: &'a mpsc::Sender<Typed>,
    /// The session id.
    pub(super) session: &'a str,
    pub(super) steering: Steering,
    /// Typed before and not sent.
    pub(super) typed: &'a str,
    pub(super) cancel: CancellationToken,
    /// Shows the details of the last call, or of every call.
    pub(super) details: &'a dyn Fn(bool),
}

/// Prints how to resume the session.
pub(super) fn print_resume_command(session: &str) {
    note(&format!("haft chat --resume {session}"));
}

/// Runs a turn to its end.
pub(super) async fn run_with_input<T>(running: impl Future<Output = T>, live: LiveInput<'_>) -> LiveResult<T> {
    let LiveInput { input, signals, answers, session, steering, typed, cancel, details } = live;
    let mut handler = InputHandler {
        screen: Screen::standard(),
        queue: MessageQueue::new(steering),
        answers,
        session,
        cancel,
        details,
        details_shown: false,
        buffer: InputBuffer::default(),
        stopped: None,
    };
    handler.buffer.put_back(typed);
    let terminal = Terminal::standard();
    let _answering = terminal.answering();
    match input {
        ChatInput::Editor(editor) => match KeyReader::read(&editor.modes) {
            Ok(keys) => handler.read_keys(running, keys, signals).await,
            Err(_) => handler.read_signals(running, signals).await,
        },
        ChatInput::Lines(lines) if lines.attended => handler.read_lines(running, lines, signals).await,
        ChatInput::Lines(_) => handler.read_signals(running, signals).await,
    }
}

struct InputHandler<'a> {
    screen: Arc<Screen>,
    queue: MessageQueue,
    answers: &'a mpsc::Sender<Typed>,
    session: &'a str,
    cancel: CancellationToken,
    details: &'a dyn Fn(bool),
    /// Whether the last key showed the details of the last call.
    details_shown: bool,
    buffer: InputBuffer,
    stopped: Option<Exit>,
}

impl InputHandler<'_> {
    async fn read_keys<T>(mut self, running: impl Future<Output = T>, mut keys: KeyReader, signals: &mut Signals) -> LiveResult<T> {
        let mut running = std::pin::pin!(running);
        let mut footer = Footer::begin(Arc::clone(&self.screen));
        footer.show(&self.buffer);
        let done = loop {
            tokio::select! {
                done = &mut running => break done,
                exit = signals.next() => self.handle_signal(exit),
                Some(press) = keys.next() => self.handle_key(press, &mut footer),
            }
        };
        for press in keys.end().await {
            self.handle_key(press, &mut footer);
        }
        footer.end();
        self.finish(done)
    }

    async fn read_lines<T>(mut self, running: impl Future<Output = T>, lines: &mut LineReader, signals: &mut Signals) -> LiveResult<T> {
        let mut running = std::pin::pin!(running);
        let done = loop {
            tokio::select! {
                done = &mut running => break done,
                exit = signals.next() => self.handle_signal(exit),
                Ok(Some((at, line))) = lines.next() => {
                    if self.screen.asked_at().is_some_and(|asked| at >= asked) {
                        // Fails only if the question is gone.
                        self.answers.try_send(Typed::Line(line)).ok();
                    } else if !line.trim().is_empty() {
                        let later = line.trim_start().starts_with(['/', '!']);
                        self.queue_message(line, later);
                    }
                }
            }
        };
        self.finish(done)
    }

    /// Without a keyboard: only signals stop the turn.
    async fn read_signals<T>(mut self, running: impl Future<Output = T>, signals: &mut Signals) -> LiveResult<T> {
        let mut running = std::pin::pin!(running);
        let done = loop {
            tokio::select! {
                done = &mut running => break done,
                exit = signals.next() => self.handle_signal(exit),
            }
        };
        self.finish(done)
    }

    fn finish<T>(self, done: T) -> LiveResult<T> {
        LiveResult { done, typed: self.buffer.into_text(), later: self.queue.into_rest(), stopped: self.stopped }
    }

    /// The first signal cancels the turn; the second ends the process.
    fn handle_signal(&mut self, exit: Exit) {
        if self.stopped.is_some() {
            print_resume_command(self.session);
            leave(exit);
        }
        self.stopped = Some(exit);
        self.stop();
    }

    /// Cancels the turn. Messages that the model did not get go back into the input line.
    fn stop(&mut self) {
        if self.cancel.is_cancelled() {
            return;
        }
        let unsent = self.queue.take_all_back().join("\n");
        if !unsent.is_empty() {
            self.buffer.put_back(&unsent);
        }
        self.cancel.cancel();
        note("cancelling; press Ctrl-C again to end at once");
    }

    fn handle_key(&mut self, (at, event): KeyPress, footer: &mut Footer) {
        if self.screen.asked_at().is_some_and(|asked| at >= asked) && !matches!(event, Event::Resize(..)) {
            return self.type_answer(event);
        }
        let action = match event {
            Event::Key(key) => self.buffer.key(key),
            Event::Paste(text) => self.buffer.insert(&text),
            Event::Resize(..) => {
                footer.resized();
                KeyAction::Show
            }
            _ => KeyAction::Nothing,
        };
        let details = action == KeyAction::Details;
        match action {
            KeyAction::Nothing => return,
            KeyAction::Show => {}
            KeyAction::Send(text) => self.queue_message(text, false),
            KeyAction::SendLater(text) => self.queue_message(text, true),
            KeyAction::TakeBack => self.take_back(),
            KeyAction::Stop => self.stop(),
            KeyAction::Details => (self.details)(self.details_shown),
        }
        self.details_shown = details && !self.details_shown;
        footer.show(&self.buffer);
    }

    fn type_answer(&self, event: Event) {
        if let Some(typed) = Typed::from_event(event) {
            // Fails only if the question is gone.
            self.answers.try_send(typed).ok();
        }
    }

    fn queue_message(&mut self, text: String, later: bool) {
        let when = if later { " for after the turn" } else { "" };
        note(&format!("{DIM}queued{when}: {}{DIM:#}", display::shorten(text.trim(), SHOWN_CHARACTERS)));
        if later { self.queue.later(text) } else { self.queue.soon(text) }
    }

    fn take_back(&mut self) {
        if let Some(text) = self.queue.take_back() {
            note(&format!("{DIM}taken back: {}{DIM:#}", display::shorten(text.trim(), SHOWN_CHARACTERS)));
            self.buffer.put_back(&text);
        }
    }
}
