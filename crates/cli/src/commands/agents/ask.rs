//! The person is asked: a list to tick, or a yes. Where nothing may move, by numbers and lines.

use std::fmt;
use std::io;

use haft_contract::visible;
use inquire::error::CustomUserError;
use inquire::list_option::ListOption;
use inquire::validator::Validation;
use inquire::{Confirm, InquireError, MultiSelect};

use crate::failure::{Exit, Failure};
use crate::output::{live_columns, note};
use crate::table::cut;
use crate::terminal::in_its_place;

/// What came of a question.
pub(super) enum Answer<T> {
    Given(T),
    /// The person left, and this is how the process ends.
    Left(Exit),
}

/// One thing to tick.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    pub(super) name: String,
    /// What it is, in a few words.
    pub(super) about: String,
    pub(super) ticked: bool,
    /// Why it cannot be ticked, if it cannot.
    pub(super) obstacle: Option<String>,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let locked = if self.obstacle.is_some() { " (locked)" } else { "" };
        write!(f, "{} - {}{locked}", visible::line(&self.name), visible::line(&self.about))
    }
}

/// What stands before an entry of the list: the cursor, the box and blanks.
const BEFORE: usize = 7;
/// As many as fit beside the rest on a small terminal.
const PAGE: usize = 15;
const KEYS: &str = "up and down move, space ticks, letters filter, enter saves, esc leaves";
const LINES: &str = "Type +2 to tick, -3 to untick, list to see all, done to save, or leave: ";

/// Lets the person tick; gives what is ticked, in order.
pub(super) fn tick(title: &str, choices: Vec<Choice>) -> Result<Answer<Vec<bool>>, Failure> {
    match live_columns() {
        Some(columns) => answered(list(title, choices, columns)),
        None => Ok(numbers(title, choices, &mut io::stdin().lines().map_while(Result::ok))),
    }
}

/// Asks for a yes.
pub(super) fn confirm(question: &str) -> Result<Answer<bool>, Failure> {
    if live_columns().is_some() {
        return answered(Confirm::new(question).with_default(true).prompt());
    }
    in_its_place(&format!("{question} [y/n] "));
    match io::stdin().lines().next().and_then(Result::ok) {
        Some(line) => Ok(Answer::Given(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))),
        None => Ok(Answer::Left(Exit::Success)),
    }
}

fn answered<T>(outcome: Result<T, InquireError>) -> Result<Answer<T>, Failure> {
    match outcome {
        Ok(answer) => Ok(Answer::Given(answer)),
        Err(InquireError::OperationCanceled) => Ok(Answer::Left(Exit::Success)),
        Err(InquireError::OperationInterrupted) => Ok(Answer::Left(Exit::Interrupted)),
        Err(error) => Err(Failure::failed("execution_error", format!("the terminal cannot be asked: {error}"))
            .help("say it with flags instead: `haft agents edit --help` lists them")),
    }
}

fn list(title: &str, choices: Vec<Choice>, columns: usize) -> Result<Vec<bool>, InquireError> {
    let count = choices.len();
    let ticked: Vec<usize> = (0..count).filter(|at| choices[*at].ticked).collect();
    let shown: Vec<Shown> =
        choices.into_iter().map(|choice| Shown { line: cut(&choice.to_string(), columns.saturating_sub(BEFORE)), choice }).collect();
    let select = MultiSelect::new(title, shown)
        .with_default(&ticked)
        .with_page_size(PAGE)
        .with_help_message(KEYS)
        .with_scorer(&|filter, shown, _, place| fits(filter, &shown.choice).then(|| -i64::try_from(place).unwrap_or(i64::MAX)))
        .with_formatter(&|chosen| format!("{} ticked", chosen.len()))
        .with_validator(possible);
    let chosen = select.raw_prompt()?;
    Ok((0..count).map(|at| chosen.iter().any(|option| option.index == at)).collect())
}

/// A choice on a line that fits the terminal.
#[derive(Clone)]
struct Shown {
    line: String,
    choice: Choice,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

/// The order stays; only what does not hold the letters goes.
fn fits(filter: &str, choice: &Choice) -> bool {
    choice.to_string().to_lowercase().contains(&filter.to_lowercase())
}

#[allow(clippy::unnecessary_wraps)] // the signature that the list asks for
fn possible(chosen: &[ListOption<&Shown>]) -> Result<Validation, CustomUserError> {
    let obstacle = chosen.iter().find_map(|option| option.value.choice.obstacle.clone());
    Ok(obstacle.map_or(Validation::Valid, |obstacle| Validation::Invalid(obstacle.into())))
}

/// By numbers, a line at a time: nothing that was said is said again.
fn numbers(title: &str, mut choices: Vec<Choice>, lines: &mut dyn Iterator<Item = String>) -> Answer<Vec<bool>> {
    note(title);
    (0..choices.len()).for_each(|at| note(&numbered(&choices, at)));
    loop {
        in_its_place(LINES);
        let Some(line) = lines.next() else { return Answer::Left(Exit::Success) };
        for word in line.split_whitespace() {
            match understood(word, &choices) {
                Ok(Word::Tick(at, ticked)) => {
                    choices[at].ticked = ticked;
                    note(&numbered(&choices, at));
                }
                Ok(Word::List) => (0..choices.len()).for_each(|at| note(&numbered(&choices, at))),
                Ok(Word::Done) => return Answer::Given(choices.into_iter().map(|choice| choice.ticked).collect()),
                Ok(Word::Leave) => return Answer::Left(Exit::Success),
                Err(why) => note(&why),
            }
        }
    }
}

fn numbered(choices: &[Choice], at: usize) -> String {
    let mark = if choices[at].ticked { "[x]" } else { "[ ]" };
    format!("{}. {mark} {}", at + 1, choices[at])
}

#[derive(Debug, PartialEq, Eq)]
enum Word {
    Tick(usize, bool),
    List,
    Done,
    Leave,
}

fn understood(word: &str, choices: &[Choice]) -> Result<Word, String> {
    let ticked = match word.to_lowercase().as_str() {
        "done" => return Ok(Word::Done),
        "list" => return Ok(Word::List),
        "leave" | "quit" => return Ok(Word::Leave),
        other if other.starts_with('+') => true,
        other if other.starts_with('-') => false,
        _ => return Err(format!("'{}' is not understood", visible::line(word))),
    };
    let named = &word[1..];
    let by_number = || named.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).filter(|at| *at < choices.len());
    let Some(at) = by_number().or_else(|| choices.iter().position(|choice| choice.name == named)) else {
        return Err(format!("there is no '{}': the numbers go from 1 to {}", visible::line(named), choices.len()));
    };
    match &choices[at].obstacle {
        Some(obstacle) if ticked => Err(obstacle.clone()),
        _ => Ok(Word::Tick(at, ticked)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices() -> Vec<Choice> {
        let choice = |name: &str, ticked, obstacle: Option<&str>| Choice {
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
            Answer::Given(ticked) => Some(ticked),
            Answer::Left(exit) => {
                assert_eq!(exit, Exit::Success);
                None
            }
        }
    }

    #[test]
    fn numbers_and_names_tick_and_only_done_saves() {
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
    fn what_cannot_be_ticked_says_why() {
        for (word, said) in [
            ("+3", "'exec' is denied"),
            ("+exec", "'exec' is denied"),
            ("+9", "there is no '9': the numbers go from 1 to 3"),
            ("what\u{1b}", "'what\\u{1b}' is not understood"),
        ] {
            assert_eq!(understood(word, &choices()), Err(said.to_owned()), "{word:?}");
        }
    }

    #[test]
    fn filters_look_at_names_and_descriptions_in_any_case() {
        let fitting =
            |filter: &str| choices().iter().filter(|choice| fits(filter, choice)).map(|choice| choice.name.clone()).collect::<Vec<_>>();
        assert_eq!(fitting("RE"), ["read"]);
        assert_eq!(fitting("about w"), ["write"]);
        assert_eq!(fitting("").len(), 3);
    }
}
