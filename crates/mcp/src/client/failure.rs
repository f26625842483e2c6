//! Why a server, or a call of it, failed; and the log in which a server's own output is kept.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use haft_contract::{ErrorKind, ToolError};
use haft_text::display;

/// The log is begun anew beyond this size.
const MAX_LOG: u64 = 1024 * 1024;
/// The end of the log that an error quotes.
const LAST_LINES: usize = 3;
const LAST_LINE_CHARS: usize = 200;

/// Why a server cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFailure {
    /// The server.
    pub server: String,
    /// Why, as part of a sentence.
    pub why: String,
    /// What to do.
    pub advice: String,
    /// Whether it wants the user to sign in.
    pub needs_sign_in: bool,
}

impl ServerFailure {
    pub(crate) fn new(server: &str, why: impl Into<String>) -> Self {
        let advice = format!("See `haft mcp test {server}`");
        Self { server: server.to_owned(), why: why.into(), advice, needs_sign_in: false }
    }
    /// A failure that a sign-in fixes; its reason says how.
    pub(crate) fn needing_sign_in(mut self) -> Self {
        self.needs_sign_in = true;
        self.advise("Then try again")
    }
    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }
}

impl std::fmt::Display for ServerFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "The MCP server '{}' cannot be used: {}. {}.", self.server, self.why, self.advice)
    }
}

impl std::error::Error for ServerFailure {}

impl From<ServerFailure> for ToolError {
    fn from(failure: ServerFailure) -> Self {
        Self::new(ErrorKind::ExecutionError, failure.to_string())
    }
}

/// What is known of a connection besides its messages: why it ended, and its log.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    log: Option<PathBuf>,
    reason: Mutex<Option<String>>,
    refusal: Mutex<Option<String>>,
    trouble: Mutex<Option<String>>,
    last: Mutex<Vec<String>>,
}

impl ConnectionState {
    /// With a log at this path, which is appended to.
    pub(crate) fn new(log: Option<PathBuf>) -> Self {
        Self { log, reason: Mutex::default(), refusal: Mutex::default(), trouble: Mutex::default(), last: Mutex::default() }
    }

    /// The first reason stays.
    pub(crate) fn fail(&self, why: impl Into<String>) {
        let why = why.into();
        self.log(&why);
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }

    /// What went wrong with the last message to an address: the SDK tells no more than that the connection has ended.
    pub(crate) fn set_trouble(&self, what: String) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
    }

    /// What went wrong with the last message to an address.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Why the last request was not let in; `None` if it was.
    pub(crate) fn set_refusal(&self, why: Option<String>) {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// Why the last request was not let in.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Why the connection ended, or is of no use.
    pub(crate) fn reason(&self) -> Option<String> {
        self.refusal().or_else(|| self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Writes a line to the log. A log that cannot be written is not worth an error.
    pub(crate) fn log(&self, line: &str) {
        let line = display::escape_line(line).into_owned();
        {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            if last.len() == LAST_LINES {
                last.remove(0);
            }
            last.push(display::shorten(&line, LAST_LINE_CHARS).into_owned());
        }
        let Some(path) = &self.log else { return };
        let is_full = path.metadata().is_ok_and(|metadata| metadata.len() > MAX_LOG);
        let mut options = std::fs::OpenOptions::new();
        options.create(true).write(true).append(!is_full).truncate(is_full);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        drop(options.open(path).and_then(|mut file| writeln!(file, "{line}")));
    }

    /// The last lines of the server, for an error.
    pub(crate) fn last_lines(&self) -> Option<String> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        (!last.is_empty()).then(|| last.join(" / "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_is_bounded_and_escaped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hub.log");
        let state = ConnectionState::new(Some(path.clone()));
        let line = "x".repeat(100_000);
        (0..30).for_each(|_| state.log(&line));
        assert!(path.metadata().unwrap().len() < MAX_LOG + 200_000);
        state.log("\u{1b}[31mred");
        assert!(!std::fs::read_to_string(&path).unwrap().contains('\u{1b}'));
        assert!(state.last_lines().unwrap().ends_with("red"));
    }
}
