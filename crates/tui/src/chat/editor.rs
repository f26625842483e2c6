//! The line editor of a conversation: history, several lines, completion.

use std::borrow::Cow;
use std::convert::Infallible;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haft_text::truncate::ellipsize_to_width;
use reedline::{
    Color, ColumnarMenu, EditCommand, Emacs, KeyCode, KeyModifiers, Keybindings, MenuBuilder, Prompt, PromptEditMode, PromptHistorySearch,
    Reedline, ReedlineEvent, ReedlineMenu, Signal, ValidationResult, Validator, default_emacs_keybindings,
};
use tokio::time::timeout;

use super::completion::{ChatCompleter, CommandHint, CompletionNames};
use super::input_history::InputHistory;
use crate::failure::{Exit, Failure};
use crate::output::live_columns;
use crate::signals::Signals;
use crate::terminal::{Screen, TerminalModes, reading_keys};

/// How long the editor may take to stop.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the lines above the prompt are drawn.
const DRAWN: Duration = Duration::from_secs(1);
const MENU: &str = "names";
/// Key bindings that this program handles.
const INTERRUPT: &str = "interrupt";
const DETAILS: &str = "details";
pub(super) const AGAIN: &str = "press Ctrl-C again, or Ctrl-D, to leave";

/// What the input gives.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputEvent {
    Message(String),
    /// Show the details of the last call.
    Details,
    /// The user leaves.
    End,
    /// A signal ends the process.
    Stopped(Exit),
    /// Something else needs the terminal; this is what was typed.
    Interrupted(Interruption, String),
}

/// What takes the terminal from a user who types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interruption {
    /// There is something for the model that the user did not write, such as the answer of a sub-agent.
    News,
    /// A sub-agent in the background asks the user.
    Question,
    /// A sub-agent in the background tells the user something.
    Note,
}

/// Resolves when something else needs the terminal.
pub(super) type News = Pin<Box<dyn Future<Output = Interruption> + Send>>;

/// How the editor ended.
enum EditorEnd {
    Signal(Signal),
    Stopped(Exit),
    Interrupted(Interruption, String),
}

/// The editor; `line` is absent while a thread reads.
pub(super) struct LineEditor {
    line: Option<Reedline>,
    breaks: Arc<AtomicBool>,
    /// Draws the prompt again while the user types.
    repaint: Box<dyn Fn() + Send + Sync>,
    pub(super) modes: TerminalModes,
}

haft_contract::opaque_debug!(LineEditor: modes = modes);

impl LineEditor {
    pub(super) fn open(data_folder: &Path) -> std::io::Result<Self> {
        let modes = TerminalModes::save()?;
        let breaks = Arc::new(AtomicBool::new(false));
        let mut line = Reedline::create()
            .with_history(Box::new(InputHistory::open(data_folder)))
            .with_edit_mode(Box::new(Emacs::new(keys())))
            .with_validator(Box::new(BackslashContinuation))
            .with_hinter(Box::new(CommandHint::default()))
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(ColumnarMenu::default().with_name(MENU).with_columns(1).with_marker("> "))))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_ansi_colors(Screen::standard().is_coloured())
            .with_break_signal(Arc::clone(&breaks))
            .use_bracketed_paste(true)
            .use_kitty_keyboard_enhancement(true);
        let repaint = line.repaint_signal();
        let repaint = Box::new(move || repaint.request_repaint());
        Ok(Self { line: Some(line), breaks, repaint, modes })
    }

    pub(super) fn complete_names(&mut self, names: CompletionNames) {
        let hint = CommandHint::new(names.commands.clone());
        self.line = self.line.take().map(|line| line.with_hinter(Box::new(hint)).with_completer(Box::new(ChatCompleter(names))));
    }

    /// Reads a message, starting with what was typed before.
    pub(super) async fn read(
        &mut self,
        typed: &str,
        signals: &mut Signals,
        news: &mut News,
        above: &LiveLines,
    ) -> Result<InputEvent, Failure> {
        if let Some(line) = self.line.as_mut().filter(|_| !typed.is_empty()) {
            line.run_edit_commands(&[EditCommand::InsertString(typed.to_owned())]);
        }
        let mut warned = false;
        loop {
            let signal = match self.signal(signals, news, above).await? {
                EditorEnd::Signal(signal) => signal,
                // Between two lines the terminal turns Ctrl-C into a signal.
                EditorEnd::Stopped(Exit::Interrupted) if self.line.is_some() => Signal::CtrlC,
                EditorEnd::Stopped(exit) => return Ok(InputEvent::Stopped(exit)),
                EditorEnd::Interrupted(by, typed) => {
                    self.clear();
                    if by != Interruption::Note {
                        Screen::standard().draw("\n");
                    }
                    return Ok(InputEvent::Interrupted(by, typed));
                }
            };
            match signal {
                Signal::Success(text) => return Ok(InputEvent::Message(join_lines(&text))),
                Signal::CtrlD => return Ok(InputEvent::End),
                Signal::HostCommand(command) if command == DETAILS => {
                    Screen::standard().draw("\n");
                    return Ok(InputEvent::Details);
                }
                _ if self.clear() => warned = false,
                _ if warned => {
                    Screen::standard().draw("\n");
                    return Ok(InputEvent::End);
                }
                _ => {
                    warned = true;
                    Screen::standard().write_note(&format!("\n{AGAIN}\n"));
                }
            }
        }
    }

    /// Clears the line; false if it was empty.
    fn clear(&mut self) -> bool {
        let Some(line) = self.line.as_mut().filter(|line| !line.current_buffer_contents().is_empty()) else { return false };
        line.run_edit_commands(&[EditCommand::Clear]);
        true
    }

    /// Reads a line on another thread; a signal and news stop it.
    async fn signal(&mut self, signals: &mut Signals, news: &mut News, above: &LiveLines) -> Result<EditorEnd, Failure> {
        let Some(mut line) = self.line.take() else { return Err(unreadable("its reader is gone")) };
        let _held = Screen::standard().hold_notes();
        let (mut by, prompt) = (Interruption::News, ChatPrompt(Arc::clone(above)));
        let mut reading = tokio::task::spawn_blocking(move || {
            let signal = reading_keys(|| line.read_line(&prompt));
            // The history file is not essential.
            line.sync_history().ok();
            (line, signal)
        });
        let read = tokio::select! {
            read = &mut reading => read,
            never = keep_drawing(above, &*self.repaint) => match never {},
            exit = signals.next() => {
                self.breaks.store(true, Ordering::Relaxed);
                // The editor restores the terminal before it ends. If the terminal is gone it never ends.
                if let Ok(Ok((line, _))) = timeout(PATIENCE, reading).await {
                    self.line = Some(line);
                }
                return Ok(EditorEnd::Stopped(exit));
            }
            interruption = news => {
                by = interruption;
                self.breaks.store(true, Ordering::Relaxed);
                let read = timeout(PATIENCE, reading).await;
                self.breaks.store(false, Ordering::Relaxed);
                read.map_err(|_| unreadable("its reader does not stop"))?
            }
        };
        let (line, signal) = read.map_err(|error| unreadable(&error.to_string()))?;
        self.line = Some(line);
        match signal.map_err(|error| unreadable(&error.to_string()))? {
            Signal::ExternalBreak(typed) => Ok(EditorEnd::Interrupted(by, typed)),
            // The user was faster: the news are told with the message.
            signal => Ok(EditorEnd::Signal(signal)),
        }
    }
}

fn unreadable(why: &str) -> Failure {
    Failure::failed("execution_error", format!("the terminal cannot be read: {why}")).help("set HAFT_PLAIN=1 to read plain lines")
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

/// A backslash at the end of a line continues it.
struct BackslashContinuation;

impl Validator for BackslashContinuation {
    fn validate(&self, line: &str) -> ValidationResult {
        if line.ends_with('\\') { ValidationResult::Incomplete } else { ValidationResult::Complete }
    }
}

/// Removes the backslashes that continue lines.
fn join_lines(text: &str) -> String {
    text.replace("\\\n", "\n")
}

/// Draws the lines above the prompt again while there are some.
async fn keep_drawing(above: &LiveLines, repaint: &(dyn Fn() + Send + Sync)) -> Infallible {
    let mut was_empty = true;
    loop {
        tokio::time::sleep(DRAWN).await;
        let is_empty = above().is_empty();
        if !(is_empty && was_empty) {
            repaint();
        }
        was_empty = is_empty;
    }
}

/// Lines above the prompt that change while the user types.
pub(super) type LiveLines = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

struct ChatPrompt(LiveLines);

impl Prompt for ChatPrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        let columns = live_columns().unwrap_or(80).saturating_sub(1);
        Cow::Owned((self.0)().iter().map(|line| ellipsize_to_width(line, columns) + "\n").collect())
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
