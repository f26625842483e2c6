//! Words as the program will get them, and lines that could be read in two ways.

use haft_shell::Verdict::{Followed, Unknown};
use haft_shell::{Expansion, Word, analyse, quote};
use proptest::prelude::*;

use super::seen::commands;

#[test]
fn words_are_unquoted_as_bash_does() {
    for (line, wanted) in [
        ("p 'a b' \"c d\" e\\ f", vec!["a b", "c d", "e f"]),
        ("p 'a'\"b\"c", vec!["abc"]),
        ("p \"a\\\"b\\\\c\\d\"", vec!["a\"b\\c\\d"]),
        ("p \"a\\\nb\"", vec!["ab"]),
        ("p '' \"\"", vec!["", ""]),
        ("p $'a\\tb'", vec!["a\tb"]),
        ("p a#b '#c'", vec!["a#b", "#c"]),
        ("p a \\\n b", vec!["a", "b"]),
        ("p HEAD~1 a=b {} x{}", vec!["HEAD~1", "a=b", "{}", "x{}"]),
        ("p \"a$\" '$x' \\$x", vec!["a$", "$x", "$x"]),
        ("p >a b", vec!["b"]),
    ] {
        let analysis = analyse(line);
        let words: Vec<&str> = analysis.commands[0].arguments.iter().filter_map(Word::as_literal).collect();
        assert_eq!((analysis.verdict(), words), (Followed, wanted), "{line}: {:?}", analysis.unknown);
    }
}

#[test]
fn what_expands_says_why_and_how_it_begins() {
    for (word, why, prefix, splits) in [
        ("src/*.c", Expansion::Glob, "src/", false),
        ("a?", Expansion::Glob, "a", false),
        ("{a,b}", Expansion::Brace, "", false),
        ("~/a", Expansion::Tilde, "", false),
        ("a=~/b", Expansion::Tilde, "a=", false),
        ("$x", Expansion::Variable, "", true),
        ("\"-$x\"", Expansion::Variable, "-", false),
        ("\"$@\"", Expansion::Variable, "", true),
        ("a$(ls)", Expansion::Substitution, "a", true),
        ("\"`ls`\"", Expansion::Substitution, "", false),
        ("<(ls)", Expansion::Process, "", false),
        ("$((1 + 2))", Expansion::Arithmetic, "", false),
    ] {
        let analysis = analyse(&format!("p {word}"));
        let command = analysis.commands.last().unwrap();
        let Word::Expanded(expanded) = &command.arguments[0] else { panic!("{word} expands") };
        let seen = (expanded.text.as_str(), expanded.why, expanded.prefix.as_str(), expanded.splits);
        assert_eq!(seen, (word, why, prefix, splits), "{word}");
    }
}

/// Found by comparing with real shells: the parser reads these in its own way.
#[test]
fn lines_that_could_be_read_in_two_ways_are_not_followed() {
    for line in [
        "\\ time ",
        "!'' ]]",
        "p ]]`q`E",
        "a=(x y)test x",
        "1=",
        "python3 - <<'E'\nx\nE",
        "p<(q)",
        "p a\\\nb",
        "p &\\\n& q",
        "p $\"a\"",
        "p $[1]",
        "p @(a|b)",
        "p {fd}>x",
        "p >&-x",
        "p >&\"a\\\"b\"",
        "cat <<A <<B\nA\nB\nA",
        "cat <<-E; ls\n\tE\n",
        "cat <<E'F'\nx\nEF",
        "cat <<\\E\nx\nE",
        "[ a > b ]",
        "[ a && b ]",
        "[a = b]",
        "p 3<>x",
        "for ((i=0;i<3;i++)); do p; done",
        "p \"a",
        "p 'a",
        "p )",
        "if p; then q",
        "p; ;",
        "p <",
        "#!x\\",
    ] {
        let analysis = analyse(line);
        if line.starts_with('#') {
            assert_eq!(analysis.verdict(), Followed, "{line}: a comment");
        } else {
            assert_eq!(analysis.verdict(), Unknown, "{line}: {:?}", commands(&analysis));
        }
    }
}

proptest! {
    #[test]
    fn a_quoted_word_is_read_as_it_was(word in "[ -~\n\t]{0,40}") {
        let analysis = analyse(&format!("p {}", quote(&word)));
        prop_assert_eq!(analysis.verdict(), Followed);
        prop_assert_eq!(&analysis.commands[0].arguments, &[Word::Literal(word)]);
    }

    #[test]
    fn the_same_line_always_gives_the_same(line in "\\PC{0,60}") {
        prop_assert_eq!(analyse(&line), analyse(&line));
    }
}
