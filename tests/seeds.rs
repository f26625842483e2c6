//! `docs/internal/SEEDS.md`, `docs/internal/COMPLAINTS.md` and `ARCHITECTURE.md` name tests: each must exist, and no criterion and no complaint may be
//! without one.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(document: &str) -> String {
    std::fs::read_to_string(root().join(document)).unwrap()
}

#[test]
fn every_test_that_a_document_names_exists() {
    let tests = Tests::collect();
    for document in ["docs/internal/SEEDS.md", "docs/internal/COMPLAINTS.md", "ARCHITECTURE.md"] {
        let text = read(document);
        let named: Vec<&str> = text.split('`').skip(1).step_by(2).filter(|word| names_a_test(word)).collect();
        let missing: Vec<&str> = named.iter().copied().filter(|name| !tests.has(name)).collect();
        assert!(named.len() > 50, "{document} names only {} tests", named.len());
        assert_eq!(missing, Vec::<&str>::new(), "{document} names tests that are not there");
    }
}

#[test]
fn every_criterion_has_a_test_or_says_what_will_bring_it() {
    let page = read("docs/internal/SEEDS.md");
    let rows = rows::<2>(&page, "criterion");
    for [criterion, covered] in &rows {
        let open: Vec<&str> = covered.split("<br>").filter_map(|part| part.strip_prefix("OPEN: ")).collect();
        assert!(is_tested(covered) || !open.is_empty(), "a criterion without test and without reason: {criterion}");
        assert!(open.iter().all(|why| brings_it(why)), "what will bring it? {criterion}");
    }
    assert!(rows.len() > 150, "the seeds have more to say than {} rows", rows.len());
}

#[test]
fn every_complaint_has_an_answer_and_a_test() {
    let page = read("docs/internal/COMPLAINTS.md");
    let rows = rows::<3>(&page, "complaint");
    for [complaint, _, covered] in &rows {
        assert!(is_tested(covered), "a complaint without test: {complaint}");
    }
    assert!(rows.len() > 40, "people complain of more than {} things", rows.len());
}

/// The rows of a page's tables, which all have so many cells and a heading that begins with this word; no cell is empty.
fn rows<'a, const CELLS: usize>(page: &'a str, heading: &str) -> Vec<[&'a str; CELLS]> {
    let heading = format!("| {heading} |");
    let lines = page.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---") && !line.starts_with(&heading));
    lines
        .map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            assert!(cells.iter().all(|cell| !cell.is_empty()), "{row}");
            cells.try_into().unwrap_or_else(|_| panic!("a row has {CELLS} cells: {row}"))
        })
        .collect()
}

fn is_tested(covered: &str) -> bool {
    covered.split('`').skip(1).step_by(2).any(names_a_test)
}

/// An issue by its number, or one of the things that this repository does not hold.
fn brings_it(why: &str) -> bool {
    let issue = why.split("issue ").nth(1).is_some_and(|rest| rest.starts_with(|ch: char| ch.is_ascii_digit()));
    issue || ["chat UI", "Android device"].iter().any(|thing| why.starts_with(thing))
}

fn is_crate(name: &str) -> bool {
    name == "haft" || root().join("crates").join(name).is_dir()
}

fn names_a_test(word: &str) -> bool {
    let parts = word.split("::");
    let plain =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let [first, rest @ ..] = &*parts.collect::<Vec<_>>() else { return false };
    !rest.is_empty() && rest.iter().copied().all(plain) && plain(first) && is_crate(first)
}

/// Every test function of the workspace: its name, and the files that have one of that name.
struct Tests {
    files: BTreeMap<String, Vec<PathBuf>>,
}

impl Tests {
    fn collect() -> Self {
        let mut found = Self { files: BTreeMap::new() };
        for folder in ["crates", "src", "tests"] {
            found.walk(&root().join(folder));
        }
        found
    }

    fn walk(&mut self, folder: &Path) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                self.walk(&path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                for name in tests_in(&std::fs::read_to_string(&path).unwrap()) {
                    self.files.entry(name).or_default().push(path.strip_prefix(root()).unwrap().to_owned());
                }
            }
        }
    }

    /// `engine::running::name`: a test of that name in a file of that crate whose path goes through `running`.
    fn has(&self, full_name: &str) -> bool {
        let parts: Vec<&str> = full_name.split("::").collect();
        let [first, modules @ .., name] = parts.as_slice() else { return false };
        self.files.get(*name).is_some_and(|files| files.iter().any(|file| lies_in(file, first, modules)))
    }
}

fn lies_in(file: &Path, name: &str, modules: &[&str]) -> bool {
    let ours = if name == "haft" { !file.starts_with("crates") } else { file.starts_with(Path::new("crates").join(name)) };
    let stem = file.with_extension("");
    let mut places = stem.components().map(|part| part.as_os_str().to_string_lossy());
    ours && modules.iter().all(|module| places.any(|place| place == *module))
}

/// The names of functions beneath a test attribute, and of the cases that a conformance suite lists for every backend.
fn tests_in(source: &str) -> Vec<String> {
    let (mut names, mut marked, mut in_cases) = (Vec::new(), false, false);
    for line in source.lines().map(str::trim) {
        in_cases = line.ends_with("_cases! {") || (in_cases && line != "}");
        if in_cases && line.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '_') {
            names.push(line.to_owned());
        }
        marked |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        if let Some((_, rest)) = line.split_once("fn ").filter(|_| marked) {
            names.extend(rest.split(['(', '<']).next().map(str::to_owned));
            marked = false;
        }
    }
    names
}

#[test]
fn test_names_are_recognized() {
    let source =
        "#[test]\n#[cfg(unix)]\nfn one() {}\nfn helper() {}\n#[tokio::test(flavor = \"x\")]\nasync fn two(a in 0..1) {}\n// fn three()";
    assert_eq!(tests_in(source), ["one", "two"]);
    assert_eq!(tests_in("log_cases! {\n    four\n    five\n}\nsix"), ["four", "five"]);
    for (word, expected) in [
        ("engine::running::name", true),
        ("engine::name", true),
        ("Engine::run::x", false),
        ("#[haft::tool]", false),
        ("other::a::b", false),
        ("store::sqlite::a-b", false),
    ] {
        assert_eq!(names_a_test(word), expected, "{word}");
    }
    let file = Path::new("crates/engine/tests/suite/running.rs");
    assert!(lies_in(file, "engine", &["running"]) && lies_in(file, "engine", &["suite", "running"]));
    assert!(!lies_in(file, "engine", &["runn"]) && !lies_in(file, "host", &["running"]) && !lies_in(file, "haft", &["running"]));
}
