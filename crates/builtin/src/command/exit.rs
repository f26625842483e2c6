//! How a command ended: in words, and whether its exit code is a failure.

use haft_contract::JobEnd;

/// Programs, exit codes and their meanings: answers, not failures.
const ANSWERS: &[(&[&str], i32, &str)] = &[
    (&["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "git grep"], 1, "nothing was found"),
    (&["diff", "cmp", "colordiff", "git diff"], 1, "there are differences"),
    (&["test", "[", "[["], 1, "it is false"),
    (&["find"], 1, "some directories could not be read"),
    (&["pgrep", "pkill", "killall"], 1, "no process matches"),
    (&["which", "command", "type", "whence"], 1, "there is no such program"),
];

/// The same for failures.
const FAILURES: &[(&[&str], i32, &str)] = &[(&["timeout"], 124, "its time was up")];

/// Words that may precede a program.
const BEFORE: &[&str] = &["!", "time", "nice", "nohup", "env", "then", "do", "else", "exec"];

/// Signals, their names and usual causes.
const SIGNALS: &[(i32, &str, &str)] = &[
    (1, "SIGHUP", ""),
    (2, "SIGINT", ""),
    (3, "SIGQUIT", ""),
    (4, "SIGILL", ""),
    (6, "SIGABRT", "the program gave up by itself"),
    (7, "SIGBUS", ""),
    (8, "SIGFPE", ""),
    (9, "SIGKILL", "often for want of memory"),
    (11, "SIGSEGV", "the program touched memory that is not its own"),
    (13, "SIGPIPE", "nobody read its output any more"),
    (14, "SIGALRM", ""),
    (15, "SIGTERM", ""),
    (24, "SIGXCPU", "it used all the processor time that it may have"),
    (25, "SIGXFSZ", "it wrote a larger file than it may"),
    (31, "SIGSYS", "the sandbox blocked a system call"),
];

/// How a job ended.
pub(crate) fn ending(end: &JobEnd, command: &str) -> String {
    match (end.code, end.signal) {
        _ if end.not_run.is_some() => not_run(end).unwrap_or_default(),
        _ if end.timed_out => "Ended because its time was up".into(),
        _ if end.killed => "Ended because it was killed".into(),
        _ if end.lost => "Ended unobserved: the haft process that ran it ended before it".into(),
        (Some(code), _) => match explain_exit(command, code) {
            Some(meaning) => format!("Exit code: {code} ({meaning})"),
            None => format!("Exit code: {code}"),
        },
        (None, Some(number)) => format!("Ended by {}", signal(number)),
        (None, None) => "Ended without an exit code".into(),
    }
}

/// Whether a job did what it was started for: it ended by itself, with code 0 or with a code that is an answer.
pub(crate) fn is_success(end: &JobEnd, command: &str) -> bool {
    let is_interrupted = end.not_run.is_some() || end.timed_out || end.killed || end.lost;
    let is_answer = |code| code == 0 || find_meaning(ANSWERS, &last_program(command), code).is_some();
    !is_interrupted && end.code.is_some_and(is_answer)
}

fn find_meaning(meanings: &[(&[&str], i32, &'static str)], program: &str, code: i32) -> Option<&'static str> {
    meanings.iter().find(|(programs, of, _)| *of == code && programs.contains(&program)).map(|(_, _, meaning)| *meaning)
}

/// Why a command was not run, if its sandbox could not be set up.
pub(crate) fn not_run(end: &JobEnd) -> Option<String> {
    let why = end.not_run.as_ref()?;
    Some(format!("The command was not run, because its sandbox could not be set up: {why}. 'haft doctor' shows what is wrong"))
}

fn signal(number: i32) -> String {
    match SIGNALS.iter().find(|(known, ..)| *known == number) {
        Some((_, name, "")) => format!("signal {number} ({name})"),
        Some((_, name, why)) => format!("signal {number} ({name}: {why})"),
        None => format!("signal {number}"),
    }
}

/// The meaning of an exit code, by the last program of the command.
fn explain_exit(line: &str, code: i32) -> Option<String> {
    let program = last_program(line);
    let known = find_meaning(ANSWERS, &program, code).or_else(|| find_meaning(FAILURES, &program, code));
    match (known, code) {
        (Some(meaning), _) => Some(format!("{program}: {meaning}")),
        (None, 129..=192) => Some(format!("a program was ended by {}", signal(code - 128))),
        _ => None,
    }
}

/// The program that sets the exit code, without its directory; with its subcommand for git.
fn last_program(line: &str) -> String {
    let words = last_command(line);
    let is_assignment = |word: &str| word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.starts_with('-'));
    let mut words = words.iter().map(String::as_str).skip_while(|word| BEFORE.contains(word) || is_assignment(word));
    let program = words.next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
    match words.find(|word| !word.starts_with('-')) {
        Some(command) if program == "git" => format!("git {command}"),
        _ => program.to_owned(),
    }
}

/// The words of the last command, without parsing shell in full.
fn last_command(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut chars = line.trim().trim_end_matches([';', '&', ')']).chars();
    while let Some(ch) = chars.next() {
        match (quote, ch) {
            (Some(open), _) if ch == open => quote = None,
            (None, '"' | '\'') => quote = Some(ch),
            (None | Some('"'), '\\') => word.extend(chars.next()),
            (None, ';' | '&' | '|' | '\n' | '(') => {
                word.clear();
                words.clear();
            }
            (None, _) if ch.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(ch),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn ends_are_described_with_their_cause() {
        let end = |code, signal| JobEnd { code, signal, ..JobEnd::unknown(SystemTime::UNIX_EPOCH) };
        for (end, text) in [
            (end(Some(0), None), "Exit code: 0"),
            (end(Some(1), None), "Exit code: 1 (grep: nothing was found)"),
            (end(None, Some(15)), "Ended by signal 15 (SIGTERM)"),
            (end(None, Some(31)), "Ended by signal 31 (SIGSYS: the sandbox blocked a system call)"),
            (end(None, Some(64)), "Ended by signal 64"),
            (end(None, None), "Ended without an exit code"),
            (
                JobEnd { not_run: Some("bwrap: no".into()), ..end(Some(1), None) },
                "The command was not run, because its sandbox could not be set up: bwrap: no. 'haft doctor' shows what is wrong",
            ),
            (JobEnd { timed_out: true, ..end(None, Some(9)) }, "Ended because its time was up"),
            (JobEnd { killed: true, ..end(None, Some(9)) }, "Ended because it was killed"),
            (JobEnd { lost: true, ..end(None, None) }, "Ended unobserved: the haft process that ran it ended before it"),
        ] {
            assert_eq!(ending(&end, "grep x"), text);
        }
    }

    #[test]
    fn answers_are_successes_and_other_codes_are_failures() {
        let end = |code| JobEnd { code: Some(code), ..JobEnd::unknown(SystemTime::UNIX_EPOCH) };
        for (command, code) in [("make", 0), ("grep x a", 1), ("diff a b", 1), ("[ -f a ]", 1), ("cd a && git grep x", 1), ("which x", 1)] {
            assert!(is_success(&end(code), command), "{command}");
        }
        for (command, code) in [("make", 1), ("grep x a", 2), ("false", 1), ("timeout 1 sleep 2", 124), ("grep x a; exit 3", 3)] {
            assert!(!is_success(&end(code), command), "{command}");
        }
        assert!(!is_success(&JobEnd { killed: true, ..end(0) }, "true"));
        assert!(!is_success(&JobEnd { code: None, signal: Some(9), ..end(0) }, "true"));
    }

    #[test]
    fn benign_codes_are_explained_by_the_last_program() {
        for (line, code, meaning) in [
            ("grep x a", 1, Some("grep: nothing was found")),
            ("cat a | grep -q 'b; c' | /usr/bin/rg x", 1, Some("rg: nothing was found")),
            ("cd a && FOO=1 time git --no-pager grep x", 1, Some("git grep: nothing was found")),
            ("git diff --exit-code;", 1, Some("git diff: there are differences")),
            ("diff a b\n", 1, Some("diff: there are differences")),
            ("true; [ -f \"a b\" ]", 1, Some("[: it is false")),
            ("! test -f a", 1, Some("test: it is false")),
            ("command -v x", 1, Some("command: there is no such program")),
            ("timeout 5 sleep 9", 124, Some("timeout: its time was up")),
            ("(cd a; find / -name x)", 1, Some("find: some directories could not be read")),
            ("make", 137, Some("a program was ended by signal 9 (SIGKILL: often for want of memory)")),
            ("grep x a", 2, None),
            ("echo grep", 1, None),
            ("echo 'a | grep x'", 1, None),
            ("echo a \\| grep", 1, None),
            ("git push", 1, None),
            ("", 1, None),
            ("make", 255, None),
        ] {
            assert_eq!(explain_exit(line, code).as_deref(), meaning, "{line}");
        }
    }
}
