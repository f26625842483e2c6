//! Where a person says what they want: an editor on a terminal, plain lines everywhere else.

use std::future::Future;
use std::io::{self, IsTerminal};
use std::path::Path;

use inquire::{Confirm, InquireError, Select};

use super::completion::Names;
use super::editor::{Editor, Read};
use super::lines::Lines;
use super::mention::in_order;
use crate::commands::interrupt::{leave, listen};
use crate::failure::Failure;
use crate::output::{live_columns, note};
use crate::signals::Signals;
use crate::terminal::restore;

/// How many rows a list to choose from has.
const ROWS: usize = 10;

/// One of the two.
#[derive(Debug)]
pub(super) enum Input {
    Editor(Box<Editor>),
    Lines(Lines),
}

impl Input {
    pub(super) fn open(data_folder: &Path) -> Self {
        let drawn = io::stdin().is_terminal() && io::stdout().is_terminal() && live_columns().is_some();
        // A terminal that cannot be drawn on may still be read from.
        let editor = drawn.then(|| Editor::open(data_folder).ok()).flatten();
        editor.map_or_else(|| Self::Lines(Lines::open()), |editor| Self::Editor(Box::new(editor)))
    }

    /// Whether somebody sits there.
    pub(super) fn is_attended(&self) -> bool {
        match self {
            Self::Editor(_) => true,
            Self::Lines(lines) => lines.attended,
        }
    }

    /// Whether somebody sits there who sees lines and words only.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Self::Lines(lines) if lines.attended)
    }

    pub(super) fn knows(&mut self, names: Names) {
        if let Self::Editor(editor) = self {
            editor.knows(names);
        }
    }

    pub(super) async fn read(&mut self, typed: &str, signals: &mut Signals) -> Result<Read, Failure> {
        match self {
            Self::Editor(editor) => editor.read(typed, signals).await,
            Self::Lines(lines) => lines.read(signals).await,
        }
    }

    /// Asks for a yes. Nobody there, or anything but a yes, is a no.
    pub(super) async fn confirms(&mut self, question: &str) -> Result<bool, Failure> {
        match self {
            Self::Editor(_) => {
                let question = question.to_owned();
                drawn(move || Confirm::new(&question).with_default(false).prompt_skippable()).await.map(|answer| answer == Some(true))
            }
            Self::Lines(lines) if lines.attended => {
                lines.ask(&format!("{question} [y]es, [n]o: "));
                let line = or_leave(lines.next()).await??.map(|(_, line)| line.trim().to_lowercase());
                Ok(matches!(line.as_deref(), Some("y" | "yes")))
            }
            Self::Lines(_) => Ok(false),
        }
    }

    /// Lets the person choose; `None` if they choose nothing, or nobody is there.
    pub(super) async fn choice(&mut self, question: &str, options: Vec<String>) -> Result<Option<usize>, Failure> {
        match self {
            Self::Editor(_) => {
                let question = question.to_owned();
                let chosen = move || {
                    let scorer = &|typed: &str, _: &String, shown: &str, _: usize| score(typed, shown);
                    Select::new(&question, options).with_scorer(scorer).with_page_size(ROWS).raw_prompt_skippable()
                };
                Ok(drawn(chosen).await?.map(|chosen| chosen.index))
            }
            Self::Lines(lines) if lines.attended => {
                for (number, option) in (1..).zip(&options) {
                    note(&format!("{number}  {option}"));
                }
                lines.ask(&format!("{question} Type a number, or nothing: "));
                let line = or_leave(lines.next()).await??.map(|(_, line)| line);
                Ok(line.and_then(|line| line.trim().parse::<usize>().ok()?.checked_sub(1)).filter(|place| *place < options.len()))
            }
            Self::Lines(_) => Ok(None),
        }
    }
}

/// What contains what was typed comes before what has its letters in this order; the rest is left out.
fn score(typed: &str, shown: &str) -> Option<i64> {
    let (typed, shown) = (typed.to_lowercase(), shown.to_lowercase());
    if shown.contains(&typed) { Some(1) } else { in_order(&shown, &typed).then_some(0) }
}

/// Draws a question on another thread. Whoever turns away has chosen nothing.
async fn drawn<T: Send + 'static>(ask: impl FnOnce() -> Result<Option<T>, InquireError> + Send + 'static) -> Result<Option<T>, Failure> {
    let failed = |why: String| Failure::failed("execution_error", format!("the terminal cannot be asked: {why}"));
    let answer = or_leave(tokio::task::spawn_blocking(ask)).await?.map_err(|error| failed(error.to_string()));
    restore();
    match answer? {
        Ok(answer) => Ok(answer),
        Err(InquireError::OperationInterrupted | InquireError::OperationCanceled) => Ok(None),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Waits for an answer; a signal that ends the process ends it.
async fn or_leave<T>(answer: impl Future<Output = T>) -> Result<T, Failure> {
    let mut signals = listen()?;
    tokio::select! {
        answer = answer => Ok(answer),
        exit = signals.next() => leave(exit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_is_looked_for_whole_and_then_letter_by_letter() {
        for (typed, score_is) in [("", Some(1)), ("Fix", Some(1)), ("ft", Some(0)), ("tf", None)] {
            assert_eq!(score(typed, "fix the test"), score_is, "{typed}");
        }
    }
}
