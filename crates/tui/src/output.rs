//! Output: data goes to standard output, everything else to standard error.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use haft_text::display;
use serde::Serialize;

use crate::failure::{Exit, Failure};
use crate::terminal::write_note;

/// Styles, from the sixteen colours that a terminal theme defines.
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const CAUTION: Style = AnsiColor::Yellow.on_default();
pub const ERROR: Style = AnsiColor::Red.on_default().bold();
pub const RED: Style = AnsiColor::Red.on_default();
pub const CYAN: Style = AnsiColor::Cyan.on_default();
pub const STRONG: Style = Style::new().bold();
pub const DIM: Style = Style::new().dimmed();
pub const PLAIN: Style = Style::new();

/// Output settings of this process.
#[derive(Debug, Clone)]
pub struct Output {
    pub json: bool,
    pub verbose: bool,
    /// Columns of the terminal; `None` in a pipe, where nothing is truncated.
    pub width: Option<usize>,
    target: OutputTarget,
}

/// Whether the to-do list and the usage of a turn are shown, as configured.
static SHOWS_TODOS: AtomicBool = AtomicBool::new(true);
static SHOWS_USAGE: AtomicBool = AtomicBool::new(true);

/// Sets what is shown of a turn.
pub fn configure_display(todos: bool, usage: bool) {
    SHOWS_TODOS.store(todos, Ordering::Relaxed);
    SHOWS_USAGE.store(usage, Ordering::Relaxed);
}

/// Whether the to-do list is shown when it changes.
pub(crate) fn shows_todos() -> bool {
    SHOWS_TODOS.load(Ordering::Relaxed)
}

/// Whether the usage of a turn is shown at its end.
pub(crate) fn shows_usage() -> bool {
    SHOWS_USAGE.load(Ordering::Relaxed)
}

/// Whether `--plain` was given.
static PLAIN_FLAG: AtomicBool = AtomicBool::new(false);

/// What a stream is connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputTarget {
    /// A program or a file.
    Pipe,
    /// A terminal without colours and symbols.
    PlainTerminal,
    Terminal,
}

impl OutputTarget {
    fn detect(stream: &impl RawStream) -> Self {
        if !stream.is_terminal() {
            return Self::Pipe;
        }
        let coloured = AutoStream::choice(stream) != ColorChoice::Never;
        if coloured && !is_plain() { Self::Terminal } else { Self::PlainTerminal }
    }
}

impl Output {
    /// Output as the command line asks for it.
    pub fn new(json: bool, verbose: bool, plain: bool) -> Self {
        if plain {
            PLAIN_FLAG.store(true, Ordering::Relaxed);
        }
        let target = OutputTarget::detect(&io::stdout());
        Self { json, verbose, width: width(target != OutputTarget::Pipe), target }
    }

    /// Whether symbols may be printed.
    pub fn has_symbols(&self) -> bool {
        self.target == OutputTarget::Terminal
    }

    fn is_terminal(&self) -> bool {
        self.target != OutputTarget::Pipe
    }

    /// Prints text of a tool: unchanged into a pipe, escaped on a terminal. Adds a line break at the end.
    pub fn tool_text(&self, text: &str) -> Result<(), Failure> {
        let mut text = if self.is_terminal() { display::escape_lines(text) } else { text.into() };
        if !text.is_empty() && !text.ends_with('\n') {
            text.to_mut().push('\n');
        }
        check_write(io::stdout().write_all(text.as_bytes()))
    }

    /// Prints JSON: on one line, or indented on a terminal.
    pub fn data(&self, value: &impl Serialize) -> Result<(), Failure> {
        let text = if self.is_terminal() { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
        let text = text.map_err(|error| Failure::failed("execution_error", format!("the result cannot be written as JSON: {error}")))?;
        check_write(io::stdout().write_all((text + "\n").as_bytes()))
    }

    /// Prints a result: as JSON, or as text.
    pub fn show<D: Serialize>(&self, data: impl FnOnce() -> D, text: impl FnOnce() -> String) -> Result<Exit, Failure> {
        if self.json {
            self.data(&data())?;
        } else {
            print(&text())?;
        }
        Ok(Exit::Success)
    }

    /// Prints a failure on standard error, and as JSON where that was asked for.
    pub fn failure(&self, failure: &Failure) -> Exit {
        if failure.exit == Exit::Success {
            // Requested help.
            print(failure.report.as_deref().unwrap_or_default()).ok();
            return failure.exit;
        }
        match &failure.report {
            Some(report) => note(report.trim_end()),
            None => note(&error_text(&failure.message, failure.help.as_deref())),
        }
        if self.json {
            // If standard output fails too, the text on standard error has to do.
            self.data(&failure.to_json()).ok();
        }
        failure.exit
    }
}

/// Prints styled text; styles are dropped in a pipe.
pub fn print(text: &str) -> Result<(), Failure> {
    check_write(anstream::stdout().write_all(text.as_bytes()))
}

/// Prints a line on standard error.
pub fn note(text: &str) {
    write_note(&format!("{text}\n"));
}

/// Prints a warning.
pub fn warn(text: &str) {
    note(&format!("{CAUTION}warning{CAUTION:#}: {}", display::escape_lines(text)));
}

/// Prints a panic like other errors.
pub(crate) fn install_panic_message() {
    let standard = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        note(&error_text(&format!("internal fault: {panic}"), Some("set RUST_BACKTRACE=1 to see where, and report it")));
        if std::env::var_os("RUST_BACKTRACE").is_some() {
            standard(panic);
        }
    }));
}

/// `error: …` and `help: …`.
pub fn error_text(message: &str, help: Option<&str>) -> String {
    let error = format!("{ERROR}error{ERROR:#}: {}", display::escape_lines(message));
    match help {
        Some(help) => format!("{error}\n{STRONG}help{STRONG:#}: {}", display::escape_lines(help)),
        None => error,
    }
}

/// A closed pipe (`haft tools | head -1`) is no failure; a full disk is.
fn check_write(outcome: io::Result<()>) -> Result<(), Failure> {
    match outcome.and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed("execution_error", format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Whether to print words for symbols and draw nothing, for screen readers and simple terminals.
fn is_plain() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
    PLAIN_FLAG.load(Ordering::Relaxed) || set("HAFT_PLAIN") || std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Columns of standard error if a line can be redrawn there.
pub fn live_columns() -> Option<usize> {
    let live = io::stderr().is_terminal() && !is_plain();
    live.then(|| columns().or_else(|| terminal_columns(io::stderr())).unwrap_or(80))
}

/// Columns of standard error; `None` in a pipe, where nothing is truncated.
pub fn note_columns() -> Option<usize> {
    columns()
        .or_else(|| io::stderr().is_terminal().then(|| terminal_columns(io::stderr()).unwrap_or(80)))
        .map(|columns| columns.max(NARROWEST))
}

/// Whether standard error is a terminal.
pub fn notes_are_visible() -> bool {
    io::stderr().is_terminal()
}

/// Whether symbols may be printed on standard error.
pub fn notes_have_symbols() -> bool {
    OutputTarget::detect(&io::stderr()) == OutputTarget::Terminal
}

const NARROWEST: usize = 20;

fn width(terminal: bool) -> Option<usize> {
    columns().or_else(|| terminal.then(|| terminal_columns(io::stdout()).unwrap_or(80))).map(|columns| columns.max(NARROWEST))
}

/// The width from `COLUMNS`.
fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|columns| *columns > 0)
}

fn terminal_columns(terminal: impl AsFd) -> Option<usize> {
    rustix::termios::tcgetwinsize(terminal).ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// The width for prose, at most 100 columns.
pub fn prose_width(width: Option<usize>) -> usize {
    width.map_or(100, |width| width.min(100))
}
