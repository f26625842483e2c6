//! Keys that are pressed while the model works, read on a thread of their own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::terminal::{Modes, restore};

/// How long the thread needs at most to see that it is to end.
const PERIOD: Duration = Duration::from_millis(50);
/// How long its end is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// How many keys wait to be looked at.
const WAITING: usize = 256;

/// A key, and when it was read.
pub(super) type Pressed = (Instant, Event);

/// Reads keys until it is ended. Whatever it did not read waits for the next reader.
#[derive(Debug)]
pub(super) struct Keys {
    pressed: mpsc::Receiver<Pressed>,
    ends: Arc<AtomicBool>,
}

impl Keys {
    pub(super) fn read(modes: &Modes) -> io::Result<Self> {
        modes.key_by_key()?;
        let (sender, pressed) = mpsc::channel(WAITING);
        let ends = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ends);
        let thread = std::thread::Builder::new().name("haft-keys".into()).spawn(move || forward(&told, &sender));
        thread.inspect_err(|_| restore())?;
        Ok(Self { pressed, ends })
    }

    /// The next key. `None` when the terminal is gone.
    pub(super) async fn next(&mut self) -> Option<Pressed> {
        self.pressed.recv().await
    }

    /// Stops reading, and gives what was read and not looked at.
    pub(super) async fn end(mut self) -> Vec<Pressed> {
        self.ends.store(true, Ordering::Release);
        let mut rest = Vec::new();
        // Of a terminal that is gone the thread never learns.
        while let Ok(Some(pressed)) = timeout(PATIENCE, self.pressed.recv()).await {
            rest.push(pressed);
        }
        rest
    }
}

impl Drop for Keys {
    /// Lines are read as before.
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        restore();
    }
}

fn forward(ends: &AtomicBool, pressed: &mpsc::Sender<Pressed>) {
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
