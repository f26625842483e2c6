//! The person at the terminal: asked about calls and permissions, shown progress.

mod approver;
mod dialogue;
mod introduction;
mod json_lines;
mod modes;
mod permissions;
mod progress;
mod purse;
mod question;
mod screen;
mod turn;
mod waiting;
mod watched;

use std::io::{self, IsTerminal};
use std::sync::{Arc, OnceLock};

use tokio::sync::{Mutex, mpsc};

pub(crate) use self::approver::TerminalApprover;
use self::dialogue::Dialogue;
pub(crate) use self::introduction::introduce;
pub(crate) use self::json_lines::JsonLines;
pub(crate) use self::modes::{Modes, restore};
pub(crate) use self::permissions::TerminalPermissions;
pub(crate) use self::progress::TerminalProgress;
pub(crate) use self::purse::TerminalPurse;
pub(crate) use self::screen::Screen;
pub(crate) use self::turn::{TurnOnTerminal, short};
pub(crate) use self::waiting::{in_its_place, show_waiting, stop_waiting};
pub(crate) use self::watched::{WatchedApprover, WatchedProgress};

/// How many lines wait to be asked for; more are not read.
const WAITING: usize = 4;

/// A terminal with someone in front of it. One question at a time.
pub(crate) struct Terminal {
    open: fn() -> mpsc::Receiver<String>,
    /// Nothing is read before there is a question: what is typed until then belongs to the shell.
    lines: Mutex<Option<mpsc::Receiver<String>>>,
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Terminal")
    }
}

impl Terminal {
    /// Whether someone can be asked: what is typed and what is shown both belong to a terminal.
    pub(crate) fn is_there() -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// The terminal that this process was started from. It is one for all who ask: two readers would take each other's answers.
    pub(crate) fn standard() -> Arc<Self> {
        static STANDARD: OnceLock<Arc<Terminal>> = OnceLock::new();
        Arc::clone(STANDARD.get_or_init(|| Arc::new(Self { open: standard_lines, lines: Mutex::default() })))
    }

    /// Answers come from here instead, for as long as the sender lives: whoever reads the keyboard passes lines on.
    pub(crate) async fn answered_by(&self, lines: mpsc::Receiver<String>) {
        *self.lines.lock().await = Some(lines);
    }

    /// The person's attention, until the dialogue is dropped.
    async fn dialogue(&self) -> Dialogue<'_> {
        Dialogue::begin(self.lines.lock().await, self.open)
    }

    /// Shows text, then asks until an answer can be understood. `None` when the input ends.
    async fn ask<T>(&self, text: &str, prompt: &str, understand: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.dialogue().await.ask(text, prompt, understand).await
    }
}

/// Lines are read on a thread of their own: it may wait for ever, and must not keep the process.
fn standard_lines() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(WAITING);
    let forward = move || io::stdin().lines().map_while(Result::ok).try_for_each(|line| sender.blocking_send(line).ok());
    // Without the thread the channel is closed, which counts as the end of input.
    std::thread::Builder::new().name("haft-terminal".into()).spawn(forward).ok();
    lines
}

#[cfg(test)]
impl Terminal {
    /// A person who types one line after the other, each when it is read. Whoever drops the sender leaves.
    pub(crate) fn listening() -> (Self, mpsc::Sender<String>) {
        let (sender, receiver) = mpsc::channel(1);
        (Self { open: || unreachable!("it is open"), lines: Mutex::new(Some(receiver)) }, sender)
    }
    /// A person who types these lines, whatever is asked, and then leaves.
    pub(crate) fn typing(lines: &[&str]) -> Self {
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

    fn understood(line: &str) -> Option<String> {
        (line != "what?").then(|| line.to_owned())
    }

    #[tokio::test]
    async fn asks_until_it_understands() {
        let (terminal, sender) = Terminal::listening();
        let person = async {
            for line in ["what?", " yes \n"] {
                sender.send(line.to_owned()).await.unwrap();
            }
        };
        assert_eq!(tokio::join!(terminal.ask("", "", understood), person).0.as_deref(), Some("yes"));
    }

    #[tokio::test]
    async fn what_was_typed_before_a_question_is_no_answer_and_the_end_of_input_is_none_either() {
        assert_eq!(Terminal::typing(&["yes", "yes"]).ask("", "", understood).await, None);
    }
}
