//! Asks at the terminal whether to spend more than the budget.

use std::sync::Arc;
use std::time::Duration;

use haft_agent::SpendingApprover;
use haft_contract::BoxFuture;
use haft_text::display;
use tokio::time::timeout;

use super::Terminal;
use crate::output::CAUTION;

const PROMPT: &str = "Spend as much again? [y]es, [n]o: ";

/// Asks the user to approve more spending.
#[derive(Debug)]
pub struct SpendingPrompt {
    terminal: Arc<Terminal>,
    patience: Duration,
}

impl SpendingPrompt {
    /// No answer within `patience` means no.
    pub fn new(terminal: Arc<Terminal>, patience: Duration) -> Self {
        Self { terminal, patience }
    }
}

impl SpendingApprover for SpendingPrompt {
    fn more<'a>(&'a self, question: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let text = format!("\n{CAUTION}The budget is used up{CAUTION:#}: {}.\n", display::escape_line(question));
            let answer = timeout(self.patience, self.terminal.confirm(&text, PROMPT)).await;
            matches!(answer, Ok(Some(true)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Typed;
    use super::*;

    #[tokio::test]
    async fn spending_needs_a_plain_yes() {
        for (lines, expected) in [(&["y"][..], true), (&["maybe", "YES"], true), (&["n"], false), (&[""], false), (&["y please"], false)] {
            let (terminal, keyboard) = Terminal::listening();
            let prompt = SpendingPrompt::new(Arc::new(terminal), Duration::from_mins(2));
            let user = async move {
                for line in lines {
                    keyboard.send(Typed::Line((*line).to_owned())).await.unwrap();
                }
            };
            assert_eq!(tokio::join!(prompt.more("$1 of $1 are spent"), user).0, expected, "{lines:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn spending_without_an_answer_is_denied() {
        let (terminal, keyboard) = Terminal::listening();
        let prompt = SpendingPrompt::new(Arc::new(terminal), Duration::from_mins(2));
        let began = tokio::time::Instant::now();
        assert!(!prompt.more("$1 of $1 are spent").await);
        assert_eq!(began.elapsed(), Duration::from_mins(2));
        drop(keyboard);
    }
}
