//! B16: what this crate says of a line is what a real shell does with it.
//!
//! Lines are put together from pieces that shells read in surprising ways. Where the verdict is "followed", the line runs, and every
//! program that was started, with its words, and every file that was made, must be in the analysis.

use std::path::Path;

use haft_shell::{Analysis, Command, Nature, Verdict, Word, analyse};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRng, TestRunner};

use super::real_shell::{Ran, RealShell, installed};

/// Programs that the pieces can name.
const PROGRAMS: &[&str] = &["p", "q", "r", "ls", "cat", "git", "rm", "w", "x", "y", "f1", "1", "time", "then", "do", "fi", "in", "a"];

/// Pieces of lines, with a bar between them. What is not a blank is not separated from the next one.
const PIECES: &str = concat!(
    " ¦ ¦ ¦ ¦ ¦ ¦ ¦p¦q¦r¦x¦y¦w¦ls¦cat¦git¦rm¦a¦1¦2¦-¦-n¦--¦=¦a=¦a=x¦x=y ¦+=¦;¦; ¦;;¦&¦& ¦&&¦ && ¦||¦ || ¦|¦ | ¦|&¦!¦! ¦\n¦\n¦\\\n¦",
    " \\\n¦\t¦\\¦\\ ¦\\;¦'¦''¦'x y'¦'a;p'¦\"¦\"\"¦\"x y\"¦\"$x\"¦\"a\\\"b\"¦\"a`p`b\"¦\"$(p)\"¦$¦$x¦${x}¦${x:-y}¦${x#y}¦${#x}¦${¦",
    "}¦{¦{ ¦; }¦{x,y}¦{}¦$(¦$(p x)¦$(q¦)¦(¦( ¦ )¦`¦`p x`¦$((¦$((1+2))¦))¦((¦$'x\\ny'¦$'\\x41'¦$'¦$\"x\"¦<¦< f1¦>¦> w¦>w¦>>w¦ 2>w¦",
    "2>&1¦ >&2¦>&-¦>&¦&>w¦<<<x¦<<<¦<(p)¦>(q)¦<<E\n¦\nE\n¦<<'E'\n¦<<-E\n¦\n\tE\n¦E¦#¦ #¦# x\n¦*¦f*¦?¦[¦]¦[ ¦ ]¦[ x = y ]¦[[ ¦ ]]¦",
    "[[ x == y ]]¦~¦~/x¦if ¦; then ¦; fi¦then¦fi¦else ¦elif ¦for x in ¦; do ¦; done¦do¦done¦in¦case x in ¦x) ¦ ;; ¦esac¦time ¦",
    "time¦env ¦env a=x ¦nice ¦nice -n 1 ¦timeout 5 ¦command ¦exec ¦builtin ¦nohup ¦sh -c 'p x'¦bash -c \"q y\"¦xargs ¦\\p¦p\\q¦",
    "'p'q¦\"p\"¦export a=x¦local ¦declare a¦unset a¦cd .¦echo¦printf x¦true¦false¦: ¦test x¦select ¦coproc ¦function ¦p()¦^¦%¦,¦",
    "@(¦+(x)¦é¦\u{301}¦!x¦a[1]=x¦a=(x y)¦$@¦$1¦$?",
);

/// How many lines of each kind. What is not followed does not run, and most of what is thrown together is not.
const SOUP: u32 = 1_500;
const BUILT: u32 = 120;

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES.split('¦').collect::<Vec<_>>()), 1..9).prop_map(|pieces| pieces.concat())
}

fn word() -> impl Strategy<Value = String> {
    let words = [
        "x",
        "y",
        "'x y'",
        "\"x  y\"",
        "a\\ b",
        "-n",
        "x=y",
        "\"$x\"",
        "$x",
        "f*",
        "{x,y}",
        "\"$(r x)\"",
        "$(r)",
        "`r y`",
        "''",
        "$'x\\ty'",
        "\"a\\\"b\\\\\"",
        "'#'",
        "x#y",
        "~",
        "x~",
        "\"'\"",
        "'\"'",
        "[x]",
        "x'y'\"z\"",
        "${x:-y}",
    ];
    prop::sample::select(words.to_vec()).prop_map(str::to_owned)
}

fn simple() -> impl Strategy<Value = String> {
    let starts = [
        "p",
        "q",
        "'p'",
        "\\q",
        "a=x p",
        "env a=x q",
        "timeout 5 p",
        "nice -n 1 q",
        "command p",
        "time q",
        "! p",
        "nohup p",
        "env -i a=x true",
    ];
    let ends =
        ["", "", "", " >w", " 2>&1", " >>w 2>&1", " <f1", " &>w", " >w x", " <<<x", " <<E\nx\nE\n", " # x; p", " >|w", " 2>/dev/null"];
    (prop::sample::select(starts.to_vec()), prop::collection::vec(word(), 0..4), prop::sample::select(ends.to_vec()))
        .prop_map(|(start, words, end)| format!("{start} {}{end}", words.join(" ")))
}

fn built() -> impl Strategy<Value = String> {
    simple().prop_recursive(3, 12, 3, |inner| {
        let joins = ["; ", " && ", " || ", " | ", "\n", " |& ", "; \n "];
        prop_oneof![
            (inner.clone(), prop::sample::select(joins.to_vec()), inner.clone())
                .prop_map(|(left, join, right)| format!("{left}{join}{right}")),
            inner.clone().prop_map(|line| format!("( {line} )")),
            inner.clone().prop_map(|line| format!("{{ {line}; }} >w")),
            inner.clone().prop_map(|line| format!("r \"$({line})\" x")),
            inner.clone().prop_map(|line| format!("if {line}; then r; else ls x; fi")),
            inner.clone().prop_map(|line| format!("for x in x 'y z' f*; do {line}; done")),
            inner.clone().prop_map(|line| format!("case x in y) r;; x|z) {line};; *) ls;; esac")),
            inner.clone().prop_map(|line| format!("[[ x == y || -n $({line}) ]] && r")),
            inner.prop_map(|line| format!("sh -c {}", haft_shell::quote(&line))),
        ]
    })
}

/// Whether a call is one of a command's: literal words as they are, expanded ones as any words with their beginning.
fn explains(command: &Command, call: &[String]) -> bool {
    let wraps = command.wrappers.iter().any(|wrapper| wrapper.split(' ').next() == Some(&call[0]));
    wraps || (command.name() == Some(&call[0]) && fits(&command.arguments, &call[1..]))
}

fn fits(words: &[Word], given: &[String]) -> bool {
    match words.split_first() {
        None => given.is_empty(),
        Some((Word::Literal(text), rest)) => given.first() == Some(text) && fits(rest, &given[1..]),
        Some((Word::Expanded(expanded), rest)) => (0..=given.len()).any(|count| {
            let begins = |word: &String| {
                expanded.splits || expanded.prefix.is_empty() || word.starts_with(&expanded.prefix) || expanded.prefix.ends_with('~')
            };
            given[..count].iter().all(begins) && fits(rest, &given[count..])
        }),
    }
}

fn difference(analysis: &Analysis, ran: &Ran) -> Option<String> {
    let unexplained = ran.calls.iter().find(|call| !analysis.commands.iter().any(|command| explains(command, call)));
    let unlisted = ran.files.iter().find(|file| !analysis.writes.iter().any(|target| target.exact && target.path == **file));
    unexplained.map(|call| format!("it ran {call:?}")).or_else(|| unlisted.map(|file| format!("it made {file}")))
}

/// Runs lines of a kind, and gives how many were followed.
fn compare(lines: impl Strategy<Value = String>, cases: u32, shell: &Path, bash: bool) -> u32 {
    let real = RealShell::new(PROGRAMS);
    let followed = std::cell::Cell::new(0);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let algorithm = config.rng_algorithm;
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(algorithm));
    let outcome = runner.run(&lines, |line| {
        let analysis = analyse(&line);
        // What a script does is not in the line.
        let runs = analysis.verdict() == Verdict::Followed
            && (bash || !analysis.needs_bash)
            && !analysis.commands.iter().any(|command| command.nature == Nature::Shell);
        if runs {
            followed.set(followed.get() + 1);
            let ran = real.run(shell, &line);
            if let Some(difference) = difference(&analysis, &ran) {
                return Err(TestCaseError::fail(format!("{difference}, and found were {:?} and {:?}", analysis.commands, analysis.writes)));
            }
        }
        Ok(())
    });
    if let Err(TestError::Fail(why, line)) = outcome {
        panic!("{} does something else with {line:?}: {why}", shell.display());
    }
    followed.get()
}

fn cases(usual: u32) -> u32 {
    std::env::var("HAFT_SHELL_CASES").ok().and_then(|factor| factor.parse::<u32>().ok()).map_or(usual, |factor| usual * factor)
}

#[test]
fn b16_bash_does_what_is_said_of_lines_that_are_thrown_together() {
    let bash = installed("bash").expect("bash is installed");
    let followed = compare(soup(), cases(SOUP), &bash, true);
    assert!(followed > 30, "only {followed} lines ran");
}

#[test]
fn b16_bash_does_what_is_said_of_lines_that_are_built() {
    let bash = installed("bash").expect("bash is installed");
    let followed = compare(built(), cases(BUILT), &bash, true);
    assert!(followed > 30, "only {followed} lines ran");
}

#[test]
fn b16_dash_does_the_same_where_bash_is_not_needed() {
    let Some(dash) = installed("dash") else { return };
    let followed = compare(built(), cases(BUILT / 2), &dash, false) + compare(soup(), cases(SOUP / 2), &dash, false);
    assert!(followed > 30, "only {followed} lines ran");
}
