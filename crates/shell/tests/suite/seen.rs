//! Analyses, short enough to compare as a whole.

use haft_shell::{Analysis, Command, Concern, Target, Verdict, Word, analyse};

/// The words of a command, with `<…>` around what expands.
pub(super) fn words(command: &Command) -> String {
    let shown = |word: &Word| match word {
        Word::Literal(text) => text.clone(),
        Word::Expanded(expanded) => format!("<{}>", expanded.text),
    };
    let all: Vec<String> = std::iter::once(&command.program).chain(&command.arguments).map(shown).collect();
    all.join(" ")
}

pub(super) fn commands(analysis: &Analysis) -> Vec<String> {
    analysis.commands.iter().map(words).collect()
}

pub(super) fn concerns(analysis: &Analysis) -> Vec<Concern> {
    let mut concerns: Vec<Concern> = analysis.unknown.iter().map(|reason| reason.concern).collect();
    concerns.sort_unstable();
    concerns.dedup();
    concerns
}

/// Paths, with a `?` behind those that are not exact.
pub(super) fn paths(targets: &[Target]) -> Vec<String> {
    targets.iter().map(|target| format!("{}{}", target.path, if target.exact { "" } else { "?" })).collect()
}

/// A line, what is to be said of it, its commands, and what its unknowns are about.
pub(super) type Row<'a> = (&'a str, &'a str, Verdict, &'a [&'a str], &'a [Concern]);

pub(super) fn check(rows: &[Row<'_>]) {
    for (id, line, verdict, wanted, about) in rows {
        let analysis = analyse(line);
        let seen = (analysis.verdict(), commands(&analysis), concerns(&analysis));
        let wanted = (*verdict, wanted.iter().map(ToString::to_string).collect(), about.to_vec());
        assert_eq!(seen, wanted, "{id}: {line}: {:?}", analysis.unknown);
    }
}
