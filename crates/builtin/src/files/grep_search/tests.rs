use std::collections::BTreeMap;
use std::time::Duration;

use haft_contract::{DynTool, Effect, Erased, ErrorKind, Extent};
use haft_testkit::{FakeHost, Trial, context_for, expect_error, expect_text, run_tool};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn host(files: &[(&str, &str)]) -> Arc<FakeHost> {
    let host = FakeHost::new();
    for (path, content) in files {
        host.files.put(path, *content);
    }
    host
}

async fn grep(host: &Arc<FakeHost>, arguments: Value) -> Result<ToolOutput, ToolError> {
    run_tool(&Erased::new(GrepSearch), arguments, Arc::clone(host)).await
}

async fn text(host: &Arc<FakeHost>, arguments: Value) -> String {
    expect_text(grep(host, arguments).await)
}

async fn details(host: &Arc<FakeHost>, arguments: Value) -> Value {
    grep(host, arguments).await.unwrap().details.unwrap()
}

async fn within(budget: GrepBudget, host: &Arc<FakeHost>, arguments: Value) -> ToolOutput {
    let params: Params = serde_json::from_value(arguments).unwrap();
    let plan = GrepSearch.plan(&params, &PlanContext::new(&**host)).unwrap();
    GrepSearch.search(&params, budget, &context_for(plan, Arc::clone(host))).await.unwrap()
}

const POEM: &str = "one\ntwo two\nthree\nfour\nfive two\nsix\nseven\neight\nnine two\n";

#[tokio::test]
async fn each_mode_shows_its_own() {
    let host = host(&[("a.txt", POEM), ("b/c.txt", "two\n"), ("d.txt", "none\n")]);
    for (mode, expected) in [
        ("files_with_matches", "a.txt\nb/c.txt"),
        ("count", "a.txt:3\nb/c.txt:1"),
        ("content", "a.txt:2:two two\na.txt:5:five two\na.txt:9:nine two\nb/c.txt:1:two"),
    ] {
        assert_eq!(text(&host, json!({"pattern": "two", "output_mode": mode})).await, expected);
    }
    assert_eq!(text(&host, json!({"pattern": "two"})).await, "a.txt\nb/c.txt", "files are the default");
    let unknown = expect_error(grep(&host, json!({"pattern": "two", "output_mode": "lines"})).await);
    assert_eq!(unknown.0, ErrorKind::ValidationError);
}

#[tokio::test]
async fn details_count_what_is_not_shown_as_well() {
    let host = host(&[("a", "x\nx\nx\n"), ("b", "x\n"), ("c", "y\n")]);
    let output = grep(&host, json!({"pattern": "x", "output_mode": "content", "head_limit": 2})).await.unwrap();
    let details = json!({
        "mode": "content", "lines": 2, "total_files": 2, "total_lines": 4, "total_matches": 4, "truncated": true, "next_offset": 2,
        "complete": true, "ended_by": null, "searched": 3, "binary_files": 0, "denied": 0, "troubles": [], "elapsed_ms": 0
    });
    let text = "a:1:x\na:2:x\n\n(Showing lines 1-2 of 4 in 2 files. Continue with offset=2, or narrow the search.)";
    assert_eq!(output, ToolOutput::text(text).with_details(details));
}

#[tokio::test]
async fn context_is_merged_and_gaps_are_marked() {
    let host = host(&[("a", POEM), ("b", "0\ntwo\n")]);
    let content = |more: Value| {
        let mut arguments = json!({"pattern": "two", "output_mode": "content"});
        more.as_object().unwrap().iter().for_each(|(name, value)| arguments[name] = value.clone());
        text(&host, arguments)
    };
    let one = "a-1-one\na:2:two two\na-3-three\na-4-four\na:5:five two\na-6-six\n--\na-8-eight\na:9:nine two\n--\nb-1-0\nb:2:two";
    assert_eq!(content(json!({"context": 1})).await, one);
    let three = "a-1-one\na:2:two two\na-3-three\na-4-four\na:5:five two\na-6-six\na-7-seven\na-8-eight\na:9:nine two\n--\nb-1-0\nb:2:two";
    assert_eq!(content(json!({"context": 3})).await, three);
    let after = "a:2:two two\na-3-three\n--\na:5:five two\na-6-six\n--\na:9:nine two\n--\nb:2:two";
    assert_eq!(content(json!({"after": 1})).await, after);
    let before = "a-1-one\na:2:two two\n--\na-4-four\na:5:five two\n--\na-8-eight\na:9:nine two\n--\nb-1-0\nb:2:two";
    assert_eq!(content(json!({"before": 1, "context": 5, "after": 0})).await, before, "before and after win over context");
    let plain = "a-one\na:two two\na-three\na-four\na:five two\na-six\n--\na-eight\na:nine two\n--\nb-0\nb:two";
    assert_eq!(content(json!({"context": 1, "line_numbers": false})).await, plain);
}

#[tokio::test]
async fn pages_of_lines_follow_each_other_to_the_end() {
    let content = (0..40).map(|line| format!("hit {line}\n\n\n\n")).collect::<Vec<_>>().concat();
    let files: Vec<(String, &str)> = (0..7).map(|file| (format!("f{file}"), content.as_str())).collect();
    let host = host(&files.iter().map(|(path, content)| (path.as_str(), *content)).collect::<Vec<_>>());
    let arguments = |offset: &Value, limit: usize| json!({"pattern": "hit", "output_mode": "content", "-C": 1, "context": 1, "offset": offset, "head_limit": limit});
    let whole = text(&host, arguments(&json!(0), 0)).await;
    let (mut all, mut offset) = (Vec::new(), json!(0));
    while !offset.is_null() {
        let output = grep(&host, arguments(&offset, 50)).await.unwrap();
        offset = output.details.as_ref().unwrap()["next_offset"].clone();
        let text = expect_text(Ok(output));
        all.extend(text.split("\n\n(").next().unwrap().lines().map(str::to_owned));
    }
    assert_eq!(all.join("\n"), whole);
    let past = text(&host, arguments(&json!(5000), 50)).await;
    assert_eq!(past, format!("(No lines at offset=5000: there are {}.)", searching_count(whole.lines().count())));
    let far = expect_error(grep(&host, arguments(&json!(20_001), 50)).await);
    let message = "Parameter 'offset' may be at most 20000, not 20001. Narrow the search with 'path', 'glob' or 'type' instead.";
    assert_eq!(far, (ErrorKind::ValidationError, message.to_owned()));
}

fn searching_count(count: usize) -> String {
    haft_text::numbers::group_digits(count)
}

#[tokio::test]
async fn matching_across_lines_is_real() {
    let host = host(&[("a", "start\nmid\nend\nstart\nno\n"), ("b", "start end\n")]);
    let across = json!({"pattern": "start.*?end", "multiline": true, "output_mode": "content"});
    assert_eq!(text(&host, across.clone()).await, "a:1:start\na:2:mid\na:3:end\nb:1:start end");
    let mut count = across.clone();
    count["output_mode"] = "count".into();
    assert_eq!(text(&host, count).await, "a:1\nb:1");
    assert_eq!(text(&host, json!({"pattern": "start.*end", "output_mode": "content"})).await, "b:1:start end");
    let mut parts = across;
    parts["only_matching"] = true.into();
    assert_eq!(text(&host, parts).await, "a:1:start\na:2:mid\na:3:end\nb:1:start end");
    assert_eq!(text(&host, json!({"pattern": "^no$", "multiline": true, "output_mode": "content"})).await, "a:5:no");
}

#[tokio::test]
async fn case_parts_and_line_numbers_follow_the_parameters() {
    let host = host(&[("a", "Foo bar foo\nFOO\n")]);
    let content = |mut arguments: Value| {
        arguments["output_mode"] = "content".into();
        let host = Arc::clone(&host);
        async move { text(&host, arguments).await }
    };
    assert_eq!(content(json!({"pattern": "foo", "case_insensitive": true})).await, "a:1:Foo bar foo\na:2:FOO");
    assert_eq!(content(json!({"pattern": "(?i)foo", "only_matching": true})).await, "a:1:Foo\na:1:foo\na:2:FOO");
    assert_eq!(content(json!({"pattern": "foo", "line_numbers": false})).await, "a:Foo bar foo");
    assert_eq!(content(json!({"pattern": " bar ", "only_matching": true})).await, "a:1: bar ", "blanks in a pattern count");
}

#[tokio::test]
async fn files_are_chosen_by_path_pattern_and_type() {
    let host = host(&[("a.rs", "x"), ("src/b.rs", "x"), ("src/c.md", "x"), ("tests/d.rs", "x"), (".hid/e.rs", "x")]);
    for (arguments, expected) in [
        (json!({"path": "src"}), "src/b.rs\nsrc/c.md"),
        (json!({"path": "src/c.md"}), "src/c.md"),
        (json!({"path": "src/c.md", "type": "rust"}), "src/c.md"),
        (json!({"glob": ["*.rs"]}), "a.rs\nsrc/b.rs\ntests/d.rs"),
        (json!({"glob": ["*.rs", "!tests/**"]}), "a.rs\nsrc/b.rs"),
        (json!({"type": "md"}), "src/c.md"),
        (json!({"hidden": true, "type": "rust"}), ".hid/e.rs\na.rs\nsrc/b.rs\ntests/d.rs"),
    ] {
        let mut arguments = arguments;
        arguments["pattern"] = "x".into();
        assert_eq!(text(&host, arguments.clone()).await, expected, "{arguments}");
    }
}

#[tokio::test]
async fn finding_nothing_is_said_with_what_was_left_out() {
    let host = host(&[("a", "x"), ("src/b", "x"), ("src/c", "\0")]);
    let both = "Hidden files and files in .gitignore were left out: hidden=true and ignored=true include them.";
    for (arguments, expected) in [
        (json!({"pattern": "y"}), format!("No match for 'y' in the workspace (3 files searched, of which 1 is binary). {both}")),
        (json!({"pattern": "y", "path": "a"}), format!("No match for 'y' in 'a' (1 file searched). {both}")),
        (
            json!({"pattern": "y", "glob": ["*.rs"], "hidden": true, "ignored": true}),
            "No match for 'y' in the workspace (0 files searched).".into(),
        ),
    ] {
        assert_eq!(text(&host, arguments).await, expected);
    }
}

#[tokio::test]
async fn what_cannot_be_searched_is_explained() {
    let host = host(&[("a", "x")]);
    for (arguments, kind, start) in [
        (json!({"pattern": "x", "path": "nope"}), ErrorKind::FileNotFound, "File not found: nope"),
        (json!({"pattern": "("}), ErrorKind::ValidationError, "Parameter 'pattern' is not a regular expression: '('.\nregex parse error:"),
        (json!({"pattern": ""}), ErrorKind::ValidationError, "Parameter 'pattern' is empty"),
        (json!({"pattern": "x", "type": "nope"}), ErrorKind::ValidationError, "Parameter 'type' is not a known file type: 'nope'."),
        (json!({"pattern": "x", "glob": ["{a"]}), ErrorKind::ValidationError, "Parameter 'glob' is not a pattern: '{a': "),
    ] {
        let (found, message) = expect_error(grep(&host, arguments).await);
        assert!(found == kind && message.starts_with(start), "{found} {message}");
    }
}

#[tokio::test]
async fn binary_files_are_treated_as_ripgrep_does() {
    let host = FakeHost::new();
    host.files.put("bin", "alpha\nbeta\0gamma\nalpha\n");
    host.files.put("late", [b"alpha\n".repeat(20_000), b"\0\nalpha\n".to_vec()].concat());
    let content = |path: &str| json!({"pattern": "alpha", "path": path, "output_mode": "content", "head_limit": 2});
    // In a folder a file that begins as a binary one is passed over, and what turns out to be one is left at the first NUL.
    let whole = text(&host, json!({"pattern": "alpha", "output_mode": "content", "head_limit": 0})).await;
    let lines: Vec<&str> = whole.split("\n\n(").next().unwrap().lines().collect();
    assert_eq!((lines[0], lines[9999]), ("late:1:alpha", "late:10000:alpha"));
    let last = text(&host, json!({"pattern": "alpha", "output_mode": "content", "offset": 10_922})).await;
    assert_eq!(last, "late: WARNING: stopped searching binary file after match (found \"\\0\" byte around offset 120000)");
    // Of a file that was named it is said that it matches.
    assert_eq!(text(&host, content("bin")).await, "bin: binary file matches (found \"\\0\" byte around offset 10)");
    assert!(text(&host, content("late")).await.starts_with("late:1:alpha\nlate:2:alpha\n"));
    // In a folder a binary file is not listed, unless it matches long before.
    assert_eq!(text(&host, json!({"pattern": "alpha"})).await, "late");
    assert_eq!(text(&host, json!({"pattern": "alpha", "path": "bin"})).await, "bin");
    assert_eq!(details(&host, json!({"pattern": "zzz"})).await["binary_files"], 2);
}

#[tokio::test]
async fn other_encodings_are_read_or_shown_as_far_as_they_go() {
    let host = FakeHost::new();
    let wide: Vec<u8> = "\u{feff}één\nzwei\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    host.files.put("wide", wide);
    host.files.put("latin", b"caf\xe9 zwei\n".to_vec());
    host.files.put("marked", "\u{feff}zwei\n");
    let found = text(&host, json!({"pattern": "^zwei|zwei$", "output_mode": "content"})).await;
    let note = "(Some lines are not UTF-8: what could not be read is shown as '\u{fffd}'.)";
    assert_eq!(found, format!("latin:1:caf\u{fffd} zwei\nmarked:1:zwei\nwide:2:zwei\n\n{note}"));
    assert_eq!(text(&host, json!({"pattern": "één", "output_mode": "count"})).await, "wide:1");
}

#[tokio::test]
async fn long_lines_are_cut_and_endless_ones_searched_in_pieces() {
    let host = FakeHost::new();
    host.files.put("long", format!("{}needle{}\n", "x".repeat(2000), "y".repeat(2000)));
    host.files.put("endless", format!("first\n{}needle{}\nlast needle\n", "x".repeat((3 << 20) + 500), "y".repeat(3 << 20)));
    let found = text(&host, json!({"pattern": "needle", "output_mode": "content"})).await;
    let cut = |number: u32, name: &str| format!("{name}:{number}:…{}needle{}…", "x".repeat(100), "y".repeat(394));
    let note = "(Lines longer than 500 characters are cut at '…'.)";
    assert_eq!(found, format!("{}\nendless:3:last needle\n{}\n\n{note}", cut(2, "endless"), cut(1, "long")));
}

#[tokio::test]
async fn a_file_with_endless_matches_is_bounded() {
    let host = host(&[("many", &"x\n".repeat(5000)), ("one", "x\n")]);
    let budget = GrepBudget { in_file: 1000, ..GrepBudget::default() };
    let output = within(budget, &host, json!({"pattern": "x", "output_mode": "content", "head_limit": 3})).await;
    let (details, text) = (output.details.clone().unwrap(), expect_text(Ok(output)));
    let note = "(Stopped: there are too many matches to count them all. Narrow the pattern.)";
    let page = "(Showing lines 1-3 of 1,001 in 2 files. Continue with offset=3, or narrow the search.)";
    assert_eq!(text, format!("many:1:x\nmany:2:x\nmany:3:x\n\n{page}\n{note}"));
    assert_eq!((&details["complete"], &details["ended_by"]), (&json!(false), &json!("matches")));
    let all = GrepBudget { in_all: 1, ..GrepBudget::default() };
    assert_eq!(within(all, &host, json!({"pattern": "x", "output_mode": "count"})).await.details.unwrap()["searched"], 1);
}

#[tokio::test]
async fn a_search_that_takes_too_long_shows_what_it_has() {
    let host = host(&[("a", "x\n")]);
    let output = within(GrepBudget { time: Duration::ZERO, ..GrepBudget::default() }, &host, json!({"pattern": "x"})).await;
    assert_eq!(output.details.as_ref().unwrap()["ended_by"], "time");
    let text = expect_text(Ok(output));
    assert!(text.ends_with("(Stopped after 0 seconds, so there may be more. Narrow the search with 'path', 'glob' or 'type'.)"), "{text}");
}

#[tokio::test]
async fn what_may_not_be_read_is_never_searched() {
    let host = host(&[("open", "KEY=1"), ("secret/a", "KEY=2"), (".env", "KEY=3")]);
    host.files.forbid_read("secret", "a secret");
    host.files.forbid_read(".env", "a secret");
    let found = text(&host, json!({"pattern": "KEY", "output_mode": "content", "hidden": true})).await;
    assert_eq!(found, "open:1:KEY=1");
}

#[tokio::test]
async fn names_and_lines_cannot_break_the_list() {
    let host = host(&[("two\nlines", "a\r\nx\r\n")]);
    assert_eq!(text(&host, json!({"pattern": "x", "output_mode": "content"})).await, "two\\nlines:2:x");
}

#[tokio::test]
async fn a_page_is_bounded_in_bytes_as_well() {
    let line = format!("{}\n", "x".repeat(499));
    let host = host(&[("a", &line.repeat(9000))]);
    for (limit, lines) in [(json!(null), 203), (json!(9000), 1992)] {
        let mut arguments = json!({"pattern": "x", "output_mode": "content", "line_numbers": false});
        if limit.is_number() {
            arguments["head_limit"] = limit;
        } else {
            arguments["offset"] = 100.into();
        }
        let output = grep(&host, arguments).await.unwrap();
        let shown = output.details.unwrap()["lines"].as_u64().unwrap();
        assert_eq!(shown, lines);
    }
}

#[tokio::test]
async fn the_plan_names_what_is_searched() {
    let host = host(&[("a", "x")]);
    for (arguments, location) in
        [(json!({"pattern": "x"}), "."), (json!({"pattern": "x", "path": "a"}), "a"), (json!({"pattern": "x", "path": "/etc"}), "/etc")]
    {
        let prepared = Erased::new(GrepSearch).prepare(arguments, &PlanContext::new(&*host)).unwrap();
        let [Effect::Read(effect)] = prepared.plan().effects() else { panic!("{prepared:?}") };
        assert_eq!((effect.location.display(), effect.extent), (location, Extent::Tree));
    }
}

#[tokio::test]
async fn a_call_that_was_stopped_finds_nothing() {
    let trial = Trial::new(host(&[("a", "x")]));
    trial.cancel.cancel();
    assert_eq!(expect_error(trial.run(&Erased::new(GrepSearch), json!({"pattern": "x"})).await).0, ErrorKind::Cancelled);
}

/// What a plain reading line by line finds.
fn line_by_line(files: &BTreeMap<String, String>, expression: &regex::Regex) -> Vec<String> {
    let lines = files.iter().flat_map(|(path, content)| content.lines().zip(1..).map(move |(line, number)| (path, number, line)));
    let matching = lines.filter(|(_, _, line)| expression.is_match(line));
    matching.map(|(path, number, line)| format!("{path}:{number}:{line}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn the_search_agrees_with_reading_line_by_line(
        files in proptest::collection::btree_map("[a-c]/[a-z]{1,3}", "([abAB é]{0,6}\n){0,12}[ab]{0,3}", 0..8),
        expression in prop_oneof![
            Just("a"), Just("^a"), Just("b$"), Just("(?i)ab"), Just("a.*b"), Just("é+"), Just("^$"), Just(r"\bab\b"), Just("[^a]"), Just("a{2,3}|B")
        ],
    ) {
        let host = FakeHost::new();
        for (path, content) in &files {
            host.files.put(path, content.as_str());
        }
        let expected = line_by_line(&files, &regex::Regex::new(expression).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let output = runtime.block_on(grep(&host, json!({"pattern": expression, "output_mode": "content", "head_limit": 0}))).unwrap();
        let details = output.details.clone().unwrap();
        let text = expect_text(Ok(output));
        let found: Vec<&str> = if expected.is_empty() { Vec::new() } else { text.lines().collect() };
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(details["total_matches"].as_u64().unwrap(), expected.len() as u64);
    }
}

/// Whatever a file holds, and wherever it is divided.
fn in_parts_or_not(content: &[u8], arguments: &Value, is_named: bool) -> [ToolOutput; 2] {
    let host = FakeHost::new();
    host.files.put("f", content);
    let mut arguments = arguments.clone();
    if is_named {
        arguments["path"] = "f".into();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    [1, u64::MAX].map(|large| runtime.block_on(within(GrepBudget { large, ..GrepBudget::default() }, &host, arguments.clone())))
}

#[test]
fn a_large_file_is_searched_in_parts_with_the_same_outcome() {
    let lines: String = (0..40_000).map(|number| format!("{number} {}\n", "word ".repeat(number % 9))).collect::<Vec<_>>().concat();
    let giant = format!("{}hit 1\n{}tail\nhit 2\n{}", "a\n".repeat(50_000), "x".repeat(3 << 20), "b\n".repeat(50_000));
    let mut binary = "hit\n".repeat(100_000).into_bytes();
    binary[300_000] = 0;
    let endless = "no end".repeat(30_000);
    let marked = format!("\u{feff}hit 1\n{}\u{feff}hit 2\n", "c\n".repeat(200_000));
    let contents: [&[u8]; 6] = [lines.as_bytes(), giant.as_bytes(), &binary, endless.as_bytes(), &vec![b'\n'; 200_000], marked.as_bytes()];
    for content in contents {
        for pattern in ["1234 ", "9 (word ){8}$", "^hit", "^$", "nowhere", "no end", "tail"] {
            for mode in ["content", "count", "files_with_matches"] {
                for is_named in [true, false] {
                    let arguments = json!({"pattern": pattern, "output_mode": mode, "head_limit": 100, "offset": 20});
                    let [divided, whole] = in_parts_or_not(content, &arguments, is_named);
                    // How far a search goes beyond the first NUL depends on where it reads, so that one is compared below.
                    if !content.contains(&0) {
                        assert_eq!(divided, whole, "{arguments} {is_named}");
                    }
                }
            }
        }
    }
    let arguments = json!({"pattern": "hit", "output_mode": "content", "head_limit": 1});
    let [divided, _] = in_parts_or_not(&binary, &arguments, false);
    let text = expect_text(Ok(divided));
    assert!(text.starts_with("f:1:hit\n\n(Showing lines 1-1 of "), "{text}");
    let [divided, _] = in_parts_or_not(&binary, &json!({"pattern": "nowhere", "output_mode": "count"}), false);
    assert_eq!(divided.details.unwrap()["binary_files"], 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn dividing_a_file_changes_nothing(
        pieces in proptest::collection::vec(("[ab\n]{0,40}", 0..3000_usize), 1..12),
        pattern in prop_oneof![Just("a"), Just("^b"), Just("a$"), Just("ab|ba"), Just("^$")],
        numbers: bool,
        only: bool,
    ) {
        // Long enough to be divided at all.
        let content = pieces.iter().map(|(text, times)| text.repeat(*times)).collect::<Vec<_>>().concat() + &"\n".repeat(70_000);
        let arguments = json!({"pattern": pattern, "output_mode": "content", "line_numbers": numbers, "only_matching": only, "head_limit": 4000});
        let [divided, whole] = in_parts_or_not(content.as_bytes(), &arguments, true);
        prop_assert_eq!(divided, whole);
    }
}
