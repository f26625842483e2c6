//! Retired words: the code, the documents and the commit subjects use the words of the field, and functions are verbs.
//!
//! `tools/commit-subjects` reads the table as well.
#![allow(clippy::expect_used, reason = "a test that cannot continue has failed")]

use std::path::Path;
use std::process::Command;

/// Words in lower case, and what to write instead. A row forbids exactly this form, as a word or as a part of an identifier.
const RETIRED: &[(&str, &str)] = &[
    ("aftermath", "run effects"),
    ("desk", "server, broker"),
    ("desks", "servers, brokers"),
    ("displace", "override"),
    ("displaced", "overridden"),
    ("displaces", "overrides"),
    ("foresee", "decide without arguments"),
    ("foreseen", "decided without arguments"),
    ("foresees", "decides without arguments"),
    ("go on", "continue, resume"),
    ("goes on", "continues"),
    ("going on", "continuing, running"),
    ("gone on", "continued, resumed"),
    ("judge", "evaluate, check"),
    ("judged", "evaluated, checked"),
    ("judges", "evaluates, checks"),
    ("keeper", "supervisor, rule store"),
    ("keepers", "supervisors"),
    ("keepsake", "run guard"),
    ("keepsakes", "run guards"),
    ("kin", "descendants"),
    ("ladder", "backend selection, fuzzy levels"),
    ("last words", "exit notes"),
    ("lasting", "persistent"),
    ("mend", "fix"),
    ("mended", "fixed"),
    ("mends", "fixes"),
    ("outlived", "orphans"),
    ("person", "user, caller, sender"),
    ("persons", "users"),
    ("purse", "spending approver"),
    ("revealed", "disclosed"),
    ("rung", "fuzzy level"),
    ("rungs", "fuzzy levels"),
    ("seal", "finalize"),
    ("shelf", "deferred tools"),
    ("shelves", "deferred tools"),
    ("stand in", "override"),
    ("standing", "session grant"),
    ("stands in", "overrides"),
    ("staying", "background runner"),
    ("wall", "sandbox"),
    ("walled", "sandboxed"),
    ("walls", "sandbox"),
    ("warden", "supervisor"),
    ("wardens", "supervisors"),
    ("way out", "network access, egress"),
    ("went on", "continued"),
    ("whereabouts", "cwd tracking"),
    ("whoever", "the caller, the client, the parent process"),
];

/// Participles and prepositions: alone they are no names of functions, which are verbs (`look_up`, `from_stat`, `lock_tools`).
const NO_NAMES: &[&str] = &[
    "asked",
    "begun",
    "built",
    "chosen",
    "done",
    "forgotten",
    "found",
    "given",
    "gone",
    "grown",
    "heard",
    "held",
    "hidden",
    "kept",
    "known",
    "left",
    "lost",
    "made",
    "meant",
    "met",
    "misspelt",
    "named",
    "of",
    "overridden",
    "rewritten",
    "said",
    "seen",
    "sent",
    "shown",
    "spent",
    "stored",
    "taken",
    "thrown",
    "told",
    "unwritten",
    "wanted",
    "written",
];

/// What may name them: migrations that rename columns, names that others chose, this table.
fn is_exempt(path: &str) -> bool {
    path == "tests/words.rs"
        || path.contains("/migrations/")
        // Pages and command lines as others write them.
        || path.contains("/tests/corpus/")
        // The library for encryption names its methods so.
        || path == "crates/nodes/src/cipher.rs"
        || path.ends_with("Cargo.lock")
        || path.ends_with("package-lock.json")
}

/// The words of a line in lower case, each between blanks: `JobKeeper` and `job_keeper` are ` job keeper `.
fn words_of(line: &str) -> String {
    let mut words = String::from(" ");
    let mut chars = line.chars().peekable();
    let mut previous = ' ';
    while let Some(ch) = chars.next() {
        let next_is_lower = chars.peek().is_some_and(|next| next.is_lowercase());
        let starts_word = ch.is_uppercase() && (previous.is_lowercase() || (previous.is_uppercase() && next_is_lower));
        if (starts_word || !ch.is_alphabetic()) && !words.ends_with(' ') {
            words.push(' ');
        }
        if ch.is_alphabetic() {
            words.extend(ch.to_lowercase());
        }
        previous = ch;
    }
    words.push(' ');
    words
}

/// One message for each retired word in a file's path (line 0) and text.
fn faults(path: &str, text: &str) -> Vec<String> {
    let lines = std::iter::once(path).chain(text.lines());
    let found = lines.enumerate().flat_map(|(number, line)| {
        let words = words_of(line);
        let retired = RETIRED.iter().filter(move |(word, _)| words.contains(&format!(" {word} ")));
        retired.map(move |(word, instead)| format!("{path}:{number}: '{word}' is retired, write: {instead}"))
    });
    found.collect()
}

/// Whether a file holds Rust that no test alone uses.
fn is_source(path: &str) -> bool {
    let is_test = ["tests", "testkit", "fuzz", "tests.rs", "testing.rs"].iter().any(|part| path.split('/').any(|name| name == *part));
    Path::new(path).extension().is_some_and(|extension| extension == "rs") && !is_test
}

/// One message for each function of a source file, outside of its tests, that has no verb in its name.
fn misnamed_functions(path: &str, text: &str) -> Vec<String> {
    let source = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let misnamed = source.lines().enumerate().filter_map(|(index, line)| {
        let (before, after) = line.split_once("fn ")?;
        let name = after.split(['(', '<']).next()?;
        let is_function = before.is_empty() || before.ends_with(' ');
        (is_function && NO_NAMES.contains(&name)).then(|| format!("{path}:{}: 'fn {name}' is no verb", index + 1))
    });
    misnamed.collect()
}

/// Checks every tracked text file of those that are wanted.
fn assert_no_faults(is_wanted: impl Fn(&str) -> bool, faults: impl Fn(&str, &str) -> Vec<String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output().expect("git runs");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let paths = String::from_utf8(listed.stdout).expect("paths are UTF-8");
    // Pictures and other bytes, links to nowhere and files that are being removed have no text.
    let texts = paths.split_terminator('\0').filter(|path| is_wanted(path)).filter_map(|path| {
        let text = std::fs::read_to_string(root.join(path)).ok()?;
        Some((path, text))
    });
    let (mut read, mut all) = (0, Vec::new());
    for (path, text) in texts {
        read += 1;
        all.extend(faults(path, &text));
    }
    assert!(read > 500, "only {read} files were read");
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn tracked_files_have_no_retired_word() {
    assert_no_faults(|path| !is_exempt(path), faults);
}

#[test]
fn functions_are_named_by_verbs() {
    assert_no_faults(is_source, misnamed_functions);
}

#[test]
fn function_without_a_verb_is_found_outside_of_tests() {
    let text = "impl A {\n    pub(crate) async fn kept(&self) {}\n    const fn of<T>() {}\n}\nfn said() {}\n";
    let expected = ["a.rs:2: 'fn kept' is no verb", "a.rs:3: 'fn of' is no verb", "a.rs:5: 'fn said' is no verb"];
    assert_eq!(misnamed_functions("a.rs", text), expected);
    let fine = "fn look_up() {}\nfn of_agent() {}\nlet kept = of(1);\n#[cfg(test)]\nmod tests {\n    fn said() {}\n}\n";
    assert_eq!(misnamed_functions("a.rs", fine), Vec::<String>::new());
    assert!(is_source("crates/store/src/lib.rs") && is_source("src/testing_ground.rs"));
    for test in ["tests/words.rs", "crates/a/tests/b.rs", "crates/a/src/b/tests.rs", "crates/testkit/src/lib.rs", "docs/a.md"] {
        assert!(!is_source(test), "{test}");
    }
}

#[test]
fn retired_word_that_is_put_back_is_found_in_every_spelling() {
    for (text, expected) in [
        ("fine\nbehind walls", "a.rs:2: 'walls' is retired, write: sandbox"),
        ("struct JobKeeper;", "a.rs:1: 'keeper' is retired, write: supervisor, rule store"),
        ("fn ask_keeper() {}", "a.rs:1: 'keeper' is retired, write: supervisor, rule store"),
        ("HTTPKeeper", "a.rs:1: 'keeper' is retired, write: supervisor, rule store"),
        ("const KEEPER: u8", "a.rs:1: 'keeper' is retired, write: supervisor, rule store"),
        ("Whoever reads", "a.rs:1: 'whoever' is retired, write: the caller, the client, the parent process"),
        ("no way-out here", "a.rs:1: 'way out' is retired, write: network access, egress"),
    ] {
        assert_eq!(faults("a.rs", text), [expected], "{text}");
    }
    assert_eq!(faults("src/kin.rs", ""), ["src/kin.rs:0: 'kin' is retired, write: descendants"]);
    for fine in ["firewall desktop recommend kind", "wallet KinderGarten skin", "the way outside"] {
        assert_eq!(faults("a.rs", fine), Vec::<String>::new(), "{fine}");
    }
}

#[test]
fn table_is_sorted_and_in_the_form_that_the_lookup_uses() {
    let words: Vec<&str> = RETIRED.iter().map(|(word, _)| *word).collect();
    assert!(words.iter().all(|word| word.chars().all(|ch| ch.is_ascii_lowercase() || ch == ' ')), "{words:?}");
    assert!(words.is_sorted(), "{words:?}");
    assert!(NO_NAMES.is_sorted(), "{NO_NAMES:?}");
}
