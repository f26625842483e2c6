//! Reads key presses on a separate thread while a turn runs or a question is open.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::hangup::reading_keys;
use super::{TerminalModes, modes, restore};

/// How often the thread checks whether to end.
const PERIOD: Duration = Duration::from_millis(50);
/// How long to wait for its end.
const PATIENCE: Duration = Duration::from_secs(1);
/// How many key presses are buffered.
const WAITING: usize = 256;

/// A key event, and when it was read.
pub(crate) type KeyPress = (Instant, Event);

/// Reads key presses until it is ended. Unread ones wait for the next reader.
#[derive(Debug)]
pub(crate) struct KeyReader {
    pressed: mpsc::Receiver<KeyPress>,
    ends: Arc<AtomicBool>,
}

impl KeyReader {
    pub(crate) fn read(modes: &TerminalModes) -> io::Result<Self> {
        modes.key_by_key()?;
        let (sender, pressed) = mpsc::channel(WAITING);
        let ends = Arc::new(AtomicBool::new(false));
        let ends_thread = Arc::clone(&ends);
        let thread = std::thread::Builder::new().name("haft-keys".into()).spawn(move || reading_keys(|| forward(&ends_thread, &sender)));
        thread.inspect_err(|_| restore())?;
        Ok(Self { pressed, ends })
    }

    /// The next key press; `None` when the terminal is gone.
    pub(crate) async fn next(&mut self) -> Option<KeyPress> {
        self.pressed.recv().await
    }

    /// Discards the buffered key presses.
    pub(crate) fn discard(&mut self) {
        while self.pressed.try_recv().is_ok() {}
    }

    /// Stops reading, and returns the buffered key presses.
    pub(crate) async fn end(mut self) -> Vec<KeyPress> {
        self.ends.store(true, Ordering::Release);
        let mut rest = Vec::new();
        // If the terminal is gone the thread never ends.
        while let Ok(Some(pressed)) = timeout(PATIENCE, self.pressed.recv()).await {
            rest.push(pressed);
        }
        rest
    }
}

impl Drop for KeyReader {
    /// Restores the terminal modes.
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        restore();
    }
}

/// Whether another program reads the keyboard for now.
static PAUSED: AtomicBool = AtomicBool::new(false);
/// Held while a reader looks for a key.
static READING: Mutex<()> = Mutex::new(());

/// Leaves keyboard and screen to another program until it is dropped.
#[derive(Debug)]
pub(super) struct PausedKeys;

impl PausedKeys {
    /// Returns when no reader looks for keys any more.
    pub(super) fn pause() -> Self {
        PAUSED.store(true, Ordering::Release);
        drop(READING.lock().unwrap_or_else(PoisonError::into_inner));
        modes::suspend();
        Self
    }
}

impl Drop for PausedKeys {
    fn drop(&mut self) {
        modes::resume();
        PAUSED.store(false, Ordering::Release);
    }
}

fn forward(ends: &AtomicBool, pressed: &mpsc::Sender<KeyPress>) {
    while !ends.load(Ordering::Acquire) {
        if PAUSED.load(Ordering::Acquire) {
            std::thread::sleep(PERIOD);
            continue;
        }
        let reading = READING.lock().unwrap_or_else(PoisonError::into_inner);
        if PAUSED.load(Ordering::Acquire) {
            continue;
        }
        let read = event::poll(PERIOD).and_then(|ready| if ready { event::read().map(Some) } else { Ok(None) });
        drop(reading);
        let sent = match read {
            Ok(Some(event)) => pressed.blocking_send((Instant::now(), event)).is_ok(),
            Ok(None) => true,
            Err(_) => false,
        };
        if !sent {
            return;
        }
    }
}
