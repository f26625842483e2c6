//! How the terminal stood before this process changed it, and the way back, which everyone who ends the process takes.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::termios::{InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

/// Nothing scrolls apart, pastes are plain keys, the cursor is there.
const ORDINARY: &[u8] = b"\x1b7\x1b[r\x1b8\x1b[?2004l\x1b[?25h";
/// What stands for a key that does nothing.
const NO_KEY: u8 = if cfg!(target_os = "linux") { 0 } else { 0xff };

static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

fn before() -> MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whoever holds it may change the terminal: once it is gone, all is as before.
#[derive(Debug)]
pub(crate) struct Modes {
    before: Termios,
}

impl Modes {
    /// Remembers how the terminal stands.
    pub(crate) fn remember() -> io::Result<Self> {
        let termios = tcgetattr(io::stdin())?;
        *before() = Some(termios.clone());
        Ok(Self { before: termios })
    }

    /// Keys arrive one by one and are not echoed. Output is as ever, and Ctrl-C is still a signal: whatever runs beside this
    /// need not know of it. Ctrl-Z and Ctrl-\ would leave a shell with such a terminal.
    pub(crate) fn key_by_key(&self) -> io::Result<()> {
        let mut termios = self.before.clone();
        termios.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN;
        termios.input_modes -= InputModes::ICRNL;
        for (code, value) in [
            (SpecialCodeIndex::VMIN, 1),
            (SpecialCodeIndex::VTIME, 0),
            (SpecialCodeIndex::VSUSP, NO_KEY),
            (SpecialCodeIndex::VQUIT, NO_KEY),
        ] {
            termios.special_codes[code] = value;
        }
        Ok(tcsetattr(io::stdin(), OptionalActions::Now, &termios)?)
    }
}

impl Drop for Modes {
    fn drop(&mut self) {
        restore();
        *before() = None;
    }
}

/// Puts the terminal back as it was, if it was changed. A terminal that is gone needs nothing.
pub(crate) fn restore() {
    if let Some(termios) = before().as_ref() {
        tcsetattr(io::stdin(), OptionalActions::Now, termios).ok();
        if io::stderr().is_terminal() {
            io::stderr().write_all(ORDINARY).ok();
        }
    }
}
