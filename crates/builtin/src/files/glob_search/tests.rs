use haft_contract::{Effect, Erased, ErrorKind, Extent};
use haft_testkit::{FakeHost, Trial, context_for, expect_error, expect_text, run_tool};
use serde_json::Value;

use super::*;

fn host(paths: &[&str]) -> Arc<FakeHost> {
    let host = FakeHost::new();
    for path in paths {
        host.files.put(path, "x");
    }
    host
}

async fn glob(host: &Arc<FakeHost>, arguments: Value) -> Result<ToolOutput, ToolError> {
    run_tool(&Erased::new(GlobSearch), arguments, Arc::clone(host)).await
}

#[tokio::test]
async fn files_are_found_by_their_paths() {
    let host = host(&["a.rs", "src/b.rs", "src/deep/c.rs", "src/d.md", ".github/e.yml", "src/.f.rs", "two words.rs"]);
    for (arguments, expected) in [
        (json!({"pattern": "**/*.rs"}), &["a.rs", "src/b.rs", "src/deep/c.rs", "two words.rs"][..]),
        (json!({"pattern": "*.rs"}), &["a.rs", "two words.rs"]),
        (json!({"pattern": "*.rs", "path": "src"}), &["src/b.rs"]),
        (json!({"pattern": "src/**/*.{rs,md}"}), &["src/b.rs", "src/d.md", "src/deep/c.rs"]),
        (json!({"pattern": "**/*.rs", "hidden": true}), &["a.rs", "src/.f.rs", "src/b.rs", "src/deep/c.rs", "two words.rs"]),
        (json!({"pattern": ".github/**"}), &[".github/e.yml"]),
        (json!({"pattern": "**/.*.rs"}), &["src/.f.rs"]),
        (json!({"pattern": "/workspace/src/*.md"}), &["src/d.md"]),
        (json!({"pattern": "!**/*.rs"}), &["src/d.md"]),
        (json!({"pattern": "**/*.rs", "exclude": ["deep", "two*"]}), &["a.rs", "src/b.rs"]),
    ] {
        assert_eq!(expect_text(glob(&host, arguments.clone()).await), expected.join("\n"), "{arguments}");
    }
}

#[tokio::test]
async fn details_say_what_was_counted() {
    let host = host(&["a.rs", "b.rs", "c.rs", "d.md"]);
    let output = glob(&host, json!({"pattern": "*.rs", "limit": 2})).await.unwrap();
    let details = json!({
        "files": ["a.rs", "b.rs"], "total": 3, "truncated": true, "next_offset": 2, "complete": true, "looked_at": 4, "denied": 0,
        "elapsed_ms": 0
    });
    let text = "a.rs\nb.rs\n\n(Showing files 1-2 of 3, newest first. Continue with offset=2, or narrow the pattern.)";
    assert_eq!(output, ToolOutput::text(text).with_details(details));
}

#[tokio::test]
async fn pages_follow_each_other_to_the_end() {
    let names: Vec<String> = (0..250).map(|number| format!("{number:03}.txt")).collect();
    let host = host(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let (mut all, mut offset) = (Vec::new(), json!(0));
    while !offset.is_null() {
        let details = glob(&host, json!({"pattern": "*", "offset": offset})).await.unwrap().details.unwrap();
        all.extend(details["files"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()));
        offset = details["next_offset"].clone();
    }
    assert_eq!(all, names);
    let past = expect_text(glob(&host, json!({"pattern": "*", "offset": 250})).await);
    assert_eq!(past, "(No files at offset=250: 250 match.)");
}

#[tokio::test]
async fn a_limit_has_a_limit() {
    let names: Vec<String> = (0..1500).map(|number| format!("{number:04}")).collect();
    let host = host(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for (limit, shown) in [(0, 1), (1, 1), (1000, 1000), (usize::MAX >> 1, 1000)] {
        let details = glob(&host, json!({"pattern": "*", "limit": limit})).await.unwrap().details.unwrap();
        assert_eq!((details["files"].as_array().unwrap().len(), &details["total"]), (shown, &json!(1500)));
    }
    let message = "Parameter 'offset' may be at most 50000, not 50001. Narrow the pattern or the path instead.";
    let error = expect_error(glob(&host, json!({"pattern": "*", "offset": 50_001})).await);
    assert_eq!(error, (ErrorKind::ValidationError, message.to_owned()));
}

#[tokio::test]
async fn a_page_is_bounded_in_bytes_as_well() {
    let names: Vec<String> = (0..1000).map(|number| format!("{number:03}{}", "x".repeat(246))).collect();
    let host = host(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let details = glob(&host, json!({"pattern": "*", "limit": 1000})).await.unwrap().details.unwrap();
    assert_eq!((details["files"].as_array().unwrap().len(), &details["next_offset"]), (800, &json!(800)));
}

#[tokio::test]
async fn finding_nothing_is_said_with_what_was_left_out() {
    let host = host(&["a.rs", "src/b.rs"]);
    let both = "Hidden files and files in .gitignore were left out: hidden=true and ignored=true include them.";
    for (arguments, expected) in [
        (
            json!({"pattern": "*.md"}),
            format!(
                "No file matches '*.md' in the workspace (2 looked at). '*' stays within one folder: '**/*.md' looks in all of them. {both}"
            ),
        ),
        (json!({"pattern": "**/*.md", "path": "src"}), format!("No file matches '**/*.md' in 'src' (1 looked at). {both}")),
        (
            json!({"pattern": "**/*.md", "hidden": true, "ignored": true}),
            "No file matches '**/*.md' in the workspace (2 looked at).".into(),
        ),
        (
            json!({"pattern": "**/.x", "ignored": false}),
            "No file matches '**/.x' in the workspace (2 looked at). Files in .gitignore were left out: ignored=true includes them.".into(),
        ),
        (json!({"pattern": "nowhere/**/*.rs"}), format!("No file matches 'nowhere/**/*.rs' in 'nowhere' (0 looked at). {both}")),
    ] {
        assert_eq!(expect_text(glob(&host, arguments).await), expected);
    }
}

#[tokio::test]
async fn what_cannot_be_searched_is_explained() {
    let host = host(&["a.rs"]);
    for (arguments, kind, message) in [
        (json!({"pattern": "*", "path": "nope"}), ErrorKind::FileNotFound, "File not found: nope"),
        (
            json!({"pattern": "*", "path": "a.rs"}),
            ErrorKind::ValidationError,
            "'a.rs' is a file. Give a directory as 'path', or read the file with read_file.",
        ),
        (
            json!({"pattern": "[a"}),
            ErrorKind::ValidationError,
            "Parameter 'pattern' is not a pattern: '[a': unclosed set of characters; missing ']'. Put '\\' before a literal special character.",
        ),
    ] {
        assert_eq!(expect_error(glob(&host, arguments).await), (kind, message.to_owned()));
    }
}

#[tokio::test]
async fn what_may_not_be_read_is_not_found() {
    let host = host(&["a.key", "b.rs", "secrets/c.rs"]);
    host.files.forbid_read("a.key", "a key");
    host.files.forbid_read("secrets", "secrets");
    assert_eq!(expect_text(glob(&host, json!({"pattern": "**/*"})).await), "b.rs");
}

#[tokio::test]
async fn names_that_would_break_the_list_are_spelled_out() {
    let host = host(&["two\nlines", "bell\u{7}"]);
    assert_eq!(expect_text(glob(&host, json!({"pattern": "*"})).await), "bell\\u{7}\ntwo\\nlines");
}

#[tokio::test]
async fn a_search_that_takes_too_long_shows_what_it_has() {
    let host = host(&["a.rs"]);
    let params: Params = serde_json::from_value(json!({"pattern": "**/*"})).unwrap();
    let plan = GlobSearch.plan(&params, &PlanContext::new(&*host)).unwrap();
    let output = GlobSearch.search(&params, Deadline::after(std::time::Duration::ZERO), &context_for(plan, host)).await.unwrap();
    assert_eq!(output.details.as_ref().unwrap()["complete"], false);
    let text = expect_text(Ok(output));
    assert!(text.ends_with("\n(Stopped after 20 seconds, so there may be more. Narrow the pattern or the path.)"), "{text}");
}

#[tokio::test]
async fn the_plan_names_the_folder_that_is_searched() {
    let host = host(&["src/a.rs"]);
    for (arguments, location) in [
        (json!({"pattern": "**/*"}), "."),
        (json!({"pattern": "src/**/*"}), "src"),
        (json!({"pattern": "../other/*"}), "/other"),
        (json!({"pattern": "/etc/*"}), "/etc"),
        (json!({"pattern": "*", "path": "src"}), "src"),
    ] {
        let params: Params = serde_json::from_value(arguments).unwrap();
        let plan = GlobSearch.plan(&params, &PlanContext::new(&*host)).unwrap();
        let [Effect::Read(effect)] = plan.effects() else { panic!("{plan:?}") };
        assert_eq!((effect.location.display(), effect.extent), (location, Extent::Tree));
    }
}

#[tokio::test]
async fn a_call_that_was_stopped_finds_nothing() {
    let trial = Trial::new(host(&["a.rs"]));
    trial.cancel.cancel();
    let error = expect_error(trial.run(&Erased::new(GlobSearch), json!({"pattern": "*"})).await);
    assert_eq!(error.0, ErrorKind::Cancelled);
}
