//! Shells that have a name, through the real binary and in the real sandbox.

use haft_testkit::Round;
use serde_json::{Value, json};

use super::model::{Talk, done};

/// What each of these calls of exec gave within one session: a line, the name of its shell, and what else is said.
fn said(calls: &[(&str, Option<&str>, Value)]) -> Vec<(Value, Value)> {
    let round = |(at, (line, shell, more)): (usize, &(&str, Option<&str>, Value))| {
        let mut call = json!({ "command": line });
        call.as_object_mut().unwrap().extend(shell.map(|name| ("shell".to_owned(), json!(name))));
        call.as_object_mut().unwrap().extend(more.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
        Round::call(&format!("call-{at}"), "exec", call)
    };
    let talk = Talk::new("openai", calls.iter().enumerate().map(round).chain([done()]).collect());
    for folder in ["a/b", "c"] {
        std::fs::create_dir_all(talk.world.file(folder)).unwrap();
    }
    assert_eq!(talk.turn(&["go"]).code, 0);
    let root = talk.world.file("").canonicalize().unwrap().to_string_lossy().trim_end_matches('/').to_owned();
    let shown = |value: &Value| value.as_str().map_or(json!(null), |text| json!(text.replace(&root, "~")));
    talk.results().iter().map(|(_, result)| (shown(&result["result"]), shown(&result["message"]))).collect()
}

#[test]
fn a_named_shell_stays_where_its_line_ended_and_no_other_does() {
    let none = Value::Null;
    let results = said(&[
        ("cd a && export X=1", Some("one"), none.clone()),
        ("pwd; echo [$X]; cd b; exit 3", Some("one"), none.clone()),
        ("pwd", Some("one"), none.clone()),
        ("pwd", Some("two"), none.clone()),
        ("cd a; pwd", None, none.clone()),
        ("pwd", None, none.clone()),
        ("pwd; (cd ..); bash -c 'cd ..'", Some("one"), none.clone()),
        ("pwd; cd ..; trap 'echo mine' EXIT", Some("one"), none.clone()),
        ("pwd; cd ..; exec true", Some("one"), none.clone()),
        ("pwd; exec > out", Some("one"), none.clone()),
        ("cat ../a/b/out; cd ..", Some("one"), json!({"workdir": "c"})),
        ("pwd; false", Some("one"), none),
    ]);
    let texts: Vec<String> =
        results.iter().map(|(result, error)| result.as_str().or(error.as_str()).unwrap_or_default().to_owned()).collect();
    assert!(texts[0].starts_with("(no output)") && texts[0].contains("Shell 'one' is now in '~/a'."), "{results:?}");
    assert!(texts[1].starts_with("Exit code: 3\n\n~/a\n[]") && texts[1].contains("'~/a/b'"), "{results:?}");
    assert_eq!(texts[2..6], ["~/a/b", "~", "~/a", "~"]);
    assert_eq!(texts[6], "~/a/b", "{results:?}");
    assert_eq!(texts[7], "~/a/b\nmine", "a line with a trap of its own does not move the shell: {results:?}");
    assert_eq!(texts[8], "~/a/b", "{results:?}");
    assert_eq!(texts[9], "~/a/b", "what goes to a file ends there, and nothing of ours with it");
    assert!(texts[10].starts_with("(no output)") && texts[10].contains("Shell 'one' is now in '~'."), "{results:?}");
    assert!(texts[11].starts_with("Exit code: 1\n\n~"), "{results:?}");
}

#[test]
fn a_directory_that_is_gone_is_said_and_the_shell_is_back() {
    let none = Value::Null;
    let results = said(&[
        ("cd a/b", Some("one"), none.clone()),
        ("rmdir a/b", None, none.clone()),
        ("pwd", Some("one"), none.clone()),
        ("pwd", Some("one"), none.clone()),
        ("printf '\\036'; cd a", Some("one"), none.clone()),
        ("pwd", Some("one"), none.clone()),
        ("pwd", Some("/bin/bash"), none),
    ]);
    let message = "The working directory '~/a/b' does not exist. Create it first, or leave it out to run in the workspace. Shell 'one' \
                   was there; it is back in the workspace now: run the command again.";
    assert_eq!(results[2].1, json!(message), "{results:?}");
    assert_eq!((&results[3].0, &results[5].0), (&json!("~"), &json!("~/a")));
    assert!(results[6].1.as_str().is_some_and(|text| text.contains("It is not a program")), "{results:?}");
}

#[test]
fn a_shell_that_left_the_workspace_is_checked_like_any_directory() {
    let results = said(&[
        ("cd /etc", Some("one"), Value::Null),
        ("cat hostname", Some("one"), Value::Null),
        ("pwd", Some("one"), json!({"workdir": "a"})),
    ]);
    let same = said(&[("cat hostname", None, json!({"workdir": "/etc"}))]);
    assert_eq!(results[1], same[0]);
    assert!(results[1].0.is_null(), "{results:?}");
    assert!(results[2].0.as_str().is_some_and(|text| text.starts_with("~/a\n") || text == "~/a"), "{results:?}");
}
