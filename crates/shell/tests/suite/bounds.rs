//! B07, B18: what is too long or too deep is refused, not asked about, and nothing takes long.

use haft_shell::{MOST_BYTES, MOST_COMMANDS, MOST_NESTING, MOST_WRAPPERS, Verdict, analyse};
use proptest::prelude::*;

#[test]
fn b07_a_line_within_the_limits_is_read_and_one_beyond_is_refused() {
    let commands = |count: usize| vec!["ls"; count].join("; ");
    let wrapped = |count: usize| format!("{}ls", "nice ".repeat(count));
    let long = |bytes: usize| format!("echo {}", "x".repeat(bytes - 5));
    let table = [
        ("commands", commands(MOST_COMMANDS), commands(MOST_COMMANDS + 1)),
        ("wrappers", wrapped(MOST_WRAPPERS), wrapped(MOST_WRAPPERS + 1)),
        ("bytes", long(MOST_BYTES), long(MOST_BYTES + 1)),
        ("words", "x ".repeat(5_000), "x ".repeat(10_000)),
        ("groups", nested(20), nested(MOST_NESTING)),
    ];
    for (what, within, beyond) in table {
        assert_eq!(analyse(&within).verdict(), Verdict::Followed, "{what}: {:?}", analyse(&within).unknown);
        let refused = analyse(&beyond);
        assert_eq!(refused.verdict(), Verdict::Refused, "{what}");
        assert!(!refused.refused.unwrap().message.is_empty() && refused.commands.len() <= MOST_COMMANDS, "{what}");
    }
}

fn nested(levels: usize) -> String {
    format!("{}ls{}", "( ".repeat(levels), " )".repeat(levels))
}

#[test]
fn b07_scripts_inside_scripts_are_refused_beyond_the_limit() {
    let mut line = "ls".to_owned();
    for _ in 0..=MOST_WRAPPERS {
        line = format!("sh -c {}", haft_shell::quote(&line));
    }
    assert_eq!(analyse(&line).verdict(), Verdict::Refused);
}

/// What parsers trip over, with bars between: none of it may overflow the stack, take long, or be followed.
const TRIPPING: &str = "(|$(|`|\"$(|{ |[ ! |[[ ( |((|${a:-|if |case x in |<(|! |<<E |a=(|;|&&|$((|f() |{a,|<<<|time |for x in |p ";

#[test]
fn b18_whatever_is_repeated_ends() {
    for piece in TRIPPING.split('|') {
        let line = piece.repeat(MOST_BYTES / piece.len() / 8);
        let analysis = analyse(&line);
        assert!(analysis.verdict() != Verdict::Followed || piece == "p ", "{piece}");
    }
    for piece in ["'", "\"", "\\", "\n", " ", "#", "~", "*"] {
        assert!(analyse(&piece.repeat(MOST_BYTES / 8)).commands.len() <= 1, "{piece}");
    }
}

proptest! {
    #[test]
    fn b18_nothing_panics_and_what_is_found_is_bounded(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let analysis = analyse(&String::from_utf8_lossy(&bytes));
        prop_assert!(analysis.commands.len() <= MOST_COMMANDS && analysis.unknown.len() <= 32);
    }
}
