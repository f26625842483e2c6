//! What people type without naming a command: `haft` is `haft chat`, `haft "PROMPT"` and `haft -p PROMPT` are `haft run`.

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, Subcommand};

use super::{Cli, CliCommand};

const PROMPT_FLAGS: [&str; 2] = ["-p", "--prompt"];
/// With one of these nothing is added: clap answers.
const INFORMATION: [&str; 5] = ["-h", "--help", "-V", "--version", "--"];

/// The command line with its command, where people leave it out. `is_terminal`: whether there is a user to chat with.
pub(crate) fn complete(mut words: Vec<OsString>, is_terminal: bool) -> Vec<OsString> {
    // The whole grammar takes longer to make than most commands take: it is not made to find a command that stands first.
    if words.get(1).and_then(|word| word.to_str()).is_some_and(CliCommand::has_subcommand) {
        return words;
    }
    let cli = Cli::command();
    let first = first_word(&cli, &words);
    if first.is_some_and(|at| cli.find_subcommand(&words[at]).is_some() || words[at] == "help") {
        return words;
    }
    let prompt_flag = words.iter().skip(1).position(|word| PROMPT_FLAGS.iter().any(|flag| word == flag)).map(|at| at + 1);
    if let Some(at) = prompt_flag {
        words.remove(at);
        if first.is_none() {
            // Without a prompt it comes from standard input, as in `git diff | haft -p`.
            words.push("-".into());
        }
        words.insert(1, "run".into());
    } else if first.is_some_and(|at| is_sentence(&words[at])) {
        words.insert(1, "run".into());
    } else if first.is_none() && is_terminal && !words.iter().any(|word| INFORMATION.iter().any(|flag| word == flag)) {
        words.insert(1, "chat".into());
    }
    words
}

/// A single word may be a misspelt command, so it does not go to a model.
fn is_sentence(word: &OsStr) -> bool {
    word.to_string_lossy().trim().contains(char::is_whitespace)
}

/// The index of the first word that is neither a flag nor the value of one.
fn first_word(cli: &Command, words: &[OsString]) -> Option<usize> {
    let takes_value = |word: &str| {
        let conversations = ["run", "chat"].into_iter().filter_map(|name| cli.find_subcommand(name));
        std::iter::once(cli).chain(conversations).flat_map(Command::get_arguments).any(|argument| names(argument, word))
    };
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let text = word.to_string_lossy();
        if !text.starts_with('-') || text == "-" {
            return Some(at);
        }
        at += if takes_value(&text) { 2 } else { 1 };
    }
    None
}

/// Whether the word is the flag of an argument with a value of its own: `--resume` may stand alone.
fn names(argument: &Arg, word: &str) -> bool {
    let takes_one = argument.get_action().takes_values() && argument.get_num_args().is_none_or(|range| range.min_values() > 0);
    takes_one && argument.get_long().is_some_and(|long| word.strip_prefix("--") == Some(long))
}

/// The error of an unknown command, with what to type to ask a model.
pub(crate) fn with_advice(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let words: Vec<OsString> = std::env::args_os().collect();
    // An unknown word after a command, as in `haft config chek`, is no prompt.
    if let Some(at) = first_word(&Cli::command(), &words).filter(|at| words[*at] == word.as_str()) {
        // A question without quotes is several words.
        let question: Vec<_> = words[at..].iter().map(|word| word.to_string_lossy()).take_while(|word| !word.starts_with('-')).collect();
        let advice = clap::builder::StyledStr::from(format!("to ask a model: haft run \"{}\"", question.join(" ")));
        let mut tips = match error.get(ContextKind::Suggested) {
            Some(ContextValue::StyledStrs(tips)) => tips.clone(),
            _ => Vec::new(),
        };
        tips.push(advice);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(words: &str, is_terminal: bool) -> String {
        let words = std::iter::once("haft").chain(words.split('|').filter(|word| !word.is_empty()));
        let words = complete(words.map(OsString::from).collect(), is_terminal);
        words[1..].iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn missing_command_is_the_one_that_people_expect() {
        for (typed, expected) in [
            ("", "chat"),
            ("--plain", "chat|--plain"),
            ("-c", "chat|-c"),
            ("--resume", "chat|--resume"),
            ("--model|demo", "chat|--model|demo"),
            ("what time is it", "run|what time is it"),
            ("--model|demo|what time is it", "run|--model|demo|what time is it"),
            ("--workspace|a b|tools", "--workspace|a b|tools"),
            ("what time is it|--json", "run|what time is it|--json"),
            ("-p|hello", "run|hello"),
            ("--json|-p|hello", "run|--json|hello"),
            ("-p", "run|-"),
            ("tools", "tools"),
            ("run|a b", "run|a b"),
            ("call|noop|-p", "call|noop|-p"),
            ("hello", "hello"),
            ("help", "help"),
            ("--help", "--help"),
            ("-V", "-V"),
        ] {
            assert_eq!(completed(typed, true), expected, "{typed}");
        }
    }

    #[test]
    fn without_a_terminal_there_is_nobody_to_chat_with() {
        for (typed, expected) in [("", ""), ("--json", "--json"), ("what time is it", "run|what time is it"), ("-p", "run|-")] {
            assert_eq!(completed(typed, false), expected, "{typed}");
        }
    }
}
