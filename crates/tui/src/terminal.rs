//! The terminal: asks the user about calls, permissions and spending, and shows turns.

mod approver;
mod dialogue;
mod introduction;
mod json_lines;
mod modes;
mod permissions;
mod question;
mod screen;
mod spending_prompt;
mod turn;
mod turn_events;
mod wait_line;

use std::io::{self, IsTerminal};
use std::sync::{Arc, OnceLock};

use tokio::sync::{Mutex, mpsc};

pub use self::approver::TerminalApprover;
use self::dialogue::Dialogue;
pub use self::introduction::introduce;
pub use self::json_lines::JsonLines;
pub(crate) use self::modes::{TerminalModes, restore};
pub use self::permissions::TerminalPermissions;
pub(crate) use self::screen::Screen;
pub use self::spending_prompt::SpendingPrompt;
pub use self::turn::TurnPrinter;
pub(crate) use self::turn::short;
pub use self::turn_events::{ProgressEvents, ReportingApprover, TerminalProgress};
pub use self::wait_line::{show_waiting, stop_waiting, write_note};

/// How many lines are read ahead.
const WAITING: usize = 4;

/// The terminal of the user. One question at a time.
pub struct Terminal {
    open: fn() -> mpsc::Receiver<String>,
    /// Absent until the first question: input before it belongs to the shell.
    lines: Mutex<Option<mpsc::Receiver<String>>>,
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
        Arc::clone(STANDARD.get_or_init(|| Arc::new(Self { open: standard_lines, lines: Mutex::default() })))
    }

    /// Takes answers from this channel, because the caller reads the keyboard.
    pub async fn answered_by(&self, lines: mpsc::Receiver<String>) {
        *self.lines.lock().await = Some(lines);
    }

    /// Starts a dialogue. Other questions wait until it is dropped.
    async fn dialogue(&self) -> Dialogue<'_> {
        Dialogue::begin(self.lines.lock().await, self.open)
    }

    /// Shows text, and prompts until the answer parses. `None` when the input ends.
    async fn ask<T>(&self, text: &str, prompt: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.dialogue().await.ask(text, prompt, parse).await
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

/// Reads lines on a separate thread that may block forever.
fn standard_lines() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(WAITING);
    let forward = move || io::stdin().lines().map_while(Result::ok).try_for_each(|line| sender.blocking_send(line).ok());
    // Without the thread the channel is closed, which is the end of input.
    std::thread::Builder::new().name("haft-terminal".into()).spawn(forward).ok();
    lines
}

#[cfg(test)]
impl Terminal {
    /// A user who types each line that is sent; dropping the sender ends the input.
    pub fn listening() -> (Self, mpsc::Sender<String>) {
        let (sender, receiver) = mpsc::channel(1);
        (Self { open: || unreachable!("it is open"), lines: Mutex::new(Some(receiver)) }, sender)
    }
    /// A user who typed these lines before any question.
    pub fn typing(lines: &[&str]) -> Self {
        let (sender, receiver) = mpsc::channel(lines.len().max(1));
        for line in lines {
            sender.try_send((*line).to_owned()).unwrap();
        }
        Self { open: || unreachable!("it is open"), lines: Mutex::new(Some(receiver)) }
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
                sender.send(line.to_owned()).await.unwrap();
            }
        };
        assert_eq!(tokio::join!(terminal.ask("", "", parse), user).0.as_deref(), Some("yes"));
    }

    #[tokio::test]
    async fn terminal_ignores_input_before_the_question() {
        assert_eq!(Terminal::typing(&["yes", "yes"]).ask("", "", parse).await, None);
    }
}
