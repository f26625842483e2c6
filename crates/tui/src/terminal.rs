//! The terminal: asks the user about calls, permissions and spending, and shows turns.

mod answer_line;
mod approval_screen;
mod approver;
mod dialogue;
mod external_editor;
mod hangup;
mod introduction;
mod json_lines;
mod key_reader;
mod keyboard_turns;
mod modes;
mod permissions;
mod proposed_change;
mod question;
mod screen;
mod spending_prompt;
mod turn;
mod turn_events;
mod typed;
mod wait_line;

use std::io::{self, IsTerminal};
use std::sync::{Arc, OnceLock};

use tokio::sync::{Mutex, mpsc};

pub use self::approver::TerminalApprover;
use self::dialogue::Dialogue;
pub(crate) use self::hangup::note_signal;
pub use self::hangup::reading_keys;
pub use self::introduction::introduce;
pub use self::json_lines::JsonLines;
pub(crate) use self::key_reader::{KeyPress, KeyReader};
use self::keyboard_turns::{KeyboardTurns, QuestionTurn};
pub(crate) use self::modes::{TerminalModes, restore};
pub use self::permissions::TerminalPermissions;
pub use self::proposed_change::proposed_change;
pub(crate) use self::screen::Screen;
pub use self::spending_prompt::SpendingPrompt;
pub(crate) use self::turn::short;
pub use self::turn::{TurnPrinter, call_subject, outcome_facts};
pub use self::turn_events::{ProgressEvents, ReportingApprover, TerminalProgress, answer_name};
pub use self::typed::Typed;
use self::typed::TypedSource;
pub use self::wait_line::{show_waiting, stop_waiting, write_note};

/// The terminal of the user. One question at a time.
pub struct Terminal {
    typed: Mutex<TypedSource>,
    turns: KeyboardTurns,
}

haft_contract::opaque_debug!(Terminal);

impl Terminal {
    /// Whether the user can be asked: standard input and standard error are a terminal.
    pub fn is_there() -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// The terminal of this process. It is shared, because two readers would take each other's answers.
    pub fn standard() -> Arc<Self> {
        static STANDARD: OnceLock<Arc<Terminal>> = OnceLock::new();
        Arc::clone(STANDARD.get_or_init(|| Arc::new(Self { typed: Mutex::default(), turns: KeyboardTurns::default() })))
    }

    /// Takes answers from this channel, because the caller reads the keyboard.
    pub async fn answered_by(&self, typed: mpsc::Receiver<Typed>) {
        *self.typed.lock().await = TypedSource::Channel(typed);
        self.turns.wait_for_answering();
    }

    /// While it exists, what is typed answers questions. Without it they wait, once a caller reads the keyboard.
    pub(crate) fn answering(&self) -> impl Drop + '_ {
        self.turns.answering()
    }

    /// Resolves when a question waits for the keyboard.
    pub(crate) fn question_waits(&self) -> impl Future<Output = ()> + Send + use<> {
        self.turns.question_waits()
    }

    /// Resolves when no question is open or waits.
    pub(crate) fn questions_end(&self) -> impl Future<Output = ()> + Send + use<> {
        self.turns.questions_end()
    }

    /// Where a dialogue reads from. Other questions wait until it is released.
    async fn source(&self) -> QuestionTurn<'_> {
        self.turns.question(&self.typed).await
    }

    /// Shows text, and prompts until the line parses. `None` when the input ends.
    async fn ask<T>(&self, text: &str, prompt: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let mut source = self.source().await;
        Dialogue::begin(&mut source).ask(text, prompt, parse).await
    }

    /// Asks a question that one key answers. `None` when the input ends.
    pub async fn confirm(&self, text: &str, prompt: &str) -> Option<bool> {
        let mut source = self.source().await;
        Dialogue::begin(&mut source).choose(text, prompt, yes_or_no).await
    }
}

/// Parses an answer to a yes-or-no question; empty means no.
pub fn yes_or_no(line: &str) -> Option<bool> {
    match line.to_lowercase().as_str() {
        "y" | "yes" => Some(true),
        "" | "n" | "no" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
impl Terminal {
    /// A user who types each line that is sent; dropping the sender ends the input.
    pub fn listening() -> (Self, mpsc::Sender<Typed>) {
        let (sender, receiver) = mpsc::channel(1);
        (Self { typed: Mutex::new(TypedSource::Channel(receiver)), turns: KeyboardTurns::default() }, sender)
    }
    /// A user who typed these lines before any question.
    pub fn typing(lines: &[&str]) -> Self {
        let (sender, receiver) = mpsc::channel(lines.len().max(1));
        for line in lines {
            sender.try_send(Typed::Line((*line).to_owned())).unwrap();
        }
        Self { typed: Mutex::new(TypedSource::Channel(receiver)), turns: KeyboardTurns::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Option<String> {
        (line != "what?").then(|| line.to_owned())
    }

    #[tokio::test]
    async fn terminal_asks_until_the_answer_parses() {
        let (terminal, sender) = Terminal::listening();
        let user = async {
            for line in ["what?", " yes \n"] {
                sender.send(Typed::Line(line.to_owned())).await.unwrap();
            }
        };
        assert_eq!(tokio::join!(terminal.ask("", "", parse), user).0.as_deref(), Some("yes"));
    }

    #[tokio::test]
    async fn terminal_ignores_input_before_the_question() {
        assert_eq!(Terminal::typing(&["yes", "yes"]).ask("", "", parse).await, None);
    }
}
