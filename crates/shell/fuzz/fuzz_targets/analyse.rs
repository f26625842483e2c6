//! Any line: it is read within limits, always in the same way, and what is said of its words survives being written out again.
#![no_main]

use haft_shell::{Analysis, Command, MOST_COMMANDS, Verdict, Word, analyse, quote};
use libfuzzer_sys::fuzz_target;

fn words(command: &Command) -> Option<Vec<&str>> {
    std::iter::once(&command.program).chain(&command.arguments).map(Word::as_literal).collect()
}

/// A command of plain words, written with quotes, is the same command.
fn survives(command: &Command) {
    let Some(words) = words(command).filter(|words| !words[0].is_empty()) else { return };
    let line: Vec<_> = words.iter().map(|word| quote(word)).collect();
    let again = analyse(&line.join(" "));
    if let (Verdict::Followed, [only]) = (again.verdict(), again.commands.as_slice()) {
        let wrapped = !only.wrappers.is_empty();
        assert!(wrapped || self::words(only).as_ref() == Some(&words), "{words:?} became {only:?}");
    }
}

fn check(line: &str, analysis: &Analysis) {
    assert!(analysis.commands.len() <= MOST_COMMANDS && analysis.unknown.len() <= 32);
    assert_eq!(analysis, &analyse(line));
    assert!(analysis.verdict() == Verdict::Followed || !analysis.is_bounded());
    assert!(analysis.verdict() != Verdict::Followed || analysis.writes.iter().all(|target| target.exact));
}

fuzz_target!(|line: &str| {
    let analysis = analyse(line);
    check(line, &analysis);
    if analysis.verdict() == Verdict::Followed {
        analysis.commands.iter().for_each(survives);
    }
});
