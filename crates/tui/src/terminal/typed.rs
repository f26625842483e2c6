//! What the user types while a question is open.

use std::io;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::mpsc;

use super::key_reader::KeyReader;
use super::modes::TerminalModes;
use crate::output::live_columns;

/// How many lines are read ahead.
const WAITING: usize = 4;

/// One thing that was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    Key(KeyEvent),
    /// Pasted text.
    Paste(String),
    /// A line, where keys cannot be read one by one.
    Line(String),
}

impl Typed {
    /// What denies every question.
    pub(crate) fn denial() -> Self {
        Self::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE))
    }

    /// `None` for events that type nothing.
    pub(crate) fn from_event(event: Event) -> Option<Self> {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => Some(Self::Key(key)),
            Event::Paste(text) => Some(Self::Paste(text)),
            _ => None,
        }
    }

    /// The answer to a question of one key: the key, or the line. Escape and Ctrl-D are an empty answer.
    pub(super) fn answer(&self) -> Option<&str> {
        match self {
            Self::Line(line) => Some(line.trim()),
            Self::Key(key) if is_end(*key) => Some(""),
            Self::Key(_) | Self::Paste(_) => None,
        }
    }
}

/// Whether a key gives up: Escape, Ctrl-D.
pub(super) fn is_end(key: KeyEvent) -> bool {
    key.code == KeyCode::Esc || key.code == KeyCode::Char('d') && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// The plain character of a key.
pub(super) fn character(key: KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(ch) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => Some(ch),
        _ => None,
    }
}

/// Where typed input comes from.
#[derive(Debug, Default)]
pub(super) enum TypedSource {
    /// Absent until the first question: input before it belongs to the shell.
    #[default]
    Unopened,
    /// Another part of the process reads the keyboard, or a thread reads lines.
    Channel(mpsc::Receiver<Typed>),
}

/// The keyboard of one dialogue.
#[derive(Debug)]
pub(super) enum Keyboard<'a> {
    Channel(&'a mut mpsc::Receiver<Typed>),
    /// Read here; the modes are restored with the last of it.
    Keys(KeyReader, #[allow(dead_code, reason = "restores the modes when it is dropped")] TerminalModes),
}

impl<'a> Keyboard<'a> {
    /// Keys one by one where the terminal allows it, else lines.
    pub(super) fn open(source: &'a mut TypedSource) -> Self {
        if matches!(source, TypedSource::Unopened) {
            let keys = || {
                let modes = TerminalModes::save().ok()?;
                Some((KeyReader::read(&modes).ok()?, modes))
            };
            if let Some((reader, modes)) = live_columns().and_then(|_| keys()) {
                return Self::Keys(reader, modes);
            }
            *source = TypedSource::Channel(standard_lines());
        }
        match source {
            TypedSource::Channel(typed) => Self::Channel(typed),
            TypedSource::Unopened => unreachable!("it was opened above"),
        }
    }

    /// The next input; `None` when it ends.
    pub(super) async fn next(&mut self) -> Option<Typed> {
        loop {
            match self {
                Self::Channel(typed) => return typed.recv().await,
                Self::Keys(keys, _) => {
                    let (_, event) = keys.next().await?;
                    if let Some(typed) = Typed::from_event(event) {
                        return Some(typed);
                    }
                }
            }
        }
    }

    /// Discards input from before a question.
    pub(super) fn discard(&mut self) {
        match self {
            Self::Channel(typed) => while typed.try_recv().is_ok() {},
            Self::Keys(keys, _) => keys.discard(),
        }
        // If that fails, the answer is still read after the question.
        tcflush(io::stdin(), QueueSelector::IFlush).ok();
    }
}

/// Reads lines on a separate thread that may block forever.
fn standard_lines() -> mpsc::Receiver<Typed> {
    let (sender, lines) = mpsc::channel(WAITING);
    let forward = move || io::stdin().lines().map_while(Result::ok).try_for_each(|line| sender.blocking_send(Typed::Line(line)).ok());
    // Without the thread the channel is closed, which is the end of input.
    std::thread::Builder::new().name("haft-terminal".into()).spawn(forward).ok();
    lines
}
