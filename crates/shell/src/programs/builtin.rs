//! What the shell does itself, and what that means for the commands behind it.

use haft_programs::environment;

use crate::analysis::{Command, Nature};
use crate::builder::AnalysisBuilder;
use crate::options;
use crate::reason::{Concern, cut};
use crate::word::Word;

/// Built-ins that run texts, or give names another meaning, with what to do instead.
const NOT_FOLLOWED: &[(&str, &str)] = &[
    (".", "it runs a file in this shell; run the file as a program"),
    ("source", "it runs a file in this shell; run the file as a program"),
    ("eval", "it runs a text that is put together first; write the command itself"),
    ("alias", "it gives a name another meaning; write the command itself"),
    ("unalias", "it gives a name another meaning"),
    ("bind", "it binds commands to keys"),
    ("complete", "it runs commands later"),
    ("compgen", "it can run commands"),
    ("compopt", "it changes how the shell completes"),
    ("enable", "it loads code into the shell, or turns built-ins off"),
    ("fc", "it runs earlier commands again"),
    ("hash", "it chooses which file a name means"),
    ("history", "it changes or runs what was typed"),
    ("let", "it evaluates a text, and that can run commands; compute the number beforehand"),
    ("mapfile", "it can run commands while it reads; use a loop with read"),
    ("readarray", "it can run commands while it reads; use a loop with read"),
    ("shopt", "it changes how the shell reads what follows"),
    ("trap", "it runs commands later; run them where they belong"),
    ("getopts", "it sets variables by names that are given"),
    ("caller", "it shows how the shell came here"),
    ("suspend", "it stops the shell"),
    ("coproc", "it runs a command beside the shell"),
    ("kill", "it ends processes; use the process tools"),
];

/// Built-ins that change the shell in ways that are understood.
const PLAIN: &[&str] = &[
    "cd", "pushd", "popd", "dirs", "chdir", "umask", "ulimit", "shift", "wait", "jobs", "fg", "bg", "disown", "break", "continue",
    "return", "exit", "logout", "times", "export", "declare", "typeset", "local", "readonly", "unset", "exec",
];

/// Evaluates a built-in. Says no where it is none, or an ordinary program to the table.
pub(super) fn evaluate(name: &str, command: &mut Command, found: &mut AnalysisBuilder) -> bool {
    if let Some((_, why)) = NOT_FOLLOWED.iter().find(|(known, _)| *known == name) {
        command.nature = Nature::ChangesShell;
        found.unknown(Concern::Shell, format!("'{name}' is not followed: {why}"));
        return true;
    }
    match name {
        "printf" => printf(command, found),
        "read" => read(command, found),
        "set" => set(command, found),
        "export" | "declare" | "typeset" | "local" | "readonly" | "unset" => declare(command, found),
        _ if PLAIN.contains(&name) => command.nature = Nature::ChangesShell,
        _ => return false,
    }
    true
}

fn refuse(command: &Command, found: &mut AnalysisBuilder, why: &str) {
    let name = command.name().unwrap_or_default().to_owned();
    found.unknown(Concern::Shell, format!("'{name}' is not followed: {why}"));
}

/// `printf -v NAME` sets a variable; anything else only prints.
fn printf(command: &mut Command, found: &mut AnalysisBuilder) {
    command.nature = Nature::ReadsOnly;
    if command.arguments.first().is_some_and(Word::may_be_option) && command.arguments.first().and_then(Word::as_literal) != Some("--") {
        command.nature = Nature::ChangesShell;
        refuse(command, found, "its first word may be an option that sets a variable; begin with the format");
    }
}

fn read(command: &mut Command, found: &mut AnalysisBuilder) {
    command.nature = Nature::ChangesShell;
    let scan = options::scan("-rse -p= -n= -N= -t= -d= -u= -i=", &command.arguments);
    let safe = |word: &Word| word.as_literal().is_some_and(|name| environment::is_name(name) && environment::danger(name).is_none());
    if !scan.faults.is_empty() || !scan.operands.iter().all(safe) {
        refuse(command, found, "only plain names of variables are, with known options");
    }
}

/// Only what makes a script stop early, or print what it does.
fn set(command: &mut Command, found: &mut AnalysisBuilder) {
    command.nature = Nature::ChangesShell;
    let flags = |text: &str| {
        text.strip_prefix(['-', '+']).is_some_and(|flags| !flags.is_empty() && flags.bytes().all(|flag| b"euxEo".contains(&flag)))
    };
    let plain =
        |word: &Word| word.as_literal().is_some_and(|text| matches!(text, "pipefail" | "errexit" | "nounset" | "xtrace") || flags(text));
    if command.arguments.is_empty() || !command.arguments.iter().all(plain) {
        refuse(command, found, "only 'set -euo pipefail' and its parts are");
    }
}

/// `command export …` and the like come only here; where the word itself begins a command, its parts were looked at before.
fn declare(command: &mut Command, found: &mut AnalysisBuilder) {
    command.nature = Nature::ChangesShell;
    // With 'declare' -n makes one name mean another.
    let flags = if matches!(command.name(), Some("export" | "unset")) { "npv" } else { "xrgaAlup" };
    for word in &command.arguments {
        let name = word.as_literal().map(|text| text.split('=').next().unwrap_or_default());
        let expanded = matches!(word, Word::Expanded(expanded) if !expanded.prefix.contains('='));
        match name {
            Some(text) if text.starts_with(['-', '+']) && text[1..].chars().all(|flag| flags.contains(flag)) => {}
            Some(text) if !environment::is_name(text) || environment::danger(text).is_some() => {
                let message = format!("'{}' is not a variable to declare here; use a plain name of your own", cut(text));
                found.unknown(Concern::Environment, message);
            }
            None if expanded => {
                found.unknown(Concern::Environment, format!("which variable '{}' is, is known only when it runs", cut(word.text())));
            }
            _ => {}
        }
    }
}

/// `test` and `[`: `-v` evaluates a name, and what splits could be that.
pub(super) fn test(command: &mut Command, found: &mut AnalysisBuilder) {
    command.nature = Nature::ReadsOnly;
    let words = &command.arguments;
    let evaluates = words.iter().any(|word| matches!(word.as_literal(), Some("-v" | "-R")));
    let splits = words.iter().any(|word| matches!(word, Word::Expanded(expanded) if expanded.splits));
    let operator =
        |word: &Word| word.as_literal().is_some_and(|text| matches!(text, "=" | "==" | "!=" | "<" | ">") || text.starts_with('-'));
    // The first word is an operator, or the second says that it is none.
    let unclear = words.first().is_some_and(|word| word.as_literal().is_none()) && !words.get(1).is_some_and(operator) && words.len() > 2;
    if evaluates || splits || unclear {
        refuse(command, found, "what it is given could be evaluated; quote variables, and do not use -v");
    }
    // It only looks at them, and where that leads can be seen in the words.
    for word in words.iter().filter(|word| word.text().contains('/')) {
        found.read(word);
    }
}
