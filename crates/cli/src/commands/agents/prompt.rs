//! Prompts of `haft agents edit`: a list to tick, or yes and no. A plain terminal gets numbered lines.

use std::fmt;
use std::io;

use haft_text::display;
use haft_text::truncate::ellipsize_to_width;
use inquire::error::CustomUserError;
use inquire::list_option::ListOption;
use inquire::validator::Validation;
use inquire::{Confirm, InquireError, MultiSelect};

use crate::failure::{Exit, Failure};
use crate::output::{live_columns, note};
use crate::terminal::{reading_keys, write_note, yes_or_no};

/// The result of a prompt.
pub(crate) enum PromptResult<T> {
    Given(T),
    /// The user left; the process ends with this exit code.
    Left(Exit),
}

/// A tool to tick.
#[derive(Debug, Clone)]
pub(super) struct ToolChoice {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) ticked: bool,
    /// Why it cannot be ticked.
    pub(super) obstacle: Option<String>,
}

impl fmt::Display for ToolChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let locked = if self.obstacle.is_some() { " (locked)" } else { "" };
        write!(f, "{} - {}{locked}", display::escape_line(&self.name), display::escape_line(&self.about))
    }
}

/// Columns before an entry of the list: the cursor, the box and blanks.
const PREFIX_WIDTH: usize = 7;
/// Rows of the list.
const ROWS: usize = 15;
const KEYS: &str = "up and down move, space ticks, typing filters, enter saves, esc leaves";
const LINES: &str = "Type +2 to tick, -3 to untick, list to see all, done to save, or leave: ";

/// Lets the user tick tools; returns the ticks in order.
pub(super) fn tick(title: &str, choices: Vec<ToolChoice>) -> Result<PromptResult<Vec<bool>>, Failure> {
    match live_columns() {
        Some(columns) => result(list(title, choices, columns)),
        None => Ok(numbers(title, choices, &mut io::stdin().lines().map_while(Result::ok))),
    }
}

/// The answer of the enter key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EnterMeans {
    Yes,
    No,
}

/// Asks yes or no.
pub(crate) fn confirm(question: &str, enter: EnterMeans) -> Result<PromptResult<bool>, Failure> {
    if live_columns().is_some() {
        return result(reading_keys(|| Confirm::new(question).with_default(enter == EnterMeans::Yes).prompt()));
    }
    write_note(&format!("{question} [y/n] "));
    match io::stdin().lines().next().and_then(Result::ok) {
        Some(line) => Ok(PromptResult::Given(yes_or_no(line.trim()) == Some(true))),
        None => Ok(PromptResult::Left(Exit::Success)),
    }
}

fn result<T>(outcome: Result<T, InquireError>) -> Result<PromptResult<T>, Failure> {
    match outcome {
        Ok(answer) => Ok(PromptResult::Given(answer)),
        Err(InquireError::OperationCanceled) => Ok(PromptResult::Left(Exit::Success)),
        Err(InquireError::OperationInterrupted) => Ok(PromptResult::Left(Exit::Interrupted)),
        Err(error) => Err(Failure::failed("execution_error", format!("the terminal cannot show a prompt: {error}"))
            .help("use flags instead: `haft agents edit --help` lists them")),
    }
}

fn list(title: &str, choices: Vec<ToolChoice>, columns: usize) -> Result<Vec<bool>, InquireError> {
    let count = choices.len();
    let ticked: Vec<usize> = (0..count).filter(|at| choices[*at].ticked).collect();
    let lines: Vec<ChoiceLine> = choices
        .into_iter()
        .map(|choice| ChoiceLine { line: ellipsize_to_width(&choice.to_string(), columns.saturating_sub(PREFIX_WIDTH)), choice })
        .collect();
    let select = MultiSelect::new(title, lines)
        .with_default(&ticked)
        .with_page_size(ROWS)
        .with_help_message(KEYS)
        .with_scorer(&|filter, line, _, index| matches_filter(filter, &line.choice).then(|| -i64::try_from(index).unwrap_or(i64::MAX)))
        .with_formatter(&|chosen| format!("{} ticked", chosen.len()))
        .with_validator(validate);
    let chosen = reading_keys(|| select.raw_prompt())?;
    Ok((0..count).map(|at| chosen.iter().any(|option| option.index == at)).collect())
}

/// A choice truncated to the width of the terminal.
#[derive(Clone)]
struct ChoiceLine {
    line: String,
    choice: ToolChoice,
}

impl fmt::Display for ChoiceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

/// Whether a choice contains the typed text.
fn matches_filter(filter: &str, choice: &ToolChoice) -> bool {
    choice.to_string().to_lowercase().contains(&filter.to_lowercase())
}

#[allow(clippy::unnecessary_wraps, reason = "the signature of a validator")]
fn validate(chosen: &[ListOption<&ChoiceLine>]) -> Result<Validation, CustomUserError> {
    let obstacle = chosen.iter().find_map(|option| option.value.choice.obstacle.clone());
    Ok(obstacle.map_or(Validation::Valid, |obstacle| Validation::Invalid(obstacle.into())))
}

/// Ticks by numbers, line by line.
fn numbers(title: &str, mut choices: Vec<ToolChoice>, lines: &mut dyn Iterator<Item = String>) -> PromptResult<Vec<bool>> {
    note(title);
    (0..choices.len()).for_each(|at| note(&numbered_line(&choices, at)));
    loop {
        write_note(LINES);
        let Some(line) = lines.next() else { return PromptResult::Left(Exit::Success) };
        for word in line.split_whitespace() {
            match parse_command(word, &choices) {
                Ok(TickCommand::Tick(at, ticked)) => {
                    choices[at].ticked = ticked;
                    note(&numbered_line(&choices, at));
                }
                Ok(TickCommand::List) => (0..choices.len()).for_each(|at| note(&numbered_line(&choices, at))),
                Ok(TickCommand::Done) => return PromptResult::Given(choices.into_iter().map(|choice| choice.ticked).collect()),
                Ok(TickCommand::Leave) => return PromptResult::Left(Exit::Success),
                Err(why) => note(&why),
            }
        }
    }
}

fn numbered_line(choices: &[ToolChoice], at: usize) -> String {
    let mark = if choices[at].ticked { "[x]" } else { "[ ]" };
    format!("{}. {mark} {}", at + 1, choices[at])
}

#[derive(Debug, PartialEq, Eq)]
enum TickCommand {
    Tick(usize, bool),
    List,
    Done,
    Leave,
}

fn parse_command(word: &str, choices: &[ToolChoice]) -> Result<TickCommand, String> {
    let ticked = match word.to_lowercase().as_str() {
        "done" => return Ok(TickCommand::Done),
        "list" => return Ok(TickCommand::List),
        "leave" | "quit" => return Ok(TickCommand::Leave),
        other if other.starts_with('+') => true,
        other if other.starts_with('-') => false,
        _ => return Err(format!("'{}' is not a command", display::escape_line(word))),
    };
    let name = &word[1..];
    let by_number = || name.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).filter(|at| *at < choices.len());
    let Some(at) = by_number().or_else(|| choices.iter().position(|choice| choice.name == name)) else {
        return Err(format!("there is no '{}': the numbers go from 1 to {}", display::escape_line(name), choices.len()));
    };
    match &choices[at].obstacle {
        Some(obstacle) if ticked => Err(obstacle.clone()),
        _ => Ok(TickCommand::Tick(at, ticked)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices() -> Vec<ToolChoice> {
        let choice = |name: &str, ticked, obstacle: Option<&str>| ToolChoice {
            name: name.into(),
            about: format!("About {name}"),
            ticked,
            obstacle: obstacle.map(str::to_owned),
        };
        vec![choice("read", true, None), choice("write", false, None), choice("exec", false, Some("'exec' is denied"))]
    }

    fn typed(lines: &[&str]) -> Option<Vec<bool>> {
        let mut lines = lines.iter().map(ToString::to_string);
        match numbers("Tools", choices(), &mut lines) {
            PromptResult::Given(ticked) => Some(ticked),
            PromptResult::Left(exit) => {
                assert_eq!(exit, Exit::Success);
                None
            }
        }
    }

    #[test]
    fn prompt_ticks_by_number_or_name_and_saves_on_done() {
        for (lines, ticked) in [
            (&["done"][..], Some([true, false, false])),
            (&["+2 -1 done"], Some([false, true, false])),
            (&["+write", "-READ what? -read", "list", "DONE"], Some([false, true, false])),
            (&["+3 +0 +9 + -x", "done"], Some([true, false, false])),
            (&["-3 done"], Some([true, false, false])),
            (&["+2 leave done"], None),
            (&["+2"], None),
            (&[], None),
        ] {
            assert_eq!(typed(lines), ticked.map(Vec::from), "{lines:?}");
        }
    }

    #[test]
    fn prompt_says_why_a_tool_cannot_be_ticked() {
        for (word, message) in [
            ("+3", "'exec' is denied"),
            ("+exec", "'exec' is denied"),
            ("+9", "there is no '9': the numbers go from 1 to 3"),
            ("what\u{1b}", "'what\\u{1b}' is not a command"),
        ] {
            assert_eq!(parse_command(word, &choices()), Err(message.to_owned()), "{word:?}");
        }
    }

    #[test]
    fn filter_matches_names_and_descriptions_in_any_case() {
        let matching = |filter: &str| {
            choices().iter().filter(|choice| matches_filter(filter, choice)).map(|choice| choice.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(matching("RE"), ["read"]);
        assert_eq!(matching("about w"), ["write"]);
        assert_eq!(matching("").len(), 3);
    }
}
