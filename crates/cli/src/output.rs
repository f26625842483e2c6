//! Where everything is written: data to standard output, all else to standard error.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use haft_contract::visible;
use serde::Serialize;

use crate::arguments::Common;
use crate::failure::{Exit, Failure};
use crate::terminal::in_its_place;

/// The sixteen colours that every terminal lets its owner choose; no background.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const CARE: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WORSE: Style = AnsiColor::Red.on_default();
pub(crate) const PLACE: Style = AnsiColor::Cyan.on_default();
pub(crate) const STRONG: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const PLAIN: Style = Style::new();

/// How this process writes.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    /// Whether the person asked for JSON.
    pub(crate) json: bool,
    pub(crate) verbose: bool,
    /// Columns of the terminal; `None` in a pipe, where nothing is cut.
    pub(crate) width: Option<usize>,
    reader: Reader,
}

/// Whether the command line asks for lines and words only. It is one for the whole process, as the variables are.
static PLAIN_ASKED: AtomicBool = AtomicBool::new(false);

/// Who reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// A program, or a file.
    Pipe,
    /// A person who wants words alone.
    Plain,
    /// A person.
    Person,
}

impl Reader {
    fn of(stream: &impl RawStream) -> Self {
        let coloured = AutoStream::choice(stream) != ColorChoice::Never;
        match (stream.is_terminal(), coloured && !is_plain()) {
            (false, _) => Self::Pipe,
            (true, false) => Self::Plain,
            (true, true) => Self::Person,
        }
    }
}

impl Output {
    pub(crate) fn new(common: &Common) -> Self {
        if common.plain {
            PLAIN_ASKED.store(true, Ordering::Relaxed);
        }
        let (terminal, reader) = (io::stdout().is_terminal(), Reader::of(&io::stdout()));
        Self { json: common.json, verbose: common.verbose, width: width(terminal), reader }
    }

    /// Whether symbols may stand beside words.
    pub(crate) fn has_symbols(&self) -> bool {
        self.reader == Reader::Person
    }

    fn is_terminal(&self) -> bool {
        self.reader != Reader::Pipe
    }

    /// Writes a tool's text: byte for byte into a pipe, escaped on a terminal. It ends with a line break.
    pub(crate) fn foreign(&self, text: &str) -> Result<(), Failure> {
        let mut text = if self.is_terminal() { visible::lines(text) } else { text.into() };
        if !text.is_empty() && !text.ends_with('\n') {
            text.to_mut().push('\n');
        }
        written(io::stdout().write_all(text.as_bytes()))
    }

    /// Writes a value as JSON: on one line, or indented for a person.
    pub(crate) fn data(&self, value: &impl Serialize) -> Result<(), Failure> {
        let text = if self.is_terminal() { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
        let text = text.map_err(|error| Failure::failed("execution_error", format!("the result cannot be written as JSON: {error}")))?;
        written(io::stdout().write_all((text + "\n").as_bytes()))
    }

    /// Says why there is no result: to the person, and as the result where a program waits for one.
    pub(crate) fn failure(&self, failure: &Failure) -> Exit {
        if failure.exit == Exit::Success {
            // Help that was asked for; without a reader there is nobody to tell.
            print(failure.report.as_deref().unwrap_or_default()).ok();
            return failure.exit;
        }
        match &failure.report {
            Some(report) => note(report.trim_end()),
            None => note(&error_text(&failure.message, failure.help.as_deref())),
        }
        if self.json {
            // Standard output failed as well: the person has been told, and the exit code says the rest.
            self.data(&failure.to_json()).ok();
        }
        failure.exit
    }
}

/// Writes text of our own with its styles, which are dropped where nobody sees them.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    written(anstream::stdout().write_all(text.as_bytes()))
}

/// Tells the person something beside the result.
pub(crate) fn note(text: &str) {
    in_its_place(&format!("{text}\n"));
}

/// Tells the person what may be wrong.
pub(crate) fn warn(text: &str) {
    note(&format!("{CARE}warning{CARE:#}: {}", visible::lines(text)));
}

/// A fault of Haft itself looks like every other error, and says how to learn more.
pub(crate) fn install_panic_message() {
    let standard = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        note(&error_text(&format!("internal fault: {panic}"), Some("set RUST_BACKTRACE=1 to see where, and report it")));
        if std::env::var_os("RUST_BACKTRACE").is_some() {
            standard(panic);
        }
    }));
}

/// `error: …` and `help: …`, as every error of this program looks.
pub(crate) fn error_text(message: &str, help: Option<&str>) -> String {
    let error = format!("{BAD}error{BAD:#}: {}", visible::lines(message));
    match help {
        Some(help) => format!("{error}\n{STRONG}help{STRONG:#}: {}", visible::lines(help)),
        None => error,
    }
}

/// A reader that went away (`haft tools | head -1`) is no failure; a full disk is.
fn written(outcome: io::Result<()>) -> Result<(), Failure> {
    match outcome.and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed("execution_error", format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Lines only, and words for symbols: for screen readers and simple terminals.
fn is_plain() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
    PLAIN_ASKED.load(Ordering::Relaxed) || set("HAFT_PLAIN") || std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// The columns of a standard error where a line may be written again and again; `None` where nobody would see just one.
pub(crate) fn live_columns() -> Option<usize> {
    let live = io::stderr().is_terminal() && !is_plain();
    live.then(|| columns().or_else(|| measured(io::stderr())).unwrap_or(80))
}

/// The columns of standard error; `None` in a pipe, where nothing is cut.
pub(crate) fn note_columns() -> Option<usize> {
    columns().or_else(|| io::stderr().is_terminal().then(|| measured(io::stderr()).unwrap_or(80))).map(|columns| columns.max(NARROWEST))
}

/// Whether a person sees standard error.
pub(crate) fn notes_are_seen() -> bool {
    io::stderr().is_terminal()
}

/// Whether symbols may stand beside words on standard error.
pub(crate) fn notes_have_symbols() -> bool {
    Reader::of(&io::stderr()) == Reader::Person
}

const NARROWEST: usize = 20;

fn width(terminal: bool) -> Option<usize> {
    columns().or_else(|| terminal.then(|| measured(io::stdout()).unwrap_or(80))).map(|columns| columns.max(NARROWEST))
}

/// The width that the person asks for.
fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|columns| *columns > 0)
}

fn measured(terminal: impl AsFd) -> Option<usize> {
    rustix::termios::tcgetwinsize(terminal).ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// The width for prose, which nobody reads at 300 columns.
pub(crate) fn prose_width(width: Option<usize>) -> usize {
    width.map_or(100, |width| width.min(100))
}
