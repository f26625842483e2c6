//! Input of a conversation: an editor on a terminal, plain lines elsewhere.

use std::future::Future;
use std::io::{self, IsTerminal};
use std::path::Path;

use haft_text::truncate::ellipsize_to_width;
use inquire::{Confirm, InquireError, Select};

use super::completion::CompletionNames;
use super::editor::{InputEvent, LineEditor, LiveLines, News};
use super::line_reader::LineReader;
use super::mention::has_chars_in_order;
use super::picker::{Picker, PickerOption, pick};
use crate::failure::Failure;
use crate::interrupt::{leave, listen};
use crate::output::{live_columns, note};
use crate::signals::Signals;
use crate::terminal::{reading_keys, restore, yes_or_no};

/// Rows of a list to choose from.
const ROWS: usize = 10;

/// The two kinds of input.
#[derive(Debug)]
pub(super) enum ChatInput {
    Editor(Box<LineEditor>),
    Lines(LineReader),
}

impl ChatInput {
    pub(super) fn open(data_folder: &Path) -> Self {
        let drawn = io::stdin().is_terminal() && io::stdout().is_terminal() && live_columns().is_some();
        // A terminal that cannot be drawn on may still be read from.
        let editor = drawn.then(|| LineEditor::open(data_folder).ok()).flatten();
        editor.map_or_else(|| Self::Lines(LineReader::open()), |editor| Self::Editor(Box::new(editor)))
    }

    /// Whether a user types.
    pub(super) fn is_attended(&self) -> bool {
        match self {
            Self::Editor(_) => true,
            Self::Lines(lines) => lines.attended,
        }
    }

    /// Whether a user types in a terminal without symbols.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Self::Lines(lines) if lines.attended)
    }

    pub(super) fn complete_names(&mut self, names: CompletionNames) {
        if let Self::Editor(editor) = self {
            editor.complete_names(names);
        }
    }

    /// Reads a message; news end it, if a user types.
    pub(super) async fn read(
        &mut self,
        typed: &str,
        signals: &mut Signals,
        news: &mut News,
        above: &LiveLines,
    ) -> Result<InputEvent, Failure> {
        match self {
            Self::Editor(editor) => editor.read(typed, signals, news, above).await,
            Self::Lines(lines) => lines.read(signals, news).await,
        }
    }

    /// Asks yes or no. Without a user, the answer is no.
    pub(super) async fn confirm(&mut self, question: &str) -> Result<bool, Failure> {
        match self {
            Self::Editor(_) => {
                let question = question.to_owned();
                prompt_on_thread(move || Confirm::new(&question).with_default(false).prompt_skippable())
                    .await
                    .map(|answer| answer == Some(true))
            }
            Self::Lines(lines) if lines.attended => {
                lines.ask(&format!("{question} [y]es, [n]o: "));
                let line = or_leave(lines.next()).await??;
                Ok(line.is_some_and(|(_, line)| yes_or_no(line.trim()) == Some(true)))
            }
            Self::Lines(_) => Ok(false),
        }
    }

    /// Lets the user choose with a preview of each option, where that can be drawn.
    pub(super) async fn choose_previewed(&mut self, question: &str, options: Vec<PickerOption>) -> Result<Option<usize>, Failure> {
        match self {
            Self::Editor(editor) => pick(Picker::new(question, options), &editor.modes).await,
            Self::Lines(_) => self.choose(question, options.into_iter().map(|option| option.text).collect()).await,
        }
    }

    /// Lets the user choose; `None` for no choice, or no user.
    pub(super) async fn choose(&mut self, question: &str, options: Vec<String>) -> Result<Option<usize>, Failure> {
        match self {
            Self::Editor(_) => {
                let (question, options) = (question.to_owned(), fit_options(options, live_columns()));
                let chosen = move || {
                    let scorer = &|typed: &str, _: &String, option: &str, _: usize| score(typed, option);
                    Select::new(&question, options).with_scorer(scorer).with_page_size(ROWS).raw_prompt_skippable()
                };
                Ok(prompt_on_thread(chosen).await?.map(|chosen| chosen.index))
            }
            Self::Lines(lines) if lines.attended => {
                for (number, option) in (1..).zip(&options) {
                    note(&format!("{number}  {option}"));
                }
                lines.ask(&format!("{question} Type a number, or nothing: "));
                let line = or_leave(lines.next()).await??.map(|(_, line)| line);
                Ok(line.and_then(|line| line.trim().parse::<usize>().ok()?.checked_sub(1)).filter(|index| *index < options.len()))
            }
            Self::Lines(_) => Ok(None),
        }
    }
}

/// Options that take one row each: the list would be torn apart by a longer one.
pub(super) fn fit_options(options: Vec<String>, columns: Option<usize>) -> Vec<String> {
    // The mark of the chosen one is before it.
    let Some(columns) = columns.map(|columns| columns.saturating_sub(3)) else { return options };
    options.iter().map(|option| ellipsize_to_width(option, columns)).collect()
}

/// An option that contains the text ranks above one that has its characters in order.
fn score(typed: &str, option: &str) -> Option<i64> {
    let (typed, option) = (typed.to_lowercase(), option.to_lowercase());
    if option.contains(&typed) { Some(1) } else { has_chars_in_order(&option, &typed).then_some(0) }
}

/// Draws a question on another thread. Escape and Ctrl-C choose nothing.
async fn prompt_on_thread<T: Send + 'static>(
    ask: impl FnOnce() -> Result<Option<T>, InquireError> + Send + 'static,
) -> Result<Option<T>, Failure> {
    let failed = |why: String| Failure::failed("execution_error", format!("the terminal cannot be asked: {why}"));
    let answer = or_leave(tokio::task::spawn_blocking(|| reading_keys(ask))).await?.map_err(|error| failed(error.to_string()));
    restore();
    match answer? {
        Ok(answer) => Ok(answer),
        Err(InquireError::OperationInterrupted | InquireError::OperationCanceled) => Ok(None),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Waits for an answer; a signal ends the process.
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
    fn options_match_whole_text_before_single_characters() {
        for (typed, score_is) in [("", Some(1)), ("Fix", Some(1)), ("ft", Some(0)), ("tf", None)] {
            assert_eq!(score(typed, "fix the test"), score_is, "{typed}");
        }
    }
}
