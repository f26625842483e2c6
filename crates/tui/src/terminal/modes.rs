//! Terminal modes: saved, changed for key presses, and restored at every exit.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::termios::{InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

/// Whole screen scrolls, no bracketed paste, visible cursor.
const RESET: &[u8] = b"\x1b7\x1b[r\x1b8\x1b[?2004l\x1b[?25h";
/// Disables a special character.
const NO_KEY: u8 = if cfg!(target_os = "linux") { 0 } else { 0xff };

static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

fn before() -> MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Guard of changed modes: dropping it restores them.
#[derive(Debug)]
pub(crate) struct TerminalModes {
    before: Termios,
}

impl TerminalModes {
    /// Saves the current modes.
    pub(crate) fn save() -> io::Result<Self> {
        let termios = tcgetattr(io::stdin())?;
        *before() = Some(termios.clone());
        Ok(Self { before: termios })
    }

    /// Delivers keys one by one, without echo. Output modes and Ctrl-C stay; Ctrl-Z and Ctrl-\ are disabled.
    pub(crate) fn key_by_key(&self) -> io::Result<()> {
        set_key_by_key(&self.before)
    }
}

fn set_key_by_key(before: &Termios) -> io::Result<()> {
    let mut termios = before.clone();
    termios.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN;
    termios.input_modes -= InputModes::ICRNL;
    for (code, value) in
        [(SpecialCodeIndex::VMIN, 1), (SpecialCodeIndex::VTIME, 0), (SpecialCodeIndex::VSUSP, NO_KEY), (SpecialCodeIndex::VQUIT, NO_KEY)]
    {
        termios.special_codes[code] = value;
    }
    Ok(tcsetattr(io::stdin(), OptionalActions::Now, &termios)?)
}

impl Drop for TerminalModes {
    fn drop(&mut self) {
        restore();
        *before() = None;
    }
}

/// Gives the terminal to another program as it was before, without a change of the screen.
pub(super) fn suspend() {
    if let Some(termios) = before().as_ref() {
        tcsetattr(io::stdin(), OptionalActions::Now, termios).ok();
        io::stderr().write_all(b"\x1b[?2004l\x1b[?25h").ok();
    }
}

/// Takes the terminal back.
pub(super) fn resume() {
    if let Some(termios) = before().as_ref() {
        set_key_by_key(termios).ok();
        io::stderr().write_all(b"\x1b[?2004h").ok();
    }
}

/// Restores the saved modes, if there are any.
pub(crate) fn restore() {
    if let Some(termios) = before().as_ref() {
        tcsetattr(io::stdin(), OptionalActions::Now, termios).ok();
        if io::stderr().is_terminal() {
            io::stderr().write_all(RESET).ok();
        }
    }
}
