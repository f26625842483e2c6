//! The line that a person types while nothing runs: history, several lines, completion.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reedline::{
    Color, ColumnarMenu, EditCommand, Emacs, KeyCode, KeyModifiers, Keybindings, MenuBuilder, Prompt, PromptEditMode, PromptHistorySearch,
    Reedline, ReedlineEvent, ReedlineMenu, Signal, ValidationResult, Validator, default_emacs_keybindings,
};
use tokio::time::timeout;

use super::completion::{Completion, Hint, Names};
use super::recall::Recall;
use crate::failure::{Exit, Failure};
use crate::signals::Signals;
use crate::terminal::{Modes, Screen};

/// How long the line is waited for when it is taken away.
const PATIENCE: Duration = Duration::from_secs(1);
const MENU: &str = "names";
/// What keys hand to this program instead of to the line.
const INTERRUPT: &str = "interrupt";
const DETAILS: &str = "details";
pub(super) const AGAIN: &str = "press Ctrl-C again, or Ctrl-D, to leave";

/// What came of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    Said(String),
    /// Show what the last call got and gave.
    Details,
    /// The person leaves.
    End,
    /// Somebody else ends this process.
    Stopped(Exit),
}

/// The editor, while it is not in use by the thread that reads.
pub(super) struct Editor {
    line: Option<Reedline>,
    breaks: Arc<AtomicBool>,
    pub(super) modes: Modes,
}

impl std::fmt::Debug for Editor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Editor").field("modes", &self.modes).finish_non_exhaustive()
    }
}

impl Editor {
    pub(super) fn open(data_folder: &Path) -> std::io::Result<Self> {
        let modes = Modes::remember()?;
        let breaks = Arc::new(AtomicBool::new(false));
        let line = Reedline::create()
            .with_history(Box::new(Recall::open(data_folder)))
            .with_edit_mode(Box::new(Emacs::new(keys())))
            .with_validator(Box::new(Continued))
            .with_hinter(Box::new(Hint::default()))
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(ColumnarMenu::default().with_name(MENU).with_columns(1).with_marker("> "))))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_ansi_colors(Screen::standard().is_coloured())
            .with_break_signal(Arc::clone(&breaks))
            .use_bracketed_paste(true)
            .use_kitty_keyboard_enhancement(true);
        Ok(Self { line: Some(line), breaks, modes })
    }

    /// Knows these names from now on.
    pub(super) fn knows(&mut self, names: Names) {
        self.line = self.line.take().map(|line| line.with_completer(Box::new(Completion(names))));
    }

    /// Reads what the person says, beginning with what was typed already.
    pub(super) async fn read(&mut self, typed: &str, signals: &mut Signals) -> Result<Read, Failure> {
        if let Some(line) = self.line.as_mut().filter(|_| !typed.is_empty()) {
            line.run_edit_commands(&[EditCommand::InsertString(typed.to_owned())]);
        }
        let mut warned = false;
        loop {
            let signal = match self.signal(signals).await? {
                Ok(signal) => signal,
                // Between two lines the terminal makes a signal of the key.
                Err(Exit::Interrupted) if self.line.is_some() => Signal::CtrlC,
                Err(exit) => return Ok(Read::Stopped(exit)),
            };
            match signal {
                Signal::Success(text) => return Ok(Read::Said(joined(&text))),
                Signal::CtrlD => return Ok(Read::End),
                Signal::HostCommand(command) if command == DETAILS => {
                    Screen::standard().aside("\n");
                    return Ok(Read::Details);
                }
                _ if self.cleared() => warned = false,
                _ if warned => {
                    Screen::standard().aside("\n");
                    return Ok(Read::End);
                }
                _ => {
                    warned = true;
                    Screen::standard().in_its_place(&format!("\n{AGAIN}\n"));
                }
            }
        }
    }

    /// Whether there was something to take away.
    fn cleared(&mut self) -> bool {
        let Some(line) = self.line.as_mut().filter(|line| !line.current_buffer_contents().is_empty()) else { return false };
        line.run_edit_commands(&[EditCommand::Clear]);
        true
    }

    /// Waits for the line on another thread, or for a signal, which takes the line away.
    async fn signal(&mut self, signals: &mut Signals) -> Result<Result<Signal, Exit>, Failure> {
        let Some(mut line) = self.line.take() else { return Err(unreadable("its reader is gone")) };
        let mut reading = tokio::task::spawn_blocking(move || {
            let signal = line.read_line(&Asked);
            // A line that could not be kept for another day is no reason to stop.
            line.sync_history().ok();
            (line, signal)
        });
        let read = tokio::select! {
            read = &mut reading => read,
            exit = signals.next() => {
                self.breaks.store(true, Ordering::Relaxed);
                // It gives the terminal back before it ends. One whose terminal is gone never ends, and is not waited for.
                if let Ok(Ok((line, _))) = timeout(PATIENCE, reading).await {
                    self.line = Some(line);
                }
                return Ok(Err(exit));
            }
        };
        let (line, signal) = read.map_err(|error| unreadable(&error.to_string()))?;
        self.line = Some(line);
        signal.map(Ok).map_err(|error| unreadable(&error.to_string()))
    }
}

fn unreadable(why: &str) -> Failure {
    Failure::failed("execution_error", format!("the terminal cannot be read: {why}"))
        .help("set HAFT_PLAIN=1 to have lines read in the plainest way")
}

fn keys() -> Keybindings {
    let mut keys = default_emacs_keybindings();
    let host = |name: &str| ReedlineEvent::ExecuteHostCommand(name.to_owned());
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('c'), ReedlineEvent::Multiple(vec![ReedlineEvent::Esc, host(INTERRUPT)]));
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('o'), host(DETAILS));
    let next = vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext];
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, ReedlineEvent::UntilFound(next));
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
    keys
}

/// A backslash at the end says that the line goes on.
struct Continued;

impl Validator for Continued {
    fn validate(&self, line: &str) -> ValidationResult {
        if line.ends_with('\\') { ValidationResult::Incomplete } else { ValidationResult::Complete }
    }
}

/// The lines without the signs that say that they go on.
pub(super) fn joined(text: &str) -> String {
    text.replace("\\\n", "\n")
}

/// Where the person types.
struct Asked;

impl Prompt for Asked {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }
    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }
    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("> ")
    }
    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("  ")
    }
    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Owned(format!("(search: {}) ", search.term))
    }
    fn get_prompt_color(&self) -> Color {
        Color::Default
    }
    fn get_prompt_multiline_color(&self) -> Color {
        Color::Default
    }
    fn get_indicator_color(&self) -> Color {
        Color::Default
    }
}
