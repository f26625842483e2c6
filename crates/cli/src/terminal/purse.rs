//! Asks the person at the terminal whether more may be spent than was agreed.

use std::sync::Arc;
use std::time::Duration;

use haft_agent::Purse;
use haft_contract::{BoxFuture, visible};
use tokio::time::timeout;

use super::Terminal;
use crate::output::CARE;

const PROMPT: &str = "Spend as much again? [y]es, [n]o: ";

/// A purse that the person at the terminal opens.
#[derive(Debug)]
pub(crate) struct TerminalPurse {
    terminal: Arc<Terminal>,
    patience: Duration,
}

impl TerminalPurse {
    /// Whoever has not answered after `patience` has said no.
    pub(crate) fn new(terminal: Arc<Terminal>, patience: Duration) -> Self {
        Self { terminal, patience }
    }
}

impl Purse for TerminalPurse {
    fn more<'a>(&'a self, question: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let text = format!("\n{CARE}The budget is used up{CARE:#}: {}.\n", visible::line(question));
            let answer = timeout(self.patience, self.terminal.ask(&text, PROMPT, understood)).await;
            matches!(answer, Ok(Some(true)))
        })
    }
}

/// Only a plain yes opens it.
fn understood(line: &str) -> Option<bool> {
    match line.to_lowercase().as_str() {
        "y" | "yes" => Some(true),
        "" | "n" | "no" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_a_plain_yes_opens_it() {
        for (lines, expected) in [(&["y"][..], true), (&["maybe", "YES"], true), (&["n"], false), (&[""], false), (&["y please"], false)] {
            let (terminal, keyboard) = Terminal::listening();
            let purse = TerminalPurse::new(Arc::new(terminal), Duration::from_mins(2));
            let person = async move {
                for line in lines {
                    keyboard.send((*line).to_owned()).await.unwrap();
                }
            };
            assert_eq!(tokio::join!(purse.more("$1 of $1 are spent"), person).0, expected, "{lines:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_who_is_away_spends_money() {
        let (terminal, keyboard) = Terminal::listening();
        let purse = TerminalPurse::new(Arc::new(terminal), Duration::from_mins(2));
        let began = tokio::time::Instant::now();
        assert!(!purse.more("$1 of $1 are spent").await);
        assert_eq!(began.elapsed(), Duration::from_mins(2));
        drop(keyboard);
    }
}
