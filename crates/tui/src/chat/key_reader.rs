//! Reads key presses on a separate thread while a turn runs.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::terminal::{TerminalModes, restore};

/// How often the thread checks whether to end.
const PERIOD: Duration = Duration::from_millis(50);
/// How long to wait for its end.
const PATIENCE: Duration = Duration::from_secs(1);
/// How many key presses are buffered.
const WAITING: usize = 256;

/// A key event, and when it was read.
pub(super) type KeyPress = (Instant, Event);

/// Reads key presses until it is ended. Unread ones wait for the next reader.
#[derive(Debug)]
pub(super) struct KeyReader {
    pressed: mpsc::Receiver<KeyPress>,
    ends: Arc<AtomicBool>,
}

impl KeyReader {
    pub(super) fn read(modes: &TerminalModes) -> io::Result<Self> {
        modes.key_by_key()?;
        let (sender, pressed) = mpsc::channel(WAITING);
        let ends = Arc::new(AtomicBool::new(false));
        let ends_thread = Arc::clone(&ends);
        let thread = std::thread::Builder::new().name("haft-keys".into()).spawn(move || forward(&ends_thread, &sender));
        thread.inspect_err(|_| restore())?;
        Ok(Self { pressed, ends })
    }

    /// The next key press; `None` when the terminal is gone.
    pub(super) async fn next(&mut self) -> Option<KeyPress> {
        self.pressed.recv().await
    }

    /// Stops reading, and returns the buffered key presses.
    pub(super) async fn end(mut self) -> Vec<KeyPress> {
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

fn forward(ends: &AtomicBool, pressed: &mpsc::Sender<KeyPress>) {
    while !ends.load(Ordering::Acquire) {
        let read = event::poll(PERIOD).and_then(|ready| if ready { event::read().map(Some) } else { Ok(None) });
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
